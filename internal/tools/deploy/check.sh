#!/usr/bin/env bash
# Checks the files of docs/deploy with the tools that read them: promtool, systemd-analyze, the parsers of
# Docker Compose and BuildKit, and the types that Grafana publishes. `make check-deploy` runs it.
# It needs npm, and installs promtool as root on Debian and its derivatives.
set -euo pipefail
cd "$(dirname "$0")"
tools=$PWD
deploy=$(cd ../../../docs/deploy && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

../setup.sh promtool
echo "== alerts"
promtool check rules "$deploy/prometheus-alerts.yaml"
promtool test rules "$deploy/prometheus-alerts-test.yaml"

echo "== Compose file, container file, expressions of the dashboard"
go run . "$deploy" "$work/expressions.yaml"
promtool check rules "$work/expressions.yaml"

echo "== dashboard"
cp npm/package.json npm/package-lock.json "$work"
(
  cd "$work"
  npm ci --ignore-scripts --no-audit --no-fund --silent
  {
    echo 'import type { Dashboard } from "@grafana/schema";'
    printf 'const dashboard: Dashboard = '
    cat "$deploy/grafana-dashboard.json"
    echo 'export default dashboard;'
  } >dashboard.ts
  npx --no-install tsc --noEmit --strict --skipLibCheck --module esnext --moduleResolution bundler dashboard.ts
)
echo "the dashboard has the types of Grafana"

echo "== systemd unit"
if command -v systemd-analyze >/dev/null 2>&1; then
  # The program need not be installed here.
  sed "s|^ExecStart=[^ ]*|ExecStart=$(command -v true)|" "$deploy/parapet.service" >"$work/parapet.service"
  systemd-analyze verify "$work/parapet.service"
  systemd-analyze security --offline=true --threshold=20 --no-pager "$work/parapet.service" | tail -n 1
else
  echo "systemd-analyze is missing: the unit was not checked" >&2
fi

echo "== script of the database"
sh -n "$deploy/create-owner.sh"
cd "$tools"
