#!/usr/bin/env bash
# Generates a Go client and a TypeScript client from the OpenAPI document, and compiles them with a file that
# uses the type Task. The clients remain in bin/clients. It needs Go, Node.js with npm, and the network.
set -euo pipefail
cd "$(dirname "$0")/../../.."

if ! command -v npm >/dev/null 2>&1; then
  echo "clients: npm was not found: install Node.js 20 or later with npm" >&2
  exit 1
fi
pins=$PWD/internal/tools/clients
clients=$PWD/bin/clients
rm -rf "$clients"
mkdir -p "$clients"
cp -r "$pins/go" "$pins/typescript" "$clients"
go run ./internal/openapi >"$clients/openapi.json"

cd "$clients/go"
mv check.go.txt check.go
go tool oapi-codegen -config oapi-codegen.yaml ../openapi.json
go vet ./...
echo "Go: $(wc -l <parapet.gen.go) lines, $(grep -cE '^type [A-Z]' parapet.gen.go) types"

cd "$clients/typescript"
npm ci --ignore-scripts --no-audit --no-fund --silent
# Each schema is a type of its own. A field with a default is optional in a request.
node node_modules/openapi-typescript/bin/cli.js ../openapi.json --root-types --root-types-no-schema-prefix --default-non-nullable=false -o parapet.d.ts
node node_modules/typescript/bin/tsc -p tsconfig.json
echo "TypeScript: $(wc -l <parapet.d.ts) lines"
