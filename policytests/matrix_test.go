package policytests_test

import (
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

var updateMatrix = flag.Bool("update-matrix", false, "write the policy matrix anew")

// row is one line of the matrix. Its cells are evaluated, so the golden files show the
// decisions of the policies instead of their data.
type row struct {
	file  string
	key   []string
	cells func(context.Context, *evaluation) []string
}

func (r row) String() string { return r.file + ": " + strings.Join(r.key, ",") }

// headers returns the headers of the golden files.
func headers() map[string][]string {
	return map[string][]string{
		"roles":       {"role", "permission", "tenant", "organisation", "project", "programme office"},
		"permissions": {"permission", "module", "effect", "platform", "makes an administrator", "can be delegated", "own by creating", "own by owning"},
		"limits":      {"subject", "case", "answer"},
	}
}

// matrix returns the rows for all roles, permissions and limits of the embedded policies.
func matrix(l *lab) []row {
	policy := l.data["parapet"].(object)
	catalogue := policy["catalogue"].(object)
	permissions := slices.Sorted(maps.Keys(catalogue["permissions"].(object)))
	roles := policy["roles"].(object)["defaults"].(object)
	var rows []row
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		for _, permission := range append(slices.Clone(permissions), "audit.read") {
			rows = append(rows, row{"roles", []string{role, permission}, func(ctx context.Context, v *evaluation) []string { return v.roleCells(ctx, role, permission) }})
		}
	}
	for _, permission := range permissions {
		rows = append(rows, row{"permissions", []string{permission}, func(ctx context.Context, v *evaluation) []string { return v.permissionCells(ctx, permission) }})
	}
	return append(rows, limits(policy)...)
}

// policyData returns the value of data.parapet at the path.
func (v *evaluation) policyData(keys ...string) ast.Value {
	terms := []*ast.Term{}
	for _, key := range append([]string{"parapet"}, keys...) {
		terms = append(terms, ast.StringTerm(key))
	}
	p := make([]string, len(terms))
	for i, t := range terms {
		s, _ := t.Value.(ast.String)
		p[i] = string(s)
	}
	value, err := v.store.Read(context.Background(), v.txn, p)
	if err != nil {
		return nil
	}
	out, err := ast.InterfaceToValue(value)
	if err != nil {
		return nil
	}
	return out
}

// subject returns the subject of a session that has a role in one scope. If granted is nil,
// the role grants its default permissions.
func (v *evaluation) subject(ctx context.Context, role, scope, tenantType string, granted ast.Value) ast.Value {
	name := fmt.Sprint(role, scope, tenantType, granted)
	if s, ok := v.subjects[name]; ok {
		return s
	}
	kind, token := "HUMAN", "session"
	switch {
	case role == "Agent":
		kind = "AGENT"
	case fmt.Sprint(v.policyData("roles", "defaults", role, "kind")) == `"GLOBAL"`:
		kind, token = "SERVICE", "api_key"
	}
	scopes, assignment := object{}, object{"role": role, "scope": scope}
	if scope != "tenant" {
		id := map[string]string{"organisation": orgA, "project": projectA}[scope]
		scopes[role] = []any{scope + ":" + id}
		assignment["id"] = id
	}
	if granted == nil {
		granted = v.policyData("roles", "defaults", role, "grants")
	}
	s := v.eval(ctx, "parapet/subject/subject", object{
		"token":  object{"kind": token, "tenant": acme, "roles": []any{role}, "role_scopes": scopes, "clearance": "SECRET", "caveats": []any{}},
		"tenant": acme, "tenant_type": tenantType, "user": object{"id": worker, "kind": kind, "organisation": orgA},
		"stored": object{"assignments": []any{assignment}, "clearance": "SECRET"},
		"roles":  object{role: granted}, "delegations": []any{},
	})
	v.subjects[name] = s
	return s
}

func (v *evaluation) allows(ctx context.Context, actor ast.Value, permission, organisation, project, creator, owner string) bool {
	entry := v.policyData("catalogue", "permissions", permission)
	effect, module := field(entry, "effect"), field(entry, "module")
	if entry == nil {
		effect, module = ast.String("read"), ast.String("audit")
	}
	return v.eval(ctx, "parapet/access/allow", object{
		"permission": permission, "effect": effect, "module": module, "actor": actor,
		"resource": object{
			"type": "record", "id": robot, "tenant": acme, "organisation": organisation, "project": project,
			"creator": creator, "owner": owner, "classification": "UNCLASSIFIED",
		},
	}) == ast.Value(ast.Boolean(true))
}

// roleCells returns, for each scope of the role, the records of the scope that the
// permission covers: any, own (created or owned), created, owned, or none (-).
func (v *evaluation) roleCells(ctx context.Context, role, permission string) []string {
	var cells []string
	for _, scope := range []string{"tenant", "organisation", "project"} {
		actor := v.subject(ctx, role, scope, "STANDARD", nil)
		cell := v.coveredRecords(ctx, actor, permission)
		if scope != "tenant" && v.allows(ctx, actor, permission, orgB, projectB, worker, worker) {
			cell += " and outside of the scope"
		}
		cells = append(cells, cell)
	}
	return append(cells, v.coveredRecords(ctx, v.subject(ctx, role, "tenant", "PROGRAMME_OFFICE", nil), permission))
}

// coveredRecords returns the records that the permission covers, as in roleCells.
func (v *evaluation) coveredRecords(ctx context.Context, actor ast.Value, permission string) string {
	allows := func(creator, owner string) bool {
		return v.allows(ctx, actor, permission, orgA, projectA, creator, owner)
	}
	if actor == nil || !allows(worker, worker) {
		return "-"
	}
	created, owned := allows(worker, colleague), allows(colleague, worker)
	switch {
	case created && owned && allows(colleague, colleague):
		return "any"
	case created && owned:
		return "own"
	case created:
		return "created"
	case owned:
		return "owned"
	}
	return "created and owned"
}

func (v *evaluation) permissionCells(ctx context.Context, permission string) []string {
	entry := v.policyData("catalogue", "permissions", permission)
	name, _ := strings.CutSuffix(permission, ".own")
	own := v.subject(ctx, "holder of the own permission", "tenant", "PROGRAMME_OFFICE", ast.NewArray(ast.StringTerm(name+".own")))
	admin := v.subject(ctx, "holder", "tenant", "PROGRAMME_OFFICE", ast.NewArray(ast.StringTerm(permission)))
	member := object{"tenant": acme, "kind": "HUMAN", "status": "ACTIVE", "membership": "ACTIVE", "clearance": "SECRET"}
	delegator, delegate := maps.Clone(member), maps.Clone(member)
	delegator["id"], delegate["id"] = worker, colleague
	delegator["roles"] = []any{object{"name": "holder", "kind": "STANDARD", "scope": "tenant", "grants": []any{permission}}}
	delegate["roles"] = []any{}
	verdict := v.eval(ctx, "parapet/delegations/verdict", object{
		"actor": v.subject(ctx, "holder", "tenant", "STANDARD", ast.NewArray(ast.StringTerm(permission))), "delegator": delegator, "delegate": delegate,
		"now": 1767225600000000, "starts_at": 1767225600000000, "ends_at": 1767312000000000, "received": object{"from_delegator": 0, "total": 0},
		"permissions": []any{permission}, "resource": object{"tenant": acme, "organisation": orgA, "project": projectA, "classification": "UNCLASSIFIED"},
	})
	covers := v.coveredRecords(ctx, own, name)
	return []string{
		text(field(entry, "module")), text(field(entry, "effect")), text(field(entry, "platform")), text(field(admin, "admin")), text(field(verdict, "allow")),
		fmt.Sprint(covers == "own" || covers == "created" || v.delegatedOwn(ctx, name, colleague, robot)),
		fmt.Sprint(covers == "own" || covers == "owned" || v.delegatedOwn(ctx, name, robot, colleague)),
	}
}

// delegatedOwn reports whether a delegation of P.own by a user who holds P covers a record.
// A permission can be delegated as .own even if no role can grant it as .own.
func (v *evaluation) delegatedOwn(ctx context.Context, permission, creator, owner string) bool {
	name := "delegate of " + permission
	if _, ok := v.subjects[name]; !ok {
		v.subjects[name] = v.eval(ctx, "parapet/subject/subject", object{
			"token":  object{"kind": "session", "tenant": acme, "roles": []any{}, "role_scopes": object{}, "clearance": "SECRET", "caveats": []any{}},
			"tenant": acme, "tenant_type": "STANDARD", "user": object{"id": worker, "kind": "HUMAN"},
			"stored": object{"assignments": []any{}, "clearance": "SECRET"}, "roles": object{"holder": []any{permission}},
			"delegations": []any{object{
				"id": orgA, "scope": "tenant", "projects": []any{}, "initiatives": []any{}, "permissions": []any{permission + ".own"},
				"delegator": object{
					"id": colleague, "kind": "HUMAN", "status": "ACTIVE", "membership": "ACTIVE", "clearance": "SECRET",
					"assignments": []any{object{"role": "holder", "scope": "tenant"}},
				},
			}},
		})
	}
	entry := v.policyData("catalogue", "permissions", permission)
	answer, _ := v.eval(ctx, "parapet/access/behalf", object{
		"permission": permission, "effect": field(entry, "effect"), "module": field(entry, "module"), "actor": v.subjects[name],
		"resource": object{"type": "record", "tenant": acme, "organisation": orgA, "project": projectA, "creator": creator, "owner": owner, "classification": "UNCLASSIFIED"},
	}).(ast.Set)
	return answer != nil && answer.Len() > 0
}

func text(v ast.Value) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case ast.String:
		return string(v)
	}
	return v.String()
}

// TestPolicyMatrix compares the decisions of the policies with the reviewed files. `make
// policy-matrix` writes the files.
func TestPolicyMatrix(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	compiler := ast.NewCompiler()
	if compiler.Compile(l.rules); compiler.Failed() {
		t.Fatal(compiler.Errors)
	}
	v := newEvaluation(t, compiler, l.data)
	found := map[string][][]string{}
	for name, header := range headers() {
		found[name] = [][]string{header}
	}
	for _, r := range matrix(l) {
		found[r.file] = append(found[r.file], append(slices.Clone(r.key), r.cells(t.Context(), v)...))
	}
	for name, lines := range found {
		path := filepath.Join("matrix", name+".csv")
		if *updateMatrix {
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			w := csv.NewWriter(f)
			if err := w.WriteAll(lines); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		reviewed, err := csv.NewReader(f).ReadAll()
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		compareLines(t, path, reviewed, lines)
	}
}

func compareLines(t *testing.T, path string, reviewed, found [][]string) {
	t.Helper()
	join := func(lines [][]string) map[string]bool {
		out := map[string]bool{}
		for _, line := range lines {
			out[strings.Join(line, ",")] = true
		}
		return out
	}
	before, after := join(reviewed), join(found)
	for _, line := range slices.Sorted(maps.Keys(before)) {
		if !after[line] {
			t.Errorf("%s: - %s", path, line)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(after)) {
		if !before[line] {
			t.Errorf("%s: + %s", path, line)
		}
	}
	if t.Failed() {
		t.Errorf("The decisions differ from the reviewed matrix. If this is intended, run make policy-matrix and review the diff.")
	}
}
