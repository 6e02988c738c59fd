package tracker

import (
	"strings"

	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/searchterms"
)

// addTaskSearch adds the condition that the task t matches the search text, or has it as its
// key. It searches a project, or the whole tenant if project is empty. A text without any
// word, such as "%", is searched for in the titles.
func addTaskSearch(st *postgres.Statement, tenantID op.UUID, tenant, project, search string) {
	query := searchterms.New(tenantID).Query(search)
	if query == "" {
		st.Add(` AND t.title ILIKE `, st.Arg(containsPattern(search)))
		return
	}
	if project == "" {
		st.Add(` AND t.id IN (SELECT hit FROM projects.search_tenant_tasks(`, tenant, `, `, st.Arg(query), `::text::tsquery) hit`)
	} else {
		st.Add(` AND t.id IN (SELECT hit FROM projects.search_tasks(`, tenant, `, `, project, `, `, st.Arg(query), `::text::tsquery) hit`)
	}
	if ref, ok := parseTaskKey(search); ok {
		st.Add(` UNION ALL
SELECT k.id FROM projects.tasks k JOIN projects.projects kp ON kp.tenant_id = `, tenant, ` AND kp.id = k.project_id
WHERE k.tenant_id = `, tenant, ` AND k.number = `, st.Arg(ref.number), ` AND kp.prefix = `, st.Arg(ref.prefix))
		if project != "" {
			st.Add(` AND k.project_id = `, project)
		}
	}
	st.Add(`)`)
}

// containsPattern returns the ILIKE pattern for texts that contain part. Wildcards in
// part are escaped.
func containsPattern(part string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(part) + "%"
}
