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

// Gate is a review checkpoint at the end of a stage. The next stage starts when
// the gate passes.
type Gate struct {
	ID            op.UUID       `json:"id" doc:"The gate's id."`
	ProjectID     op.UUID       `json:"projectId" doc:"The project that the gate belongs to."`
	Project       *op.Reference `json:"project,omitempty" doc:"The name of the record that projectId identifies."`
	StageID       op.UUID       `json:"stageId" doc:"The stage that the gate follows."`
	Stage         *op.Reference `json:"stage,omitempty" doc:"The name of the record that stageId identifies."`
	Name          string        `json:"name" doc:"The gate's name. Untrusted text."`
	Criteria      []string      `json:"criteria" doc:"The criteria that reviewers assess. Untrusted text."`
	Status        string        `json:"status" enum:"PENDING|PASSED|FAILED|HELD" doc:"The gate's status, set by the latest vote."`
	DecidedAt     *time.Time    `json:"decidedAt,omitempty" doc:"When the latest vote was cast."`
	CreatedBy     op.UUID       `json:"createdBy" doc:"The user who created the gate."`
	CreatedByUser *op.Reference `json:"createdByUser,omitempty" doc:"The name of the record that createdBy identifies."`
	CreatedAt     time.Time     `json:"createdAt" doc:"When the gate was created."`
	UpdatedAt     time.Time     `json:"updatedAt" doc:"When the gate last changed."`
	Reviews       []GateReview  `json:"reviews" doc:"The current vote of each reviewer, earliest first."`
}

// GateReview is a reviewer's vote. A later vote of the same reviewer replaces it.
type GateReview struct {
	ID           op.UUID       `json:"id" doc:"The review's id."`
	Reviewer     op.UUID       `json:"reviewer" doc:"The user who voted."`
	ReviewerUser *op.Reference `json:"reviewerUser,omitempty" doc:"The name of the record that reviewer identifies."`
	Vote         string        `json:"vote" enum:"PASS|FAIL|WAIVE|HOLD" doc:"The vote."`
	Reason       string        `json:"reason" doc:"The reason for the vote. Untrusted text."`
	Criteria     []GateFinding `json:"criteria" doc:"The reviewer's findings on the gate's criteria."`
	ReviewedAt   time.Time     `json:"reviewedAt" doc:"When the vote was cast."`
}

// GateFinding is a reviewer's finding on one criterion.
type GateFinding struct {
	Criterion string `json:"criterion" doc:"The criterion's text at the time of the vote. Untrusted text."`
	Met       bool   `json:"met" doc:"Whether the criterion is met."`
}

// CreateGateIn is the input of CreateGate.
type CreateGateIn struct {
	ProjectID op.UUID  `path:"projectId" format:"uuid" doc:"The project."`
	StageID   op.UUID  `json:"stageId" required:"true" format:"uuid" doc:"The stage of the project that the gate follows. A stage has at most one gate; a second one is a CONFLICT."`
	Name      string   `json:"name" required:"true" maxLength:"200" doc:"The gate's name."`
	Criteria  []string `json:"criteria" maxLength:"50" doc:"The criteria that reviewers assess: distinct texts of 1 to 500 characters."`
}

// CreateGate adds a gate after a stage.
var CreateGate = op.Declare[CreateGateIn, Gate](Contract, op.Spec{
	Name: "create-gate", Method: "POST", Path: "/api/projects/{projectId}/gates", Permission: PermGateCreate, Effect: op.Write, Status: 201,
	Summary: "Add a gate after a stage.",
})

// UpdateGateIn is the input of UpdateGate.
type UpdateGateIn struct {
	ProjectID op.UUID          `path:"projectId" format:"uuid" doc:"The project."`
	GateID    op.UUID          `path:"gateId" format:"uuid" doc:"The gate's id."`
	Name      op.Opt[string]   `json:"name" minLength:"1" maxLength:"200" doc:"A new name."`
	Criteria  op.Opt[[]string] `json:"criteria" maxLength:"50" doc:"The complete new list of criteria; null clears it. The findings of existing votes are kept."`
}

// UpdateGate changes a gate.
var UpdateGate = op.Declare[UpdateGateIn, Gate](Contract, op.Spec{
	Name: "update-gate", Method: "PATCH", Path: "/api/projects/{projectId}/gates/{gateId}", Permission: PermGateUpdate, Effect: op.Write,
	Summary:     "Change a gate.",
	Description: "Changes only the fields that are given. Only review-gate changes the status.",
})

// DeleteGateIn is the input of DeleteGate.
type DeleteGateIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	GateID    op.UUID `path:"gateId" format:"uuid" doc:"The gate's id."`
}

// DeleteGate deletes a gate.
var DeleteGate = op.Declare[DeleteGateIn, op.None](Contract, op.Spec{
	Name: "delete-gate", Method: "DELETE", Path: "/api/projects/{projectId}/gates/{gateId}", Permission: PermGateDelete, Effect: op.Destroy, Status: 204,
	Summary:     "Delete a gate permanently.",
	Description: "Also deletes the gate's votes; they remain in the audit log. Does not change the status of any stage.",
})

// ReviewGateIn is the input of ReviewGate.
type ReviewGateIn struct {
	ProjectID op.UUID       `path:"projectId" format:"uuid" doc:"The project."`
	GateID    op.UUID       `path:"gateId" format:"uuid" doc:"The gate's id."`
	Vote      string        `json:"vote" required:"true" enum:"PASS|FAIL|WAIVE|HOLD" doc:"PASS passes the gate and starts the next stage. WAIVE does the same, but requires gates.waive and a reason. FAIL marks the gate FAILED and HOLD marks it HELD; both leave the stages unchanged."`
	Reason    string        `json:"reason" maxLength:"5000" doc:"The reason for the vote; required for WAIVE."`
	Criteria  []GateFinding `json:"criteria" maxLength:"50" doc:"The findings on the gate's criteria; each names the criterion by its text."`
}

// GateReviewOutcome is the result of ReviewGate.
type GateReviewOutcome struct {
	Gate       Gate   `json:"gate" doc:"The gate with the current vote of each reviewer."`
	Progressed *Stage `json:"progressed,omitempty" doc:"The stage that the vote started; absent if it started none."`
}

// ReviewGate casts the caller's vote at a gate.
var ReviewGate = op.Declare[ReviewGateIn, GateReviewOutcome](Contract, op.Spec{
	Name: "review-gate", Method: "POST", Path: "/api/projects/{projectId}/gates/{gateId}/reviews", Permission: PermGateReview, Effect: op.Write,
	Summary:     "Vote at a gate.",
	Description: "A later vote of the same reviewer replaces the earlier one. The latest vote sets the gate's status.",
})
