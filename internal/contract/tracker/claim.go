package tracker

import (
	"time"

	"parapet/internal/op"
)

// Claim is the active lease of a task as every reader of the task sees it.
type Claim struct {
	Holder     op.UUID       `json:"holder" doc:"The user who works on the task."`
	HolderUser *op.Reference `json:"holderUser,omitempty" doc:"The name of the record that holder identifies."`
	ExpiresAt  time.Time     `json:"expiresAt" doc:"When the lease expires. The task then returns to the ready set unless the lease was extended."`
}

// Lease is the lease of a task as its holder sees it, with the lease id.
type Lease struct {
	ID        op.UUID   `json:"id" doc:"The lease's id; keep-claim and release-claim require it."`
	ExpiresAt time.Time `json:"expiresAt" doc:"When the lease expires. The task then returns to the ready set unless the lease was extended."`
}

// ClaimNextReadyIn is the input of ClaimNextReady.
type ClaimNextReadyIn struct {
	ProjectID    op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Agent        string  `json:"agent" maxLength:"320" doc:"The email or id of the active synthetic agent to assign the task to. Requires tasks.update.any. Default: the caller."`
	LeaseSeconds int     `json:"leaseSeconds" minimum:"0" maximum:"86400" doc:"Duration of the lease. When it expires, the task returns to the ready set; keep-claim extends it. Absent or 0: no lease; the assignment does not expire."`
}

// ClaimNextReadyOut is the result of ClaimNextReady.
type ClaimNextReadyOut struct {
	Claimed bool   `json:"claimed" doc:"Whether a task was claimed; false when the ready set is empty."`
	Task    *Task  `json:"task,omitempty" doc:"The claimed task, now in progress and assigned to the caller or to the named agent."`
	Lease   *Lease `json:"lease,omitempty" doc:"The lease; absent unless leaseSeconds was given."`
}

// ClaimNextReady assigns the first task of the ready set and starts it.
var ClaimNextReady = op.Declare[ClaimNextReadyIn, ClaimNextReadyOut](Contract, op.Spec{
	Name: "claim-next-ready", Method: "POST", Path: "/api/projects/{projectId}/claim-next-ready", Permission: PermTaskClaim, Effect: op.Write,
	Summary: "Claim the first task of the ready set and start it.",
	Description: "Assigns the task and moves it to the project's first status of the category IN_PROGRESS atomically: concurrent callers never get the same task. " +
		"If the ready set is empty, claimed is false.",
})

// KeepClaimIn is the input of KeepClaim.
type KeepClaimIn struct {
	ProjectID    op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Task         string  `path:"task" maxLength:"64" doc:"The task's key or id."`
	LeaseID      op.UUID `json:"leaseId" required:"true" format:"uuid" doc:"The lease's id."`
	LeaseSeconds int     `json:"leaseSeconds" minimum:"0" maximum:"86400" doc:"New duration of the lease, counted from now. Default: the duration that was last set."`
}

// KeepClaim extends a lease.
var KeepClaim = op.Declare[KeepClaimIn, Lease](Contract, op.Spec{
	Name: "keep-claim", Method: "POST", Path: "/api/projects/{projectId}/tasks/{task}/claim/keep", Permission: PermTaskClaim, Effect: op.Write,
	Summary: "Extend the lease of a claimed task.",
	Description: "Allowed for the holder of the lease and for callers with tasks.update.any. Fails with CONFLICT if the lease has expired, or has ended because the task's status or assignee changed; " +
		"claim another task then.",
})

// ReleaseClaimIn is the input of ReleaseClaim.
type ReleaseClaimIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Task      string  `path:"task" maxLength:"64" doc:"The task's key or id."`
	LeaseID   op.UUID `json:"leaseId" required:"true" format:"uuid" doc:"The lease's id."`
}

// ReleaseClaim ends a lease and returns the task to the ready set.
var ReleaseClaim = op.Declare[ReleaseClaimIn, Task](Contract, op.Spec{
	Name: "release-claim", Method: "POST", Path: "/api/projects/{projectId}/tasks/{task}/claim/release", Permission: PermTaskClaim, Effect: op.Write,
	Summary:     "Return a claimed task to the ready set.",
	Description: "Restores the task's previous status and removes the assignee. Allowed for the holder of the lease and for callers with tasks.update.any. Fails with CONFLICT if the lease has ended.",
})
