package tracker

import (
	"context"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

func (s *Service) leaseOperations() []op.Bound {
	return []op.Bound{
		handle(s, contract.ClaimNextReady, loadProjectToClaimNextReady, s.claimNextReady),
		handle(s, contract.KeepClaim, loadTaskToKeepClaim, keepClaim),
		handle(s, contract.ReleaseClaim, loadTaskToReleaseClaim, releaseClaim),
	}
}

func loadProjectToClaimNextReady(ctx context.Context, c *executor.Call, in *contract.ClaimNextReadyIn) (projectRow, authz.Resource, error) {
	project, err := loadProject(ctx, c, loadProjectKeyShareSQL, in.ProjectID)
	return project, project.newTaskResource(c), err
}

// claimNextReady assigns the first task of the ready set to the caller, or to the
// agent that the request names, and sets it in progress. Tasks with expired leases
// return to the ready set first.
func (s *Service) claimNextReady(ctx context.Context, c *executor.Call, in *contract.ClaimNextReadyIn, project projectRow) (*contract.ClaimNextReadyOut, error) {
	if err := c.Decide(ctx, contract.PermTasksRead, project.newTaskResource(c)); err != nil {
		return nil, err
	}
	inProgress := preferredStatus(project.statuses(), contract.CategoryInProgress, contract.CategoryInProgress)
	if inProgress.Category != contract.CategoryInProgress {
		return nil, fault.Conflict("The project has no status of category IN_PROGRESS, so its tasks cannot be claimed. Add one with update-project.")
	}
	holder, err := s.resolveLeaseHolder(ctx, c, in, &project)
	if err != nil {
		return nil, err
	}
	if _, err := returnExpiredLeases(ctx, c, project.ID); err != nil {
		return nil, err
	}
	id, err := findNextReady(ctx, c, project.ID, holder)
	if err != nil || id == "" {
		return &contract.ClaimNextReadyOut{}, err
	}
	rows, err := loadTasks(ctx, c, []op.UUID{id})
	if err != nil {
		return nil, err
	}
	row := rows[id]
	previousStatus := row.Status
	row.AssigneeID = &holder
	row.setStatus(c, inProgress)
	if err := updateTaskRow(ctx, c, row); err != nil {
		return nil, err
	}
	out := &contract.ClaimNextReadyOut{Claimed: true}
	details := map[string]any{"holder": holder, "status": map[string]string{"from": previousStatus, "to": row.Status}}
	if in.LeaseSeconds > 0 {
		lease := leaseRow{ID: uid.New(), HolderID: holder, FormerStatus: previousStatus, Seconds: in.LeaseSeconds}
		lease.extend(c, in.LeaseSeconds)
		if err := insertLeaseRow(ctx, c, row, &lease); err != nil {
			return nil, err
		}
		out.Lease = lease.toLease()
		details["lease"], details["expiresAt"] = lease.ID, lease.ExpiresAt
	}
	claimed, err := reloadAndRecordTask(ctx, c, id, "task.claimed", contract.EventTaskClaimed, []string{"status", "assignee"}, details)
	if err != nil {
		return nil, err
	}
	out.Task = claimed.toTaskForCaller(ctx, c)
	return out, nil
}

// resolveLeaseHolder returns the user who gets the task: the agent that the request
// names, or else the caller, who must be assignable in the project.
func (s *Service) resolveLeaseHolder(ctx context.Context, c *executor.Call, in *contract.ClaimNextReadyIn, project *projectRow) (op.UUID, error) {
	if in.Agent == "" {
		err := s.checkAssignable(ctx, c, "assignee", c.Actor.UserID, project.Classification)
		if f := fault.From(err); fault.HasCode(err, fault.CodeValidation) {
			// A validation error names a request field; here the caller is not assignable.
			err = fault.ForbiddenBecause("You cannot claim tasks of this project, because you cannot be assigned to them. " + f.Message).WithReason(f.Reason).WithReasons(f.Reasons)
		}
		return c.Actor.UserID, err
	}
	return s.resolveActingAgent(ctx, c, in.Agent, project.newTaskResource(c))
}

// reloadAndRecordTask reads the task again, adds the audit entry and the event of a change
// of its lease, and returns the task.
func reloadAndRecordTask(ctx context.Context, c *executor.Call, id op.UUID, action string, event *op.EventType, changed []string, details map[string]any) (*taskRow, error) {
	rows, err := loadTasks(ctx, c, []op.UUID{id})
	if err != nil {
		return nil, err
	}
	recordTask(c, rows[id], action, event, changed, details)
	return rows[id], nil
}

func loadTaskToKeepClaim(ctx context.Context, c *executor.Call, in *contract.KeepClaimIn) (taskRow, authz.Resource, error) {
	row, err := loadTask(ctx, c, in.ProjectID, in.Task, true)
	return row, row.resource(c.Tenant), err
}

func keepClaim(ctx context.Context, c *executor.Call, in *contract.KeepClaimIn, row taskRow) (*contract.Lease, error) {
	lease, err := requireLease(ctx, c, &row, in.LeaseID)
	if err != nil {
		return nil, err
	}
	seconds := in.LeaseSeconds
	if seconds == 0 {
		seconds = lease.Seconds
	}
	lease.extend(c, seconds)
	if err := updateLeaseRow(ctx, c, &lease); err != nil {
		return nil, err
	}
	_, err = reloadAndRecordTask(ctx, c, row.ID, "task.claim_renewed", contract.EventTaskClaimRenewed, nil,
		map[string]any{"lease": lease.ID, "holder": lease.HolderID, "expiresAt": lease.ExpiresAt})
	return lease.toLease(), err
}

func loadTaskToReleaseClaim(ctx context.Context, c *executor.Call, in *contract.ReleaseClaimIn) (taskRow, authz.Resource, error) {
	row, err := loadTask(ctx, c, in.ProjectID, in.Task, true)
	return row, row.resource(c.Tenant), err
}

func releaseClaim(ctx context.Context, c *executor.Call, in *contract.ReleaseClaimIn, row taskRow) (*contract.Task, error) {
	lease, err := requireLease(ctx, c, &row, in.LeaseID)
	if err != nil {
		return nil, err
	}
	returned, err := returnTask(ctx, c, &row, &lease, "task.claim_released", contract.EventTaskClaimReleased)
	if err != nil {
		return nil, err
	}
	return returned.toTaskForCaller(ctx, c), nil
}

// requireLease returns the active lease of the task if it has this id and the caller
// may extend or release it.
func requireLease(ctx context.Context, c *executor.Call, row *taskRow, lease op.UUID) (leaseRow, error) {
	active, err := postgres.One[leaseRow](ctx, c.DB, leaseOfTaskSQL, postgres.Args{"tenant": c.Tenant, "task": row.ID})
	if err != nil && !postgres.IsNoRows(err) {
		return active, err
	}
	if err != nil || active.ID != lease || !active.ExpiresAt.After(c.Now) {
		return active, fault.Conflict("The lease is no longer active: it expired or was released, or the task was reassigned or is no longer in progress. Claim another task with claim-next-ready.")
	}
	return active, requireCanReleaseLease(ctx, c, active.HolderID, row.resource(c.Tenant))
}

// returnTask returns a claimed task to the ready set: it clears the assignee and
// restores the status that the task had before the claim. If the project no longer has
// that status, it uses another status of the category TODO.
func returnTask(ctx context.Context, c *executor.Call, row *taskRow, lease *leaseRow, action string, event *op.EventType) (*taskRow, error) {
	from := row.Status
	row.AssigneeID = nil
	row.setStatus(c, preferredStatus(row.statuses(), lease.FormerStatus, contract.CategoryTodo))
	// The trigger tasks_end_claim deletes the lease.
	if err := updateTaskRow(ctx, c, row); err != nil {
		return nil, err
	}
	return reloadAndRecordTask(ctx, c, row.ID, action, event, []string{"status", "assignee"}, map[string]any{
		"lease": lease.ID, "holder": lease.HolderID, "status": map[string]string{"from": from, "to": row.Status},
	})
}

// expiredLeaseBatchSize is the maximum number of tasks that one transaction returns.
const expiredLeaseBatchSize = 100

// returnExpiredLeases returns the tasks with expired leases of a project, or of the
// whole tenant if project is empty, and returns their number. It skips tasks that
// another transaction has locked.
func returnExpiredLeases(ctx context.Context, c *executor.Call, project op.UUID) (int, error) {
	args := postgres.Args{"tenant": c.Tenant, "project": postgres.NullIfZero(project), "now": c.Now, "most": expiredLeaseBatchSize}
	ids, err := postgres.CollectScalars[op.UUID](ctx, c.DB, expiredLeaseTasksSQL, args)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	// Read the leases only now, with their tasks locked: a lease may have ended since.
	leases, err := postgres.Collect[leaseRow](ctx, c.DB, expiredLeasesSQL, postgres.Args{"tenant": c.Tenant, "ids": ids, "now": c.Now})
	if err != nil {
		return 0, err
	}
	rows, err := loadTasks(ctx, c, ids)
	if err != nil {
		return 0, err
	}
	for i := range leases {
		if _, err := returnTask(ctx, c, rows[leases[i].TaskID], &leases[i], "task.claim_lapsed", contract.EventTaskClaimLapsed); err != nil {
			return 0, err
		}
	}
	return len(leases), nil
}

// returnExpiredLeasesBeforeRead returns the tasks with expired leases of a project, or of
// the whole tenant if project is empty, before the ready set is listed. It uses a separate transaction, because the list runs in a
// read-only one.
func (s *Service) returnExpiredLeasesBeforeRead(ctx context.Context, c *executor.Call, project op.UUID) error {
	hasExpired, err := queryExists(ctx, c, hasExpiredLeaseSQL, postgres.Args{"tenant": c.Tenant, "project": postgres.NullIfZero(project), "now": c.Now})
	if err != nil || !hasExpired {
		return err
	}
	return s.executor.RunAsSystem(ctx, c.Tenant, func(ctx context.Context, system *executor.Call) error {
		_, err := returnExpiredLeases(ctx, system, project)
		return err
	})
}

// ReturnExpiredLeases returns the tasks with expired leases of all tenants to the
// ready set. It returns the number of tasks.
func (s *Service) ReturnExpiredLeases(ctx context.Context, now time.Time) (int64, error) {
	tenants, err := postgres.CollectScalars[op.UUID](ctx, s.jobs, expiredLeaseTenantsSQL, postgres.Args{"now": now})
	if err != nil {
		return 0, postgres.MapError(err)
	}
	var total int64
	for _, tenant := range tenants {
		for n := expiredLeaseBatchSize; n == expiredLeaseBatchSize; {
			err := s.executor.RunAsSystem(ctx, tenant, func(ctx context.Context, c *executor.Call) (err error) {
				n, err = returnExpiredLeases(ctx, c, "")
				return err
			})
			if err != nil {
				return total, err
			}
			total += int64(n)
		}
	}
	return total, nil
}
