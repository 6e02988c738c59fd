# Parapet. `make` lists the targets; `make run` and `make test` do all their own set-up.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

FUZZTIME ?= 20s
PORT ?= 3000

# Without the folder in the compiled packages, every clone of the repository shares them in Go's build cache.
export GOFLAGS := $(shell go env GOFLAGS) -trimpath

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
GOBUILD := go build -ldflags '$(LDFLAGS)'

# The race detector needs cgo. Without a C compiler the tests still run, and say that races were not looked for.
RACE = $(shell if [ "$$(go env CGO_ENABLED)" = 1 ]; then echo -race; else echo "make: no C compiler, so no race detector" >&2; fi)

# Packages that start goroutines or share memory between them: their tests run with the race detector in every run, the others' every night (make test-race).
RACED := ./cmd/pt ./internal/admission ./internal/agentcmd ./internal/app ./internal/audit ./internal/client ./internal/decisionlog \
	./internal/events ./internal/executor ./internal/httpapi ./internal/mcp ./internal/postgres/... ./internal/principal ./internal/telemetry ./internal/token ./internal/webhook ./jobs

# Compiling and testing policies allocates a lot. Fewer collections save a quarter of the processor time for three times the memory (600 MB for the largest package).
GC := GOGC=400

# Tools are pinned in modules of their own: none of what they need gets into the product's go.mod.
TOOLS := $(CURDIR)/internal/tools
OPA := $(GC) go tool -modfile=$(TOOLS)/go.mod opa
GOVULNCHECK := go tool -modfile=$(TOOLS)/go.mod govulncheck
LINT := $(GC) go tool -modfile=$(TOOLS)/lint/go.mod golangci-lint
SETUP := ./internal/tools/setup.sh

GODIRS := $(wildcard cmd docs internal jobs migrations policies policytests)

# Nested modules with code of ours.
MODULES := $(patsubst %/go.mod,%,$(wildcard internal/bench/go.mod internal/tools/go.mod))

.PHONY: help
help: ## Print this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-z0-9-]*:.*## / {printf "  %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

## Running

.PHONY: run
run: setup-run ## Build and start ptd on an embedded PostgreSQL with demo tenants (PORT=3000)
	$(GOBUILD) -o bin/ptd ./cmd/ptd
	exec ./bin/ptd dev --port $(PORT)

.PHONY: build
build: ## Build bin/ptd and bin/pt, with the version from git in them
	$(GOBUILD) -o bin/ptd ./cmd/ptd
	CGO_ENABLED=0 $(GOBUILD) -o bin/pt ./cmd/pt

.PHONY: man
man: ## Write pt's manual pages to bin/man/man1 (man -M bin/man pt-list-tasks)
	go run ./cmd/pt man --dir bin/man/man1

## Testing

# Lint runs go vet on every package. Equal flags let go reuse the result of a test that has run.
GOTEST := $(GC) go test -vet=off -timeout 30m

.PHONY: test
ifdef PKG
test: setup-test ## Run every test against real PostgreSQL; PKG=./internal/tracker RUN=TestImport runs some
	$(GOTEST) -run '$(RUN)' $(PKG)
else
test: setup-test
	@for dir in $(MODULES); do echo "cd $$dir && go test ./..."; (cd $$dir && $(GOTEST) ./...); done
	$(GOTEST) ./policytests/... ./internal/archtest
	$(GOTEST) $(RACE) $(RACED)
	$(GOTEST) $(RACE) ./internal/authz -run Concurrent
	$(GOTEST) $$(go list ./... | grep -vxF -e "$$(go list $(RACED))" | grep -v -e /policytests -e /internal/archtest)
endif

.PHONY: test-fast
test-fast: ## Run the tests that need no PostgreSQL and take seconds
	$(GOTEST) $$(go list -test -f '{{.ImportPath}} {{join .Deps " "}}' ./... | grep -E '^[^ ]+\.test ' | grep -vE 'parapet/internal/postgres/(pgtest|embedded)' | cut -d' ' -f1 | sed 's/\.test$$//' | grep -v -e /policytests -e /e2e)

.PHONY: test-race
test-race: setup-test ## Run every test with the race detector (an hour; nightly in CI)
	$(GOTEST) $(RACE) -timeout 2h $$(go list ./... | grep -v /policytests)

.PHONY: test-thorough
test-thorough: setup-test ## Run the sampled tests with all or many more cases (nightly in CI)
	$(GOTEST) -timeout 2h ./internal/authz -run Filter_Selects -count=1 -thorough
	$(GOTEST) -timeout 2h ./internal/dev -run FuzzFields -count=1 -thorough
	$(GOTEST) -timeout 2h ./policytests -run Corrupted -count=1 -thorough
	$(GOTEST) -timeout 2h ./policytests/oracle -count=1 -decisions 300000

.PHONY: policy-test
policy-test: ## Run the Rego tests (plain opa test), then the decision tables and coverage
	$(OPA) test --timeout 10m policies policytests
	$(GOTEST) ./policytests

.PHONY: policy-matrix
policy-matrix: ## Write what the policies decide to policytests/matrix; review the diff
	go test ./policytests -run TestPolicyMatrix -update-matrix -count=1

.PHONY: mutants
mutants: ## Try every mutant of the policies' rules and data (many minutes)
	go test ./policytests -run TestMutants -mutants 0 -count=1 -v -timeout 4h

.PHONY: bench
bench: ## Print the benchmarks, one JSON line a figure (decision, filter, route, token)
	@cd internal/bench && go run .

.PHONY: bench-scale
bench-scale: ## Print lists at 10,000 and at 1,000,000 tasks, with their plans (minutes, some gigabytes)
	@cd internal/bench && go run . -only scale

.PHONY: bench-neighbor
bench-neighbor: setup-run ## Print one tenant's p50 and p99, alone and beside a tenant that overloads ptd (minutes)
	@cd internal/bench && go run . -only neighbor

.PHONY: bench-outbox
bench-outbox: setup-test ## Print events/s with 20,000 pending, three times from an empty queue, and the latency at 300/s
	go test ./internal/events -run '^$$' -bench 'Backlog|LatencyAtRate' -benchtime 1x -count 3

.PHONY: fuzz
fuzz: setup-test ## Run each fuzz target for FUZZTIME (20s); list the failures at the end
	@failed=; count=0; \
	for dir in $$(grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' cmd internal jobs policies policytests 2>/dev/null | xargs -r -n1 dirname | sort -u); do \
	  for target in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$$dir"/*_test.go | sed 's/^func //'); do \
	    echo "$$dir $$target"; count=$$((count + 1)); \
	    go test -run='^$$' -fuzz="^$$target\$$" -fuzztime=$(FUZZTIME) "./$$dir" </dev/null || failed="$$failed $$dir:$$target"; \
	  done; \
	done; \
	echo "$$count fuzz targets"; \
	if [ -n "$$failed" ]; then \
	  echo "failed (commit the new files of testdata/fuzz with the fix):"; printf '  %s\n' $$failed; exit 1; \
	fi

.PHONY: conformance
conformance: setup-run ## Run the official MCP tools against ptd and pt (needs npm and the network)
	go build -C $(TOOLS) -o $(CURDIR)/bin/conformance ./conformance
	./bin/conformance

.PHONY: clients
clients: ## Generate and compile a Go and a TypeScript client of the HTTP API (needs npm and the network)
	$(TOOLS)/clients/generate.sh

## Checking

.PHONY: check
check: check-format check-modules check-policies check-openapi lint archtest policy-test ## Format, lint (with vet), policies, OpenAPI, import rules, modules

.PHONY: check-format
check-format: ## Fail on Go that gofmt or Rego that opa fmt would change
	@changed=$$(gofmt -l $(GODIRS)); \
	if [ -n "$$changed" ]; then echo "not formatted (run make format):"; echo "$$changed"; exit 1; fi
	$(OPA) fmt --fail --list policies policytests

.PHONY: check-policies
check-policies: ## Compile the policies strictly, with their schemas and without I/O built-ins
	$(OPA) check --strict --schema policies/schemas --capabilities policies/capabilities/opa.json policies/parapet
	$(OPA) check --strict policies policytests/rego

.PHONY: check-openapi
check-openapi: ## Lint the OpenAPI document with the rules in internal/tools/openapi/redocly.yaml
	go run ./internal/openapi | $(TOOLS)/openapi/lint.sh

.PHONY: check-modules
check-modules: ## Fail when a go.mod is not tidy or a downloaded module is not what go.sum says
	go mod tidy -diff
	go mod verify
	@for dir in $(MODULES) internal/tools/lint internal/tools/clients/go; do echo "cd $$dir && go mod tidy -diff"; (cd $$dir && go mod tidy -diff); done

.PHONY: lint
lint: ## Run golangci-lint (staticcheck, gosec and the rest of .golangci.yml)
	$(LINT) run --allow-parallel-runners ./...
	@for dir in $(MODULES); do echo "cd $$dir && golangci-lint run ./..."; (cd $$dir && $(LINT) run --allow-parallel-runners ./...); done

.PHONY: archtest
archtest: ## Check the import rules and other house rules
	$(GOTEST) ./internal/archtest

.PHONY: format
format: ## Format Go and Rego in place
	$(LINT) fmt
	$(OPA) fmt --write policies policytests

.PHONY: check-deploy
check-deploy: ## Check docs/deploy with promtool, systemd-analyze and other tools (needs npm and the network)
	./internal/tools/deploy/check.sh
	cd internal/tools/deploy && go mod tidy -diff && go vet ./...

## Supply chain

.PHONY: vuln
vuln: ## Look the dependencies up in Go's vulnerability database (needs the network)
	$(GOVULNCHECK) ./...

.PHONY: dist
dist: ## Build both programs for Linux and macOS into dist/, with checksums and bills of materials
	rm -rf dist
	@for platform in $(PLATFORMS); do \
	  for program in ptd pt; do \
	    target=dist/$$program-$${platform%/*}-$${platform#*/}; \
	    echo "$$target"; \
	    CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GOBUILD) -buildvcs=auto -o $$target ./cmd/$$program; \
	  done; \
	done
	cd $(TOOLS) && go run ./sbom $(CURDIR)/dist/*
	cd dist && { if command -v sha256sum >/dev/null 2>&1; then sha256sum -- *; else shasum -a 256 -- *; fi; } > .sums && mv .sums SHA256SUMS

.PHONY: sbom
sbom: build ## Write a CycloneDX bill of materials of each binary to bin/
	cd $(TOOLS) && go run ./sbom $(CURDIR)/bin/ptd $(CURDIR)/bin/pt

## Housekeeping

.PHONY: setup-run
setup-run:
	@$(SETUP) postgres

.PHONY: setup-test
setup-test:
	@$(SETUP) postgres cc

.PHONY: clean
clean: ## Remove what a build leaves (never data)
	rm -rf bin dist
