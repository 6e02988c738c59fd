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

func (s *Service) claimNextReadyHandler() executor.Handler[contract.ClaimNextReadyIn, contract.ClaimNextReadyOut, projectRow] {
	return executor.Handler[contract.ClaimNextReadyIn, contract.ClaimNextReadyOut, projectRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.ClaimNextReadyIn) (projectRow, authz.Resource, error) {
			project, err := loadProject(ctx, c, keepProjectSQL, in.ProjectID)
			return project, project.newTaskResource(c), err
		},
		Do: s.claimNextReady,
	}
}

// claimNextReady takes the first task of the ready set for the caller, or for the agent
// that it names, and begins it. What lapsed leases of the project held is back in
// the set before it looks.
func (s *Service) claimNextReady(ctx context.Context, c *executor.Call, in *contract.ClaimNextReadyIn, project projectRow) (*contract.ClaimNextReadyOut, error) {
	if err := c.Decide(ctx, contract.PermTasksRead, project.newTaskResource(c)); err != nil {
		return nil, err
	}
	begun := statusOf(project.statuses(), contract.CategoryInProgress, contract.CategoryInProgress)
	if begun.Category != contract.CategoryInProgress {
		return nil, fault.Conflict("The project has no status of the category IN_PROGRESS, so that nothing in it can be begun. Give it one with update-project.")
	}
	holder, err := s.leaseHolder(ctx, c, in, &project)
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
	former := row.Status
	row.AssigneeID = &holder
	row.move(c, begun)
	if err := updateTaskRow(ctx, c, row); err != nil {
		return nil, err
	}
	out := &contract.ClaimNextReadyOut{Claimed: true}
	more := map[string]any{"holder": holder, "status": map[string]string{"from": former, "to": row.Status}}
	if in.LeaseSeconds > 0 {
		lease := leaseRow{ID: uid.New(), HolderID: holder, FormerStatus: former, Seconds: in.LeaseSeconds}
		lease.extend(c, in.LeaseSeconds)
		if err := insertLeaseRow(ctx, c, row, &lease); err != nil {
			return nil, err
		}
		out.Lease = lease.lease()
		more["lease"], more["expiresAt"] = lease.ID, lease.ExpiresAt
	}
	now, err := recordLease(ctx, c, id, "task.claimed", contract.EventTaskClaimed, []string{"status", "assignee"}, more)
	if err != nil {
		return nil, err
	}
	out.Task = now.show(ctx, c)
	return out, nil
}

// leaseHolder is whom the task is taken for: the caller, who must be somebody that
// work in the project can be given to, or the agent that it acts as.
func (s *Service) leaseHolder(ctx context.Context, c *executor.Call, in *contract.ClaimNextReadyIn, project *projectRow) (op.UUID, error) {
	if in.Agent == "" {
		err := s.checkAssignable(ctx, c, "assignee", c.Actor.UserID, project.Classification)
		if f := fault.From(err); fault.HasCode(err, fault.CodeValidation) {
			// No field of the request is wrong: it is the caller who can't have work.
			err = fault.ForbiddenBecause("You can't take a task of this project: work can't be given to you. " + f.Message).WithReason(f.Reason).WithReasons(f.Reasons)
		}
		return c.Actor.UserID, err
	}
	return s.resolveActingAgent(ctx, c, in.Agent, project.newTaskResource(c))
}

// recordLease gives the task as it is now, and tells of what was done with it.
func recordLease(ctx context.Context, c *executor.Call, id op.UUID, action, event string, changed []string, more map[string]any) (*taskRow, error) {
	rows, err := loadTasks(ctx, c, []op.UUID{id})
	if err != nil {
		return nil, err
	}
	recordTask(c, rows[id], action, event, changed, more)
	return rows[id], nil
}

func (s *Service) keepClaimHandler() executor.Handler[contract.KeepClaimIn, contract.Lease, taskRow] {
	return executor.Handler[contract.KeepClaimIn, contract.Lease, taskRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.KeepClaimIn) (taskRow, authz.Resource, error) {
			row, err := loadTask(ctx, c, in.ProjectID, in.Task, true)
			return row, row.resource(c.Tenant), err
		},
		Do: func(ctx context.Context, c *executor.Call, in *contract.KeepClaimIn, row taskRow) (*contract.Lease, error) {
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
			_, err = recordLease(ctx, c, row.ID, "task.claim_renewed", contract.EventTaskClaimRenewed, nil,
				map[string]any{"lease": lease.ID, "holder": lease.HolderID, "expiresAt": lease.ExpiresAt})
			return lease.lease(), err
		},
	}
}

func (s *Service) releaseClaimHandler() executor.Handler[contract.ReleaseClaimIn, contract.Task, taskRow] {
	return executor.Handler[contract.ReleaseClaimIn, contract.Task, taskRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.ReleaseClaimIn) (taskRow, authz.Resource, error) {
			row, err := loadTask(ctx, c, in.ProjectID, in.Task, true)
			return row, row.resource(c.Tenant), err
		},
		Do: func(ctx context.Context, c *executor.Call, in *contract.ReleaseClaimIn, row taskRow) (*contract.Task, error) {
			lease, err := requireLease(ctx, c, &row, in.LeaseID)
			if err != nil {
				return nil, err
			}
			now, err := returnTask(ctx, c, &row, &lease, "task.claim_released", contract.EventTaskClaimReleased)
			if err != nil {
				return nil, err
			}
			return now.show(ctx, c), nil
		},
	}
}

// requireLease is the claim of the task by this lease, which must be alive and the
// caller's to deal with.
func requireLease(ctx context.Context, c *executor.Call, row *taskRow, lease op.UUID) (leaseRow, error) {
	claim, err := postgres.One[leaseRow](ctx, c.DB, leaseOfTaskSQL, postgres.Args{"tenant": c.Tenant, "task": row.ID})
	if err != nil && !postgres.IsNoRows(err) {
		return claim, err
	}
	if err != nil || claim.ID != lease || !claim.ExpiresAt.After(c.Now) {
		return claim, fault.Conflict("The lease has ended: it lapsed, it was given back, or the task left progress or changed hands. Take another task with claim-next-ready.")
	}
	return claim, requireCanReleaseLease(ctx, c, claim.HolderID, row.resource(c.Tenant))
}

// returnTask returns a claimed task to the ready set: the status that it was taken
// from, or one like it where the project no longer has that, and nobody's name.
func returnTask(ctx context.Context, c *executor.Call, row *taskRow, claim *leaseRow, action, event string) (*taskRow, error) {
	from := row.Status
	row.AssigneeID = nil
	row.move(c, statusOf(row.statuses(), claim.FormerStatus, contract.CategoryTodo))
	// The claim ends with that: see the trigger tasks_end_claim.
	if err := updateTaskRow(ctx, c, row); err != nil {
		return nil, err
	}
	return recordLease(ctx, c, row.ID, action, event, []string{"status", "assignee"}, map[string]any{
		"lease": claim.ID, "holder": claim.HolderID, "status": map[string]string{"from": from, "to": row.Status},
	})
}

// expiredLeaseBatchSize bounds one transaction that gives back what lapsed leases held.
const expiredLeaseBatchSize = 100

// returnExpiredLeases gives back the tasks of a project whose leases have lapsed, or of
// the whole tenant where none is named, and says how many those are. Whoever is
// at one of them right now has it: it is passed over.
func returnExpiredLeases(ctx context.Context, c *executor.Call, project op.UUID) (int, error) {
	args := postgres.Args{"tenant": c.Tenant, "project": optional(project), "now": c.Now, "most": expiredLeaseBatchSize}
	ids, err := postgres.CollectScalars[op.UUID](ctx, c.DB, expiredLeaseTasksSQL, args)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	// A claim that ended before the task was ours is not there any more.
	claims, err := postgres.Collect[leaseRow](ctx, c.DB, expiredLeasesSQL, postgres.Args{"tenant": c.Tenant, "ids": ids, "now": c.Now})
	if err != nil {
		return 0, err
	}
	rows, err := loadTasks(ctx, c, ids)
	if err != nil {
		return 0, err
	}
	for i := range claims {
		if _, err := returnTask(ctx, c, rows[claims[i].TaskID], &claims[i], "task.claim_lapsed", contract.EventTaskClaimLapsed); err != nil {
			return 0, err
		}
	}
	return len(claims), nil
}

// returnLeasesExpiredBefore does so ahead of a read, in a transaction of the module's
// own: a read writes nothing itself.
func (s *Service) returnLeasesExpiredBefore(ctx context.Context, c *executor.Call, project op.UUID) error {
	lapsed, err := queryExists(ctx, c, anyExpiredLeaseSQL, postgres.Args{"tenant": c.Tenant, "project": project, "now": c.Now})
	if err != nil || !lapsed {
		return err
	}
	return s.executor.RunAsSystem(ctx, c.Tenant, func(ctx context.Context, own *executor.Call) error {
		_, err := returnExpiredLeases(ctx, own, project)
		return err
	})
}

// ReturnExpiredLeases gives back what lapsed leases hold, in every tenant, and says how
// many tasks those are.
func (s *Service) ReturnExpiredLeases(ctx context.Context, now time.Time) (int64, error) {
	tenants, err := postgres.CollectScalars[op.UUID](ctx, s.jobs, expiredLeaseTenantsSQL, postgres.Args{"now": now})
	if err != nil {
		return 0, postgres.MapError(err)
	}
	var all int64
	for _, tenant := range tenants {
		for n := expiredLeaseBatchSize; n == expiredLeaseBatchSize; {
			err := s.executor.RunAsSystem(ctx, tenant, func(ctx context.Context, c *executor.Call) (err error) {
				n, err = returnExpiredLeases(ctx, c, "")
				return err
			})
			if err != nil {
				return all, err
			}
			all += int64(n)
		}
	}
	return all, nil
}
