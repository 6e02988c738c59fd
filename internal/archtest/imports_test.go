package archtest

import (
	"path/filepath"
	"testing"
)

// The packages that the rules below refer to.
var (
	opa   = []string{"github.com/open-policy-agent/opa"}
	jwx   = []string{"github.com/lestrrat-go/jwx"}
	pgx   = []string{"github.com/jackc/pgx", "database/sql", "github.com/lib/pq"}
	gin   = []string{"github.com/gin-gonic/gin"}
	river = []string{"github.com/riverqueue/river"}
	otel  = []string{"go.opentelemetry.io"}
)

// ban allows only some packages to import something.
type ban struct {
	what   []string
	only   []string
	tests  bool // whether it applies to test files of other packages, too
	reason string
}

var bans = []ban{
	{
		what: opa, only: []string{"internal/authz", "policies", "policytests"}, tests: true,
		reason: "one package decides; who can ask OPA elsewhere can decide elsewhere",
	},
	{
		what: jwx, only: []string{"internal/token"},
		reason: "jwx v2 is frozen upstream: behind one package its successor is one package's change",
	},
	{
		what: pgx,
		only: []string{
			"internal/postgres", "internal/identity", "internal/tracker", "internal/catalog", "internal/wiki", "internal/webhook",
			"internal/audit", "internal/events", "internal/decisionlog", "internal/principal", "internal/executor", "internal/app", "jobs",
			"cmd/ptd", "internal/dev", // migrate, provision and seed connect by DIRECT_URL, beside the pools of the modules
		},
		reason: "SQL lives in the modules and the few packages under them, never in a contract, a client or a route",
	},
	{
		what: gin, only: []string{"internal/httpapi"},
		reason: "the router is a detail of the HTTP side; operations do not know it",
	},
	{
		what: river, only: []string{"jobs", "internal/app", "internal/events", "internal/postgres"},
		reason: "a job is a thin worker that calls a module's contract; modules do not know how jobs run",
	},
	{
		what: otel, only: []string{"internal/telemetry"}, tests: true,
		reason: "one package decides what a span contains: spans leave the process",
	},
	{
		what:   []string{"text/template", "html/template"},
		only:   nil,
		reason: "a template calls methods by name, so the linker keeps every method of every type: ptd becomes a fifth larger",
	},
	{
		what: []string{"unsafe"}, only: nil, tests: true,
		reason: "nothing here is worth giving up memory safety for",
	},
	{
		what: []string{"github.com/stretchr/testify"}, only: nil, tests: true,
		reason: "tests compare with Go; no second language of assertions",
	},
	{
		what: []string{module + "/internal/app"}, only: []string{"cmd/ptd", "internal/app", "internal/dev"},
		reason: "the composition root is at the top: what imports it could import everything",
	},
	{
		what:   []string{module + "/internal/identity", module + "/internal/tracker", module + "/internal/catalog", module + "/internal/wiki"},
		only:   []string{"internal/app", "internal/dev", "cmd/ptd", "internal/identity", "internal/tracker", "internal/catalog", "internal/wiki"},
		reason: "a module is reached by its contract; only the composition root, and what prepares a database before there is one, know the code behind it",
	},
	{
		what:   []string{module + "/internal/agentrun", module + "/internal/delegation"},
		only:   []string{"internal/agentrun", "internal/app", "internal/delegation", "internal/tracker"},
		reason: "these are parts of the tracker, which composes them",
	},
	{
		what: []string{module + "/internal/httpapi"}, only: []string{"internal/app", "internal/httpapi"},
		reason: "HTTP is one way in; nothing under it may depend on it",
	},
	{
		what:   []string{module + "/internal/postgres/pgtest", module + "/internal/dev/devtest"},
		only:   []string{"internal/postgres/pgtest", "internal/dev/devtest"},
		reason: "the test kit makes databases without passwords: test files alone use it",
	},
}

func TestImports_RestrictedPackagesHaveListedImporters(t *testing.T) {
	t.Parallel()
	for _, p := range repo(t).packages {
		for _, file := range p.files {
			for _, path := range file.imports() {
				for _, b := range bans {
					if !isWithin(path, b.what...) || isWithin(p.path, b.only...) || (file.test && !b.tests) {
						continue
					}
					t.Errorf("%s imports %s; only %v may: %s", file.path, path, b.only, b.reason)
				}
			}
		}
	}
}

// diet lists everything that a package may import besides the standard library.
type diet struct {
	who []string
	// except is a package within who that the rule does not apply to.
	except string
	may    []string // packages of this module, or other modules
	not    []string // packages of the standard library that it may not import
	reason string
}

const (
	jsonschema = "github.com/google/jsonschema-go"
	strictJSON = "github.com/go-json-experiment/json" // encoding/json silently accepts duplicate and differently cased keys
)

var diets = []diet{
	{
		// The package internal/contract itself lists the contracts.
		who: []string{"internal/contract"}, except: "internal/contract", may: []string{module + "/internal/op", strictJSON},
		not:    []string{"net/http", "database/sql"},
		reason: "a contract is types and operations: every surface links it, so it links nothing but what internal/op links",
	},
	{
		who: []string{"internal/op"}, may: []string{module + "/internal/fault", module + "/internal/op", jsonschema, strictJSON},
		reason: "the contracts import op, so what op imports everybody links",
	},
	{
		who: []string{"internal/fault"}, may: nil,
		reason: "everything imports the error type",
	},
	{
		who: []string{"internal/clock"}, may: nil,
		reason: "everything imports the clock",
	},
	{
		who: []string{"internal/uid"}, may: []string{"github.com/google/uuid", module + "/internal/fault", module + "/internal/op"},
		reason: "a leaf",
	},
	{
		who: []string{"policies"}, may: nil,
		reason: "policies are text with an embed directive; what reads them is internal/authz",
	},
	{
		who: []string{"migrations"}, may: nil,
		reason: "migrations are text with an embed directive; what runs them is internal/postgres",
	},
}

func TestLeafPackages_ImportOnlyWhatIsListed(t *testing.T) {
	t.Parallel()
	for _, p := range repo(t).packages {
		for _, d := range diets {
			if !isWithin(p.path, d.who...) || p.path == d.except {
				continue
			}
			for _, file := range p.files {
				if file.test {
					continue
				}
				for _, path := range file.imports() {
					if (isStandard(path) && !isWithin(path, d.not...)) || isWithin(path, d.may...) {
						continue
					}
					t.Errorf("%s imports %s; besides the standard library it may import %v: %s", file.path, path, d.may, d.reason)
				}
			}
		}
	}
}

// wall lists packages of this module that some packages may never import.
type wall struct {
	who    []string
	not    []string
	reason string
}

var walls = []wall{
	{
		who:    []string{"internal/identity"},
		not:    []string{"internal/tracker", "internal/agentrun", "internal/delegation", "internal/catalog", "internal/wiki"},
		reason: "modules keep to themselves: call the other's contract or hear its events",
	},
	{
		who:    []string{"internal/tracker", "internal/agentrun", "internal/delegation"},
		not:    []string{"internal/identity", "internal/catalog", "internal/wiki"},
		reason: "modules keep to themselves: call the other's contract or hear its events",
	},
	{
		who:    []string{"internal/agentrun", "internal/delegation"},
		not:    []string{"internal/tracker"},
		reason: "the tracker composes its parts and passes them what they need",
	},
	{
		who:    []string{"internal/catalog"},
		not:    []string{"internal/identity", "internal/tracker", "internal/agentrun", "internal/delegation", "internal/wiki"},
		reason: "modules keep to themselves: call the other's contract or hear its events",
	},
	{
		who:    []string{"internal/wiki"},
		not:    []string{"internal/identity", "internal/tracker", "internal/agentrun", "internal/delegation", "internal/catalog"},
		reason: "modules keep to themselves: call the other's contract or hear its events",
	},
	{
		who:    []string{"internal/client", "internal/cli", "internal/mcp"},
		not:    []string{"internal/authz", "internal/postgres", "internal/executor", "internal/app", "internal/httpapi", "internal/token", "internal/principal", "internal/audit", "internal/events", "jobs", "policies", "migrations"},
		reason: "pt is a user of the contracts like any other: what it needs of the server it asks over HTTP",
	},
	{
		who:    []string{"internal/authz"},
		not:    []string{"internal/postgres", "internal/executor", "internal/httpapi", "internal/principal", "internal/contract"},
		reason: "the engine decides about inputs; whence they come is not its concern",
	},
	{
		who:    []string{"internal/audit", "internal/events", "internal/postgres", "internal/token", "internal/principal"},
		not:    []string{"internal/executor", "internal/httpapi", "jobs"},
		reason: "the ground does not depend on what stands on it",
	},
	{
		who:    []string{"jobs"},
		not:    []string{"internal/httpapi", "internal/app", "internal/cli", "internal/client"},
		reason: "a worker calls a module's contract and nothing above it",
	},
}

func TestImports_ForbiddenPackagesAreNotImported(t *testing.T) {
	t.Parallel()
	for _, p := range repo(t).packages {
		for _, w := range walls {
			if !isWithin(p.path, w.who...) {
				continue
			}
			for _, file := range p.files {
				if file.test {
					continue
				}
				for _, path := range file.imports() {
					if name := local(path); name != "" && isWithin(name, w.not...) {
						t.Errorf("%s imports %s: %s", file.path, path, w.reason)
					}
				}
			}
		}
	}
}

// planned lists packages that rules name and that do not exist yet. An existing package must
// leave the list, so that a renamed or misspelled package cannot disable a rule.
var planned []string

func TestPlanned_ContainsNoExistingPackage(t *testing.T) {
	t.Parallel()
	r := repo(t)
	exists := map[string]bool{}
	for _, p := range r.packages {
		for dir := p.path; dir != "."; dir = filepath.ToSlash(filepath.Dir(dir)) {
			exists[dir] = true
		}
	}
	named := map[string]bool{"cmd/pt": true, "cmd/ptd": true}
	for _, b := range bans {
		for _, name := range b.only {
			named[name] = true
		}
		for _, name := range b.what {
			if local(name) != "" {
				named[local(name)] = true
			}
		}
	}
	for _, d := range diets {
		for _, name := range d.who {
			named[name] = true
		}
	}
	for _, w := range walls {
		for _, name := range append(append([]string(nil), w.who...), w.not...) {
			named[name] = true
		}
	}
	waiting := map[string]bool{}
	for _, name := range planned {
		waiting[name] = true
		if exists[name] {
			t.Errorf("%s exists: remove it from the list of planned packages", name)
		}
	}
	for name := range named {
		if !exists[name] && !waiting[name] {
			t.Errorf("a rule names %s, which does not exist: update the rule", name)
		}
	}
}
