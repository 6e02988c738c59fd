package tracker

import (
	"context"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

func (s *Service) inboxOperations() []op.Bound {
	return []op.Bound{
		executor.Authenticated(s.executor, contract.GetInbox, s.inbox),
	}
}

// inbox returns the work that waits for the caller. Each section contains the tasks that
// the caller may both read and work on, because it applies the filters of both permissions.
func (s *Service) inbox(ctx context.Context, c *executor.Call, in *contract.InboxIn) (*contract.Inbox, error) {
	out := &contract.Inbox{}
	me := c.Actor.UserID
	for _, section := range []struct {
		// permission is what the caller needs besides tasks.read; empty means nothing.
		permission string
		query      taskQuery
		set        func(tasks *contract.InboxTasks) error
	}{
		{contract.PermDecisionAnswer, taskQuery{awaitingDecision: true}, func(tasks *contract.InboxTasks) error {
			var err error
			out.Decisions, err = loadInboxDecisions(ctx, c, tasks)
			return err
		}},
		{contract.PermTaskUpdate, taskQuery{review: true, notAssignee: me}, func(tasks *contract.InboxTasks) error { out.Reviews = tasks; return nil }},
		{"", taskQuery{open: true, assignee: me, sort: contract.SortPriority}, func(tasks *contract.InboxTasks) error { out.Assigned = tasks; return nil }},
		{contract.PermTaskClaim, taskQuery{ready: true, unassigned: true}, func(tasks *contract.InboxTasks) error { out.Ready = tasks; return nil }},
	} {
		tasks, err := s.readInboxTasks(ctx, c, section.permission, &section.query, in.Limit)
		if err != nil {
			return nil, err
		}
		if tasks != nil {
			if err := section.set(tasks); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// readInboxTasks returns the first tasks of the query that the caller may read and for
// which it has the permission. It returns nil if the caller holds either permission in no
// scope.
func (s *Service) readInboxTasks(ctx context.Context, c *executor.Call, permission string, q *taskQuery, limit int) (*contract.InboxTasks, error) {
	if !c.Actor.Subject.Holds(contract.PermTasksRead) || permission != "" && !c.Actor.Subject.Holds(permission) {
		return nil, nil //nolint:nilnil // nil is an absent section
	}
	f, err := c.Filter(ctx, contract.PermTasksRead, taskColumns)
	if err != nil {
		return nil, err
	}
	if permission != "" {
		also, err := c.Filter(ctx, permission, taskColumns)
		if err != nil {
			return nil, err
		}
		q.also = &also
	}
	q.operation, q.limit = contract.GetInbox.Operation, limit
	page, err := s.readTasks(ctx, c, q, f)
	if err != nil {
		return nil, err
	}
	return &contract.InboxTasks{Items: page.Items, HasMore: page.NextCursor != ""}, nil
}

const decisionsByIDsSQL = `
SELECT d.id, d.question, d.options, d.status, d.answer, d.chosen_option, d.raised_by, d.session_id, d.created_at,
       d.resolved_at, d.resolved_by
FROM projects.decision_requests d
WHERE d.tenant_id = @tenant AND d.id = ANY(@ids::uuid[])`

// loadInboxDecisions returns the open decision requests of the tasks, in their order.
func loadInboxDecisions(ctx context.Context, c *executor.Call, tasks *contract.InboxTasks) (*contract.InboxDecisions, error) {
	out := &contract.InboxDecisions{Items: []contract.DecisionRequest{}, HasMore: tasks.HasMore}
	if len(tasks.Items) == 0 {
		return out, nil
	}
	ids := make([]op.UUID, len(tasks.Items))
	for i := range tasks.Items {
		ids[i] = tasks.Items[i].DecisionRequestID
	}
	rows, err := postgres.Collect[decisionRow](ctx, c.DB, decisionsByIDsSQL, postgres.Args{"tenant": c.Tenant, "ids": ids})
	if err != nil {
		return nil, err
	}
	byID := make(map[op.UUID]*decisionRow, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	for i := range tasks.Items {
		t := &tasks.Items[i]
		// A request that was resolved in the meantime no longer waits for the caller.
		if row := byID[t.DecisionRequestID]; row != nil && row.Status == contract.DecisionOpen {
			key, _ := parseTaskKey(t.Key)
			out.Items = append(out.Items, *row.toDecisionRequest(&taskRow{ID: t.ID, ProjectID: t.ProjectID, Prefix: key.prefix, Number: key.number}))
		}
	}
	return out, nil
}
