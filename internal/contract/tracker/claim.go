package tracker

import (
	"time"

	"parapet/internal/op"
)

// Claim is that somebody took a task of the ready set for a limited time.
type Claim struct {
	Holder    op.UUID   `json:"holder" doc:"The user who works on the task."`
	ExpiresAt time.Time `json:"expiresAt" doc:"When the task goes back to the ready set unless the lease is kept."`
}

// Lease is a claim as its holder gets it.
type Lease struct {
	ID        op.UUID   `json:"id" doc:"The lease's id, by which it is kept and given back."`
	ExpiresAt time.Time `json:"expiresAt" doc:"When the task goes back to the ready set unless the lease is kept."`
}

// ClaimNextReadyIn asks for work.
type ClaimNextReadyIn struct {
	ProjectID    op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Agent        string  `json:"agent" maxLength:"320" doc:"The email or id of the active synthetic agent of the tenant for which the task is taken; needs tasks.update.any. The caller takes it when absent."`
	LeaseSeconds int     `json:"leaseSeconds" minimum:"0" maximum:"86400" doc:"For how long the task is taken, unless the lease is kept; then it goes back to the ready set. Without it the task is taken for good."`
}

// ClaimNextReadyOut answers a claim.
type ClaimNextReadyOut struct {
	Claimed bool   `json:"claimed" doc:"Whether a task was taken; false when the ready set is empty."`
	Task    *Task  `json:"task,omitempty" doc:"The task, now in progress and assigned to whom it was taken for."`
	Lease   *Lease `json:"lease,omitempty" doc:"The lease, where one was asked for."`
}

// ClaimNextReady takes the first task of the ready set.
var ClaimNextReady = op.New[ClaimNextReadyIn, ClaimNextReadyOut](op.Spec{
	Name: "claim-next-ready", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/claim-next-ready", Permission: PermTaskClaim, Effect: op.Write,
	Summary: "Take the first task of the ready set and begin it.",
	Description: "The task is assigned and goes to the project's status of the category IN_PROGRESS in one step: two claimers never get the same task. " +
		"An empty ready set is no error: claimed is false.",
})

// KeepClaimIn names a lease to be kept.
type KeepClaimIn struct {
	ProjectID    op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Task         string  `path:"task" maxLength:"64" doc:"The task's key or id."`
	LeaseID      op.UUID `json:"leaseId" required:"true" format:"uuid" doc:"The lease's id."`
	LeaseSeconds int     `json:"leaseSeconds" minimum:"0" maximum:"86400" doc:"For how long from now; as long as it was last kept for when absent."`
}

// KeepClaim keeps a lease alive.
var KeepClaim = op.New[KeepClaimIn, Lease](op.Spec{
	Name: "keep-claim", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/tasks/{task}/claim/keep", Permission: PermTaskClaim, Effect: op.Write,
	Summary: "Keep the lease of a claimed task alive.",
	Description: "The holder of the lease may keep it, and who has tasks.update.any. A lease that has lapsed, or that ended because the task left progress or changed hands, is a CONFLICT: " +
		"take another task.",
})

// ReleaseClaimIn names a lease to be given back.
type ReleaseClaimIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Task      string  `path:"task" maxLength:"64" doc:"The task's key or id."`
	LeaseID   op.UUID `json:"leaseId" required:"true" format:"uuid" doc:"The lease's id."`
}

// ReleaseClaim gives a claimed task back.
var ReleaseClaim = op.New[ReleaseClaimIn, Task](op.Spec{
	Name: "release-claim", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/tasks/{task}/claim/release", Permission: PermTaskClaim, Effect: op.Write,
	Summary:     "Give a claimed task back to the ready set.",
	Description: "The task has its former status again and nobody's name on it. The holder of the lease may do so, and who has tasks.update.any. A lease that has ended is a CONFLICT.",
})
