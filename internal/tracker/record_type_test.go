package tracker_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/principal"
	"parapet/internal/tracker"
)

// permissionWorld is a world with records of every type in projects of several classifications
// and organisations, and with subjects who have different permissions on them.
type permissionWorld struct {
	*world
	projects []op.UUID
	subjects map[string]*person
	// calledLists are the list operations that the test has called.
	calledLists map[string]bool
}

// listPermissions are the permissions that the tracker's list operations require.
var listPermissions = []string{
	"projects.read", "tasks.read", "initiatives.read", "issues.read", "deliverables.read", "comments.read", "time_entries.read", "runs.read",
	"delegations.read",
}

func newPermissionWorld(t *testing.T) *permissionWorld {
	t.Helper()
	w := newWorld(t)
	w.addRole("Reader", append([]string{"delegation.create.own"}, listPermissions...)...)
	own := []string{"delegation.create.own", "project.update.own", "task.update.own", "issue.update.own", "deliverable.update.own", "time_entry.update.own"}
	for _, permission := range listPermissions {
		own = append(own, permission+".own")
		w.addRole(permission, permission)
	}
	w.addRole("Own", own...)
	g := &permissionWorld{world: w, calledLists: map[string]bool{}, subjects: map[string]*person{"manager": w.manager}}
	organisations := []any{w.orgA, w.orgB, nil, w.orgA}
	for i, tier := range []string{"UNCLASSIFIED", "UNCLASSIFIED", "CONFIDENTIAL", "SECRET"} {
		s := w.createScene(fmt.Sprintf("P%d", i), tier)
		g.projects = append(g.projects, s.project)
		w.exec(`UPDATE projects.projects SET organisation_id = $2 WHERE id = $1`, s.project, organisations[i])
		w.exec(`UPDATE projects.initiatives SET organisation_id = $2 WHERE id = $1`, s.initiative, organisations[i])
	}
	both := g.projects[:2]
	for name, p := range map[string]person{
		"admin": {roles: []string{"Admin"}, clearance: "SECRET"}, "member": {roles: []string{"Member"}, clearance: "CONFIDENTIAL"},
		"guest": {roles: []string{"Guest Customer"}}, "auditor": {roles: []string{"Auditor"}, clearance: "SECRET"},
		"reader of two projects":       {roles: []string{"Reader"}, clearance: "SECRET", projects: both},
		"reader of an organisation":    {roles: []string{"Reader"}, clearance: "SECRET", organisations: []op.UUID{w.orgB}},
		"owner":                        {roles: []string{"Own"}, clearance: "SECRET"},
		"owner in two projects":        {roles: []string{"Own"}, projects: both},
		"uncleared reader":             {roles: []string{"Reader"}},
		"key of an owner":              {roles: []string{"Own"}, clearance: "CONFIDENTIAL", key: true},
		"key of a project, read-only":  {roles: []string{"Reader"}, clearance: "SECRET", key: true, caveats: []string{"read-only", "project:" + string(g.projects[0])}},
		"key of another module":        {roles: []string{"Reader"}, key: true, caveats: []string{"module:wiki"}},
		"key of an organisation":       {roles: []string{"Reader"}, key: true, organisations: []op.UUID{w.orgA}},
		"delegate":                     {clearance: "CONFIDENTIAL"},
		"delegate of an owner":         {clearance: "CONFIDENTIAL"},
		"delegate with a role already": {roles: []string{"Own"}, clearance: "CONFIDENTIAL", projects: both},
		"no permissions":               {},
	} {
		g.subjects[name] = w.addPerson(p)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 3 {
		p := person{clearance: []string{"UNCLASSIFIED", "CONFIDENTIAL", "SECRET"}[rnd.IntN(3)]}
		for _, permission := range listPermissions {
			if rnd.IntN(4) > 0 {
				p.roles = append(p.roles, permission)
			}
		}
		if rnd.IntN(2) == 0 {
			p.projects = []op.UUID{g.projects[rnd.IntN(len(g.projects))]}
		}
		g.subjects[fmt.Sprintf("drawn %d", i)] = w.addPerson(p)
	}
	g.assignOwners()
	delegator := g.subjects["reader of two projects"]
	project := fields{"scope": "PROJECT", "projectId": g.projects[0]}
	w.createDelegation(delegator, g.subjects["delegate"], []string{"tasks.read", "issues.read", "projects.read"}, project)
	w.createDelegation(g.subjects["owner"], g.subjects["delegate of an owner"], []string{"time_entries.read.own", "task.update.own", "deliverable.update.own"})
	w.createDelegation(w.manager, g.subjects["delegate with a role already"], []string{"runs.read", "time_entries.read"}, project)
	w.principals = map[op.UUID]*principal.Principal{}
	return g
}

// assignOwners assigns the creators and owners of all records to the subjects in turn.
func (g *permissionWorld) assignOwners() {
	g.t.Helper()
	var ids []op.UUID
	for _, name := range slices.Sorted(maps.Keys(g.subjects)) {
		if strings.Contains(name, "own") || strings.Contains(name, "member") {
			ids = append(ids, g.subjects[name].id)
		}
	}
	for table, columns := range map[string][]string{
		"projects": {"created_by", "owner_id"}, "initiatives": {"created_by"}, "tasks": {"created_by", "assignee_id"},
		"issues": {"created_by", "assignee_id"}, "deliverables": {"created_by", "owner_id"}, "comments": {"author_id"},
		"time_entries": {"user_id"}, "agent_runs": {"created_by"},
	} {
		for i, column := range columns {
			g.exec(`UPDATE projects.`+table+` r SET `+column+` = n.who
FROM (SELECT id, ($1::uuid[])[1 + (row_number() OVER (ORDER BY id) * (1 + 2 * $2)) % cardinality($1::uuid[])] AS who FROM projects.`+table+`) n
WHERE n.id = r.id`, ids, i)
		}
	}
}

// probeRecords returns, for the subject, the result of the filter of a type and of the
// decisions on its rows.
func (g *permissionWorld) probeRecords(who *person, of, permission string) *tracker.Records {
	g.t.Helper()
	return do[tracker.Records](g.world, who, "probe-records", fields{"type": of, "permission": permission})
}

// For every record type, the filter selects exactly the rows that a decision on the loaded row
// allows: for read and write permissions, and for .own permissions.
func TestRecordTypes_FilterAndDecisionAgree(t *testing.T) {
	t.Parallel()
	g := newPermissionWorld(t)
	probe := g.service.ProbeRecords()
	g.operations[probe.Name] = probe
	types := map[string]string{
		"project": "projects.read project.update project.delete", "initiative": "initiatives.read initiative.update",
		"task": "tasks.read task.update task.delete", "issue": "issues.read issue.update issue.delete", "run": "runs.read",
		"deliverable": "deliverables.read deliverable.update deliverable.delete", "comment": "comments.read comment.delete",
		"criterion": "deliverables.read deliverable.update deliverable.delete", "time entry": "time_entries.read time_entry.update",
		"delegation": "delegations.read delegation.revoke",
	}
	for of, permissions := range types {
		for permission := range strings.FieldsSeq(permissions) {
			allowed, denied := 0, 0
			for name, who := range g.subjects {
				r := g.probeRecords(who, of, permission)
				for _, id := range r.All {
					filtered, decided := slices.Contains(r.Filtered, id), slices.Contains(r.Decided, id)
					if filtered != decided {
						t.Errorf("%s, %s, %s: got selected by the filter %t, allowed by the decision %t; want both the same", of, permission, name, filtered, decided)
					}
					if decided {
						allowed++
					} else {
						denied++
					}
				}
			}
			if allowed == 0 || denied == 0 {
				t.Errorf("%s, %s: got %d allowed and %d denied, want some of both", of, permission, allowed, denied)
			}
		}
	}
}

// For each subject, every list returns the records that the get operation of the type returns,
// or, for types without one, the records that the decision allows.
func TestLists_AgreeWithSingleReads(t *testing.T) {
	t.Parallel()
	g := newPermissionWorld(t)
	probe := g.service.ProbeRecords()
	g.operations[probe.Name] = probe
	admin := g.subjects["admin"]
	all := map[string][]op.UUID{}
	for _, of := range []string{"project", "initiative", "issue", "delegation", "run", "task", "deliverable", "comment", "criterion", "time entry"} {
		all[of] = g.probeRecords(admin, of, "tasks.read").All
	}
	// each calls a list once for every record of another type.
	each := func(list, of, field string) func(*person) []op.UUID {
		return func(who *person) []op.UUID {
			var ids []op.UUID
			for _, id := range all[of] {
				ids = append(ids, g.listIDs(who, list, fields{field: id})...)
			}
			return ids
		}
	}
	anywhere := func(list string) func(*person) []op.UUID {
		return func(who *person) []op.UUID { return g.listIDs(who, list, fields{}) }
	}
	get := func(name, field string) func(*person, op.UUID) bool {
		return func(who *person, id op.UUID) bool { return g.isAllowed(who, name, fields{field: id}) }
	}
	inProject := func(name, table, field string) func(*person, op.UUID) bool {
		return func(who *person, id op.UUID) bool {
			return g.isAllowed(who, name, fields{"projectId": g.projectOf(table, id), field: id})
		}
	}
	types := []struct {
		name, permission string
		list             func(*person) []op.UUID
		// get is nil for types without a get operation.
		get func(*person, op.UUID) bool
	}{
		{"project", "projects.read", anywhere("list-projects"), get("get-project", "projectId")},
		{"initiative", "initiatives.read", anywhere("list-initiatives"), get("get-initiative", "initiativeId")},
		{"issue", "issues.read", anywhere("list-issues"), get("get-issue", "issue")},
		{"delegation", "delegations.read", anywhere("list-delegations"), get("get-delegation", "delegationId")},
		{"run", "runs.read", anywhere("list-runs"), get("get-run", "runId")},
		{"task", "tasks.read", each("list-tasks", "project", "projectId"), inProject("get-task", "tasks", "task")},
		{"deliverable", "deliverables.read", each("list-deliverables", "project", "projectId"), inProject("get-deliverable", "deliverables", "deliverableId")},
		{"criterion", "deliverables.read", each("list-criteria", "project", "projectId"), nil},
		{"comment", "comments.read", each("list-comments", "issue", "issueId"), nil},
		{"time entry", "time_entries.read", anywhere("list-time-entries"), nil},
	}
	for _, of := range types {
		shown, hidden := 0, 0
		for name, who := range g.subjects {
			list, decided := of.list(who), g.probeRecords(who, of.name, of.permission).Decided
			for _, id := range all[of.name] {
				can := slices.Contains(decided, id)
				if listed := slices.Contains(list, id); listed != can {
					t.Errorf("%s, %s: got in the list %t, allowed by the decision %t; want both the same", of.name, name, listed, can)
				}
				if of.get != nil && of.get(who, id) != can {
					t.Errorf("%s, %s: got allowed by the single read %t, by the decision %t; want both the same", of.name, name, !can, can)
				}
				if can {
					shown++
				} else {
					hidden++
				}
			}
		}
		if shown == 0 || hidden == 0 {
			t.Errorf("%s: got %d shown and %d hidden, want some of both", of.name, shown, hidden)
		}
	}
	// These operations require the permission to read the project or the initiative.
	for name, who := range g.subjects {
		for _, p := range g.projects {
			can := g.isAllowed(who, "get-project", fields{"projectId": p})
			if found := g.isAllowed(who, "find-project", fields{"hint": p}); found != can {
				t.Errorf("%s: got allowed by find-project %t, by get-project %t; want both the same", name, found, can)
			}
			if listed := len(g.listIDs(who, "list-custom-fields", fields{"projectId": p})) > 0; listed != can {
				t.Errorf("%s: got allowed by list-custom-fields %t, by get-project %t; want both the same", name, listed, can)
			}
		}
		for _, i := range all["initiative"] {
			if can, found := g.isAllowed(who, "get-initiative", fields{"initiativeId": i}), g.isAllowed(who, "initiative", fields{"hint": i}); found != can {
				t.Errorf("%s: got allowed by initiative %t, by get-initiative %t; want both the same", name, found, can)
			}
		}
	}
	// These lists authorize their parent record, or redact hidden records.
	for _, name := range []string{"list-stages", "list-dependencies", "list-decision-requests", "list-epic-children"} {
		g.calledLists[name] = true
	}
	for name := range g.operations {
		if strings.HasPrefix(name, "list-") && !g.calledLists[name] {
			t.Errorf("lists that the test compares: got none for %s, want every list operation", name)
		}
	}
}

// listIDs returns the ids that a list operation returns; nil if the caller may not call
// it.
func (g *permissionWorld) listIDs(who *person, name string, in fields) []op.UUID {
	g.t.Helper()
	g.calledLists[name] = true
	in["limit"] = 200
	out, err := g.call(who, name, in)
	if fault.HasCode(err, fault.CodeForbidden) || fault.HasCode(err, fault.CodeNotFound) {
		return nil
	}
	if err != nil {
		g.t.Fatal(err)
	}
	text, err := json.Marshal(out)
	if err != nil {
		g.t.Fatal(err)
	}
	var page op.Page[struct {
		ID op.UUID `json:"id"`
	}]
	if err := json.Unmarshal(text, &page); err != nil {
		g.t.Fatal(err)
	}
	ids := make([]op.UUID, len(page.Items))
	for i, item := range page.Items {
		ids[i] = item.ID
	}
	return ids
}

func (w *world) projectOf(table string, id op.UUID) op.UUID {
	w.t.Helper()
	var project op.UUID
	if err := w.owner.QueryRow(w.t.Context(), `SELECT project_id FROM projects.`+table+` WHERE id = $1`, id).Scan(&project); err != nil {
		w.t.Fatal(err)
	}
	return project
}
