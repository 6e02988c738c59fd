package identity

import "parapet/internal/op"

// ExplainDecisionIn is the input of ExplainDecision.
type ExplainDecisionIn struct {
	Operation string  `query:"operation" required:"true" maxLength:"64" doc:"The name of an operation on one record, such as update-task, or of one that creates a record, such as create-project."`
	Record    string  `query:"record" maxLength:"254" doc:"The record: its id, key or name. For an operation that creates a record, the record in which it does so, such as the project for create-task; absent if that is the tenant, as for create-project."`
	ProjectID op.UUID `query:"projectId" doc:"The project of the record, if the record is not a task key."`
	UserID    op.UUID `query:"userId" doc:"The user to explain the decision for. Default: the caller."`
}

// Explanation is what the policies decide about an operation on a record, and why.
type Explanation struct {
	Operation      string              `json:"operation" doc:"The operation."`
	Permission     string              `json:"permission" doc:"The permission that the operation needs for the record."`
	UserID         op.UUID             `json:"userId" doc:"The user that the explanation is about."`
	User           *op.Reference       `json:"user,omitempty" doc:"The name of the record that userId identifies."`
	Allow          bool                `json:"allow" doc:"Whether the policies allow the operation. An operation can have more rules, for example for single fields."`
	Hidden         bool                `json:"hidden" doc:"Whether the user gets NOT_FOUND, as for a record that does not exist."`
	Reasons        []ExplanationReason `json:"reasons" doc:"The reasons of a denial; empty if the operation is allowed or the record is hidden."`
	OnBehalfOf     op.UUID             `json:"onBehalfOf,omitempty" doc:"The delegator, if only a delegation allows the operation; for another user, only if the caller may read delegations."`
	OnBehalfOfUser *op.Reference       `json:"onBehalfOfUser,omitempty" doc:"The name of the record that onBehalfOf identifies."`
	DelegationID   op.UUID             `json:"delegationId,omitempty" doc:"The delegation that allows the operation; absent if the user's own permissions do."`
	ResourceType   string              `json:"resourceType,omitempty" doc:"The type of the record as the policies see it; absent if the user holds the permission in no scope."`
	ResourceID     string              `json:"resourceId,omitempty" doc:"The id of the record; absent for a record that would be created."`
	Revision       string              `json:"revision,omitempty" doc:"The revision of the policies that decided."`
}

// ExplanationReason is a reason of a denial.
type ExplanationReason struct {
	Code    string `json:"code" doc:"The reason code; policies/README.md explains it."`
	Message string `json:"message" doc:"The reason in words."`
	Remedy  string `json:"remedy" doc:"What can be done about it."`
}

// ExplainDecision explains a decision of the policies without carrying out the operation.
var ExplainDecision = op.Declare[ExplainDecisionIn, Explanation](Contract, op.Spec{
	Name: "explain-decision", Method: "GET", Path: "/api/explain-decision", Access: op.Authenticated, Effect: op.Read,
	Summary: "Explain whether an operation is allowed",
	Description: "Evaluates the policies for the operation without carrying it out. Everybody may ask about themselves. To ask about another user, the caller needs " +
		"decision_log.read in the whole tenant and user.read for the user, and must be able to see the record. Lists and operations on several records are not supported.",
})
