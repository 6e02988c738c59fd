#!/usr/bin/env bash
# Lints the OpenAPI document on standard input with Redocly CLI and the rules in redocly.yaml. The document
# remains in bin/openapi.json. The first run installs the linter into a cache folder: npm verifies the hash in
# package-lock.json. Without npm, it does not lint; in CI, that is an error.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v npm >/dev/null 2>&1; then
  echo "check-openapi: npm was not found: install Node.js 20.19 or later with npm" >&2
  if [ "${CI:-}" = true ]; then exit 1; fi
  cat >/dev/null
  exit 0
fi
sum=$(cksum package-lock.json | cut -d' ' -f1)
tool=${XDG_CACHE_HOME:-$HOME/.cache}/parapet-openapi/$sum
if [ ! -e "$tool/node_modules/.package-lock.json" ]; then
  mkdir -p "$tool"
  cp package.json package-lock.json "$tool"
  (cd "$tool" && npm ci --ignore-scripts --no-audit --no-fund --silent)
fi
document=../../../bin/openapi.json
mkdir -p "$(dirname "$document")"
cat >"$document"
# The linter sends and fetches nothing.
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
node "$tool/node_modules/@redocly/cli/bin/cli.js" lint --config redocly.yaml "$document"
