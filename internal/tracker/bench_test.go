package tracker_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	contract "parapet/internal/contract/tracker"
)

// BenchmarkListTasks compares the list-tasks operation, with authorization and
// row-level security, to a plain query for the same 50 rows.
func BenchmarkListTasks(b *testing.B) {
	w := newWorldAmongManyTenants(b)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	member := w.addPerson(person{roles: []string{"Member"}})
	w.addTasks(p, 2000)
	o, ctx := w.operations["list-tasks"], w.requestContext(member)
	b.Run("operation", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := o.Call(ctx, &contract.ListTasksIn{ProjectID: p.ID, Limit: 50}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain query", func(b *testing.B) {
		conn, err := pgx.Connect(context.Background(), w.db.URL())
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close(context.Background())
		b.ReportAllocs()
		for b.Loop() {
			rows, err := conn.Query(context.Background(), `
SELECT id, number, title, status, status_category, issue_type, priority, progress, assignee_id, due_date::text, epic_id, parent_task_id,
       initiative_id, estimate_points, labels, created_by, created_at, updated_at, completed_at
FROM projects.tasks WHERE tenant_id = $1 AND project_id = $2 ORDER BY number DESC LIMIT 50`, w.acme, p.ID)
			if err != nil {
				b.Fatal(err)
			}
			var t contract.TaskSummary
			var number int64
			var assignee, due, epic, parent, initiative *string
			n := 0
			_, err = pgx.ForEachRow(rows, []any{&t.ID, &number, &t.Title, &t.Status, &t.StatusCategory, &t.IssueType, &t.Priority, &t.Progress, &assignee, &due,
				&epic, &parent, &initiative, &t.EstimatePoints, &t.Labels, &t.CreatedBy, &t.CreatedAt, &t.UpdatedAt, &t.CompletedAt}, func() error { n++; return nil })
			if err != nil || n != 50 {
				b.Fatal(n, err)
			}
		}
	})
}
