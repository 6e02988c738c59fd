package tracker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

func TestSearchTasks_FindsWordsAndParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.createProject("Apollo", fields{"prefix": "APO"}), w.createProject("Gemini")
	member := w.addPerson(person{roles: []string{"Member"}})
	for title, description := range map[string]string{
		"Configuration is read twice":        "The loader opens config.yaml in v1.2.3 of foo-bar.",
		"Deployment fails on Mondays":        "Nobody knows why.",
		"Ärger mit der Straße":               "Größe prüfen — sofort.",
		`It's "quoted" & 'odd' \ | ! <-> :*`: "x:y a&b",
		"План полёта":                        "计划 飞行",
		"Plain":                              strings.Repeat("lorem ", 2000) + strings.Repeat("y", 3000),
	} {
		w.createTask(p, title, fields{"description": description})
	}
	w.createTask(other, "Configuration elsewhere")
	all := do[op.Page[contract.TaskSummary]](w, member, "list-tasks", fields{"projectId": p.ID})
	names := map[string]string{}
	for _, item := range all.Items {
		names[item.Key] = item.Title
	}
	search := func(typed string) []string {
		var titles []string
		page := do[op.Page[contract.TaskSummary]](w, member, "list-tasks", fields{"projectId": p.ID, "search": typed})
		for _, item := range page.Items {
			titles = append(titles, strings.Fields(names[item.Key])[0])
		}
		slices.Sort(titles)
		return titles
	}
	for _, c := range []struct{ typed, want string }{
		{"configuration", "Configuration"}, {"CONFIG", "Configuration"}, {"figur", "Configuration"}, {"read twice", "Configuration"},
		{"twice read", "Configuration"}, {"yaml", "Configuration"}, {"config.yaml", "Configuration"}, {"v1.2.3", "Configuration"}, {"1.2", ""}, {"foo-bar", "Configuration"},
		{"load", "Configuration"}, {"oader", ""}, {"conf mondays", ""}, {"conf OR mondays", "Configuration Deployment"}, {"-twice conf", ""},
		{"conf -mondays", "Configuration"}, {"-mondays", ""}, {`"conf"`, ""}, {`"read twice"`, "Configuration"}, {`"fail" OR "twice"`, "Configuration"},
		{"ärger", "Ärger"}, {"ÄRGER", "Ärger"}, {"straße", "Ärger"}, {"größe", "Ärger"}, {"sofort", "Ärger"}, {"traß", "Ärger"},
		{"полёта", "План"}, {"олёт", "План"}, {"飞行", "План"}, {"计", "План"},
		{"odd", "It's"}, {"'odd'", "It's"}, {`\`, "It's"}, {"|", "It's"}, {"<->", "It's"}, {":*", "It's"}, {"!", "It's"}, {"quoted &", "It's"}, {"a&b", "It's"},
		{"'; DROP TABLE projects.tasks; --", ""}, {`\'`, ""}, {`"`, "It's"}, {`""`, ""}, {"-", "It's"}, {"OR", ""}, {"OR conf", "Configuration"},
		{"y", "Configuration It's"}, {"lorem", "Plain"}, {"APO-1", names["APO-1"]}, {"apo-999", ""}, {"zzz", ""}, {strings.Repeat("a ", 100), "It's"},
	} {
		if c.typed == "APO-1" {
			if got := search(c.typed); len(got) != 1 || got[0] != strings.Fields(c.want)[0] {
				t.Errorf("search %q: got %v, want %s", c.typed, got, c.want)
			}
			continue
		}
		if c.typed == "y" {
			continue // checked below
		}
		if got := strings.Join(search(c.typed), " "); got != c.want {
			t.Errorf("search %q: got %q, want %q", c.typed, got, c.want)
		}
	}
	if got := strings.Join(search("y"), " "); got != "Configuration It's" && got != "Configuration It's Plain" {
		t.Errorf("search of one letter: got %q", got)
	}
	// The index is updated with the task.
	key := all.Items[slices.IndexFunc(all.Items, func(i contract.TaskSummary) bool { return i.Title == "Plain" })].Key
	do[contract.Task](w, w.manager, "update-task", fields{"projectId": p.ID, "task": key, "title": "Fancy", "description": "ipsum"})
	names[key] = "Fancy"
	for typed, want := range map[string]string{"lorem": "", "plain": "", "fancy": "Fancy", "ipsum": "Fancy"} {
		if got := strings.Join(search(typed), " "); got != want {
			t.Errorf("search %q after the update: got %q, want %q", typed, got, want)
		}
	}
	do[contract.ImportItemsOut](w, w.manager, "import-items", fields{"projectId": p.ID, "items": []fields{{"id": "i", "title": "Imported thing"}}})
	if got := do[op.Page[contract.TaskSummary]](w, member, "list-tasks", fields{"projectId": p.ID, "search": "import"}); len(got.Items) != 1 {
		t.Errorf("search for imported tasks: got %d tasks, want 1", len(got.Items))
	}
	do[op.None](w, w.manager, "delete-project", fields{"projectId": p.ID})
	if n := w.count(`SELECT count(*) FROM projects.search_terms WHERE project_id = $1`, p.ID); n != 0 {
		t.Errorf("got %d index rows of the deleted project, want 0", n)
	}
}

// Texts of the maximum length fit the index, whatever characters they contain.
func TestSearchIndex_AcceptsLongestTexts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	var wide, pairs strings.Builder
	for i := range 50000 {
		wide.WriteRune(rune(0x20000 + i))
		wide.WriteByte(' ')
	}
	for i := range 33333 {
		pairs.WriteRune(rune(0x20000 + i))
		pairs.WriteString("😀 ")
	}
	for i, text := range []string{wide.String(), pairs.String(), strings.Repeat("x", 100000), strings.Repeat("\U0001F600", 100000)} {
		w.createTask(p, strings.Repeat("\U0001F680 ", 250)[:1000], fields{"description": text})
		w.createTask(p, fmt.Sprint("Long ", i), fields{"description": text})
	}
}

// callSearchFunction calls the search function as the tracker's role. setting is the tenant of the
// transaction.
func (w *world) callSearchFunction(setting string, tenant, project any, query string) ([]op.UUID, error) {
	w.t.Helper()
	tx, err := w.db.Pool(w.t, postgres.RoleTracker).Begin(context.Background(), setting, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer tx.Rollback()
	return postgres.CollectScalars[op.UUID](context.Background(), tx, `SELECT projects.search_tasks($1, $2, $3::text::tsquery)`, tenant, project, query)
}

// The search function is SECURITY DEFINER and can read all rows. For any arguments it must
// return only ids of the transaction's tenant.
func TestSearchFunction_ReturnsNothingOfOtherTenants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	ownTask := w.createTask(p, "Needle")
	foreign := w.addPerson(person{roles: []string{"Project Manager"}, tenant: w.globex})
	foreignProject := do[contract.Project](w, foreign, "create-project", fields{"name": "Labs", "startDate": "2027-01-04"})
	hidden := do[contract.Task](w, foreign, "create-task", fields{"projectId": foreignProject.ID, "title": "Needle"})
	scope := func(tenant op.UUID) string { return string(tenant[28:]) }
	own, other := "'w"+scope(w.acme)+"needle'", "'w"+scope(w.globex)+"needle'"
	for _, c := range []struct {
		note            string
		setting         op.UUID
		tenant, project any
		query           string
		want            []op.UUID
	}{
		{"own tenant", w.acme, w.acme, p.ID, own, []op.UUID{ownTask.ID}},
		{"other tenant, in its own transaction", w.globex, w.globex, foreignProject.ID, other, []op.UUID{hidden.ID}},
		{"another tenant as the argument", w.acme, w.globex, foreignProject.ID, other, nil},
		{"another tenant's project", w.acme, w.acme, foreignProject.ID, other, nil},
		{"another tenant's terms", w.acme, w.acme, foreignProject.ID, own + " | " + other, nil},
		{"another tenant's terms in own project", w.acme, w.acme, p.ID, other, nil},
		{"negated term in another tenant's project", w.acme, w.acme, foreignProject.ID, "!'x'", nil},
		{"negated term in own project", w.acme, w.acme, p.ID, "!'x'", []op.UUID{ownTask.ID}},
		{"prefix of all word terms", w.acme, w.acme, foreignProject.ID, "'w':*", nil},
		{"another tenant's project term", w.acme, w.acme, p.ID, "'p" + scope(w.globex) + string(foreignProject.ID) + "'", nil},
		{"no tenant setting", "", w.globex, foreignProject.ID, other, nil},
		{"no setting and no tenant argument", "", nil, foreignProject.ID, other, nil},
		{"no tenant argument", w.globex, nil, foreignProject.ID, other, nil},
		{"no project argument", w.globex, w.globex, nil, other, nil},
		{"empty query in another tenant's project", w.acme, w.acme, foreignProject.ID, "", nil},
		{"empty query in own project", w.acme, w.acme, p.ID, "", []op.UUID{ownTask.ID}},
	} {
		got, err := w.callSearchFunction(string(c.setting), c.tenant, c.project, c.query)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v %v, want %v", c.note, got, err, c.want)
		}
	}
	// If the ids of two tenants end in the same 8 characters, their terms start alike; the rows'
	// tenant_id separates them.
	alike := op.UUID("0190a000-0000-7000-8000-0001" + scope(w.acme))
	w.exec(`INSERT INTO projects.projects (tenant_id, id, name, start_date, prefix, classification, created_by, created_at, updated_at)
		VALUES ($1, $2, 'Twin', '2027-01-04', 'TWIN', 'UNCLASSIFIED', $1, now(), now())`, alike, p.ID)
	w.exec(`INSERT INTO projects.statuses (tenant_id, project_id, name, category, position) VALUES ($1, $2, 'TODO', 'TODO', 1)`, alike, p.ID)
	w.exec(`INSERT INTO projects.tasks (tenant_id, id, project_id, number, title, status, status_category, issue_type, priority, created_by, created_at, updated_at)
		VALUES ($1, $2, $3, 1, 'Needle', 'TODO', 'TODO', 'TASK', 'LOW', $1, now(), now())`, alike, w.globex, p.ID)
	if got, err := w.callSearchFunction(string(w.acme), w.acme, p.ID, own); err != nil || !slices.Equal(got, []op.UUID{ownTask.ID}) {
		t.Errorf("tenant with an equal id ending: got %v %v", got, err)
	}
}

// A caller cannot shadow the functions and operators that the search function uses, and cannot
// get the privileges of its owner.
func TestSearchFunction_ResistsNameShadowing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	w.createTask(p, "Needle")
	foreign := w.addPerson(person{roles: []string{"Project Manager"}, tenant: w.globex})
	foreignProject := do[contract.Project](w, foreign, "create-project", fields{"name": "Labs", "startDate": "2027-01-04"})
	do[contract.Task](w, foreign, "create-task", fields{"projectId": foreignProject.ID, "title": "Needle"})
	// The worst case: a role that may create temporary objects.
	w.exec(`DO $$ BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO parapet_tracker', current_database()); END $$`)
	conn, err := pgx.Connect(t.Context(), w.db.RoleURL(postgres.RoleTracker))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, sql := range []string{
		`CREATE FUNCTION pg_temp.current_setting(text, boolean) RETURNS text LANGUAGE sql AS 'SELECT ''` + string(w.globex) + `'''`,
		`CREATE FUNCTION pg_temp.ts_match_vq(tsvector, tsquery) RETURNS boolean LANGUAGE sql AS 'SELECT true'`,
		`CREATE FUNCTION pg_temp.uuid_eq(uuid, uuid) RETURNS boolean LANGUAGE sql AS 'SELECT true'`,
		`CREATE OPERATOR pg_temp.= (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = pg_temp.uuid_eq)`,
		`CREATE OPERATOR pg_temp.@@ (LEFTARG = tsvector, RIGHTARG = tsquery, FUNCTION = pg_temp.ts_match_vq)`,
		`CREATE TEMPORARY TABLE search_terms (tenant_id uuid, project_id uuid, task_id uuid, terms tsvector)`,
		`SET search_path = pg_temp, pg_catalog, projects, public`,
		`SELECT set_config('app.tenant_id', '` + string(w.acme) + `', false)`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for _, c := range []struct {
		tenant, project op.UUID
		want            int
	}{{w.globex, foreignProject.ID, 0}, {w.acme, foreignProject.ID, 0}, {w.acme, p.ID, 1}} {
		var n int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM projects.search_tasks($1, $2, $3::text::tsquery)`, c.tenant, c.project, "'w"+string(c.tenant[28:])+"needle'").Scan(&n)
		if err != nil || n != c.want {
			t.Errorf("search_tasks(%s, %s): got %d rows (%v), want %d", c.tenant, c.project, n, err, c.want)
		}
	}
	for _, sql := range []string{
		`SET ROLE parapet_search`, `ALTER FUNCTION projects.search_tasks(uuid, uuid, tsquery) RESET ALL`,
		`CREATE OR REPLACE FUNCTION projects.search_tasks(uuid, uuid, tsquery) RETURNS SETOF uuid LANGUAGE sql AS 'SELECT NULL::uuid'`,
		`CREATE FUNCTION projects.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'`, `DELETE FROM projects.search_terms`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s: got no error, want permission denied", sql)
		}
	}
	var n int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM projects.search_terms WHERE tenant_id <> $1`, w.acme).Scan(&n); err != nil || n != 0 {
		t.Errorf("got %d index rows of other tenants (%v), want 0", n, err)
	}
	// The function's owner has no other privilege in the schema.
	if n := w.count(`SELECT count(*) FROM information_schema.role_table_grants WHERE grantee = 'parapet_search' AND (table_name NOT IN ('search_terms', 'issue_terms', 'entry_terms', 'page_terms') OR privilege_type <> 'SELECT')`); n != 0 {
		t.Errorf("parapet_search: got %d other privileges, want 0", n)
	}
}

// The function scans the index of terms for the tenant's entries, so the number of index pages
// that it reads does not grow with the data of other tenants.
func TestSearchFunction_CostIsIndependentOfOtherTenants(t *testing.T) {
	t.Parallel()
	few, many := newWorld(t).searchPages(), newWorldAmongManyTenants(t).searchPages()
	t.Logf("index pages read: %d with few tenants, %d with many", few, many)
	if few == 0 || many > few+10 {
		t.Errorf("index pages read by a search: got %d with few tenants and %d with many, want at most 10 more", few, many)
	}
}

// searchPages adds 50 tasks to a project and returns how many pages of the index of terms a search in it reads.
func (w *world) searchPages() (pages int) {
	w.t.Helper()
	p := w.createProject("Apollo")
	w.exec(`INSERT INTO projects.tasks (tenant_id, id, project_id, number, title, status, status_category, issue_type, priority, created_by, created_at, updated_at)
		SELECT $1::uuid, gen_random_uuid(), $2::uuid, 100 + n, 'Task number ' || n, 'TODO', 'TODO', 'TASK', 'LOW', $1, now(), now() FROM generate_series(1, 50) n`, w.acme, p.ID)
	w.exec(`VACUUM ANALYZE projects.search_terms`)
	// The first search reads the pages of the catalogue too.
	for range 2 {
		pages = w.searchTermPages(p)
	}
	return pages
}

// searchTermPages returns how many pages of the index of terms a search in the project reads.
func (w *world) searchTermPages(p *contract.Project) (pages int) {
	w.t.Helper()
	tx, err := w.owner.Begin(context.Background(), string(w.acme), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer tx.Rollback()
	for _, sql := range []string{`SET LOCAL ROLE parapet_search`, `SET LOCAL enable_seqscan = off`} {
		if _, err := tx.Exec(context.Background(), sql); err != nil {
			w.t.Fatal(err)
		}
	}
	// A copy of the function's statement, because EXPLAIN does not show plans inside functions.
	lines, err := postgres.CollectScalars[string](context.Background(), tx, fmt.Sprintf(`EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF)
		SELECT found.task_id FROM (SELECT s.tenant_id, s.project_id, s.task_id FROM projects.search_terms s
		WHERE s.terms @@ ('''p%[1]s%[2]s'''::tsquery && '''w%[1]snum'':*'::tsquery) OFFSET 0) found
		WHERE found.tenant_id = '%[3]s' AND found.project_id = '%[2]s'`, w.acme[28:], p.ID, w.acme))
	if err != nil {
		w.t.Fatal(err)
	}
	plan := strings.Join(lines, "\n")
	if !strings.Contains(plan, "Bitmap Index Scan on search_terms_by_term") || strings.Contains(plan, "Seq Scan") {
		w.t.Errorf("the statement does not scan the index of terms:\n%s", plan)
	}
	_, after, _ := strings.Cut(plan, "Bitmap Index Scan")
	_, after, _ = strings.Cut(after, "Buffers: shared hit=")
	_, _ = fmt.Sscan(strings.Fields(after)[0], &pages)
	return pages
}
