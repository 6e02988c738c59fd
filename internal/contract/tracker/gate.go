package tracker

import (
	"time"

	"parapet/internal/op"
)

// The values of a gate's status.
const (
	GatePending = "PENDING"
	GatePassed  = "PASSED"
	GateFailed  = "FAILED"
	GateHeld    = "HELD"
)

// The votes at a gate.
const (
	VotePass  = "PASS"
	VoteFail  = "FAIL"
	VoteWaive = "WAIVE"
	VoteHold  = "HOLD"
)

// Gate is a review checkpoint after a stage.
type Gate struct {
	ID        op.UUID      `json:"id" doc:"The gate's id."`
	ProjectID op.UUID      `json:"projectId" doc:"The project that the gate belongs to."`
	StageID   op.UUID      `json:"stageId" doc:"The stage that the gate comes after."`
	Name      string       `json:"name" doc:"The gate's name. Untrusted text."`
	Criteria  []string     `json:"criteria" doc:"What reviewers hold the stage against. Untrusted text."`
	Status    string       `json:"status" enum:"PENDING|PASSED|FAILED|HELD" doc:"What the latest vote made of the gate."`
	DecidedAt *time.Time   `json:"decidedAt,omitempty" doc:"When the latest vote was cast."`
	CreatedBy op.UUID      `json:"createdBy" doc:"The user who created the gate."`
	CreatedAt time.Time    `json:"createdAt" doc:"When the gate was created."`
	UpdatedAt time.Time    `json:"updatedAt" doc:"When the gate last changed."`
	Reviews   []GateReview `json:"reviews" doc:"The votes that count, one a reviewer, the earliest first."`
}

// GateReview is a reviewer's vote. A later one replaces it.
type GateReview struct {
	ID         op.UUID       `json:"id" doc:"The review's id."`
	Reviewer   op.UUID       `json:"reviewer" doc:"The user who voted."`
	Vote       string        `json:"vote" enum:"PASS|FAIL|WAIVE|HOLD" doc:"The vote."`
	Reason     string        `json:"reason" doc:"Why. Untrusted text."`
	Criteria   []GateFinding `json:"criteria" doc:"What the reviewer found of the gate's criteria."`
	ReviewedAt time.Time     `json:"reviewedAt" doc:"When the vote was cast."`
}

// GateFinding is what a reviewer found of one criterion.
type GateFinding struct {
	Criterion string `json:"criterion" doc:"The criterion, as the gate had it at the time. Untrusted text."`
	Met       bool   `json:"met" doc:"Whether it is met."`
}

// CreateGateIn describes a gate to be.
type CreateGateIn struct {
	ProjectID op.UUID  `path:"projectId" format:"uuid" doc:"The project's id."`
	StageID   op.UUID  `json:"stageId" required:"true" format:"uuid" doc:"The stage of the project that the gate comes after. A stage has one gate: 409 for a second."`
	Name      string   `json:"name" required:"true" maxLength:"200" doc:"The gate's name."`
	Criteria  []string `json:"criteria" maxLength:"50" doc:"What reviewers hold the stage against: different texts of 1 to 500 characters."`
}

// CreateGate puts a gate after a stage.
var CreateGate = op.New[CreateGateIn, Gate](op.Spec{
	Name: "create-gate", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/gates", Permission: PermGateCreate, Effect: op.Write, Status: 201,
	Summary: "Put a gate after a stage.",
})

// UpdateGateIn holds what is to change of a gate.
type UpdateGateIn struct {
	ProjectID op.UUID          `path:"projectId" format:"uuid" doc:"The project's id."`
	GateID    op.UUID          `path:"gateId" format:"uuid" doc:"The gate's id."`
	Name      op.Opt[string]   `json:"name" minLength:"1" maxLength:"200" doc:"A new name."`
	Criteria  op.Opt[[]string] `json:"criteria" maxLength:"50" doc:"The whole new list of criteria; null clears it. Votes keep what they found."`
}

// UpdateGate changes a gate.
var UpdateGate = op.New[UpdateGateIn, Gate](op.Spec{
	Name: "update-gate", Module: Module, Method: "PATCH", Path: "/api/projects/{projectId}/gates/{gateId}", Permission: PermGateUpdate, Effect: op.Write,
	Summary:     "Change a gate.",
	Description: "Only the fields that are given change. Its status follows from votes alone.",
})

// DeleteGateIn names a gate to delete.
type DeleteGateIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	GateID    op.UUID `path:"gateId" format:"uuid" doc:"The gate's id."`
}

// DeleteGate deletes a gate.
var DeleteGate = op.New[DeleteGateIn, op.None](op.Spec{
	Name: "delete-gate", Module: Module, Method: "DELETE", Path: "/api/projects/{projectId}/gates/{gateId}", Permission: PermGateDelete, Effect: op.Destroy, Status: 204,
	Summary:     "Delete a gate for good.",
	Description: "Its votes are deleted with it; the audit log keeps them. Stages stay as they are.",
})

// ReviewGateIn is a vote.
type ReviewGateIn struct {
	ProjectID op.UUID       `path:"projectId" format:"uuid" doc:"The project's id."`
	GateID    op.UUID       `path:"gateId" format:"uuid" doc:"The gate's id."`
	Vote      string        `json:"vote" required:"true" enum:"PASS|FAIL|WAIVE|HOLD" doc:"PASS passes the gate and starts the next stage; WAIVE does so too, but needs gates.waive and a reason; FAIL marks the gate FAILED, HOLD marks it HELD, and both leave the stages."`
	Reason    string        `json:"reason" maxLength:"5000" doc:"Why; required for WAIVE."`
	Criteria  []GateFinding `json:"criteria" maxLength:"50" doc:"What was found of the gate's criteria, each named by its text."`
}

// GateReviewOutcome is what a vote has done.
type GateReviewOutcome struct {
	Gate       Gate   `json:"gate" doc:"The gate with all votes that count."`
	Progressed *Stage `json:"progressed,omitempty" doc:"The stage that the vote has started, where it has."`
}

// ReviewGate casts the caller's vote at a gate.
var ReviewGate = op.New[ReviewGateIn, GateReviewOutcome](op.Spec{
	Name: "review-gate", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/gates/{gateId}/reviews", Permission: PermGateReview, Effect: op.Write,
	Summary:     "Vote at a gate.",
	Description: "A later vote of the same reviewer replaces the former one. The gate's status is what the latest vote made of it.",
})
