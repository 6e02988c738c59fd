package identity

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// explainDecision explains what the policies decide about an operation on a record, for
// the caller or for another user.
func (s *Service) explainDecision(ctx context.Context, c *executor.Call, in *contract.ExplainDecisionIn) (*contract.Explanation, error) {
	out := &contract.Explanation{Operation: in.Operation, UserID: c.Actor.UserID, Reasons: []contract.ExplanationReason{}}
	var other *executor.ExplainedUser
	inactive := false
	if in.UserID != "" && in.UserID != c.Actor.UserID {
		u, err := decideExplanation(ctx, c, in.UserID)
		if err != nil {
			return nil, err
		}
		other, out.UserID = &executor.ExplainedUser{ID: u.ID, Kind: u.PrincipalKind}, u.ID
		inactive = !isActive(&u)
	}
	operations := s.deps.Operations()
	// Tools have the names of operations with underscores.
	out.Operation = strings.ReplaceAll(in.Operation, "_", "-")
	i := slices.IndexFunc(operations, func(b op.Bound) bool { return b.Name == out.Operation })
	if i < 0 {
		return nil, fault.Validation("operation", fmt.Sprintf("There is no operation %q. Use the name of an operation, such as update-task.", in.Operation))
	}
	b := operations[i]
	if b.Grant != b.Permission {
		return nil, fault.Validation("operation", "The decision about "+b.Name+" cannot be explained, because one of several permissions is enough for it.")
	}
	input, err := explainedInput(b.Operation, in)
	if err != nil {
		return nil, err
	}
	e, err := c.Explain(ctx, b, input, other)
	if err != nil {
		return nil, err
	}
	if other == nil && e.Fault != nil && e.Fault.Code == fault.CodeNotFound {
		return nil, e.Fault
	}
	fillExplanation(out, b.Operation, &e)
	if inactive && out.Allow {
		out.Allow = false
		out.Reasons = append(out.Reasons, contract.ExplanationReason{Code: "account_not_active", Message: "The user's account or membership is not active.", Remedy: "Activate the account or the membership."})
	}
	if other != nil && out.DelegationID != "" && !mayReadDelegations(ctx, c) {
		// As in get-access: only who may read delegations learns which one it is.
		out.OnBehalfOf, out.DelegationID = "", ""
	}
	return out, nil
}

// decideExplanation decides whether the caller may ask about a user, and returns the user.
func decideExplanation(ctx context.Context, c *executor.Call, user op.UUID) (contract.User, error) {
	if err := c.Decide(ctx, contract.ListDecisions.Permission, tenantResource(c, "decision log")); err != nil {
		return contract.User{}, err
	}
	u, resource, err := loadUser(ctx, c, user, false)
	if err == nil {
		err = c.Decide(ctx, contract.GetUser.Permission, resource)
	}
	if err == nil && u.PrincipalKind == contract.KindService {
		err = fault.Validation("userId", "The user is a service principal, whose authority depends on its key. Use the key to ask about itself.")
	}
	return u, err
}

func fillExplanation(out *contract.Explanation, o *op.Operation, e *executor.Explanation) {
	out.Permission, out.Allow, out.Revision = o.Permission, e.Fault == nil, e.Decision.Revision
	if b := e.Decision.OnBehalfOf; b != nil {
		out.OnBehalfOf, out.DelegationID = op.UUID(b.Delegator), op.UUID(b.Delegation)
	}
	if e.Fault == nil {
		out.ResourceType, out.ResourceID = e.Resource.Type, e.Resource.ID
		return
	}
	out.Hidden = e.Fault.Code == fault.CodeNotFound
	if out.Hidden {
		return
	}
	out.ResourceType, out.ResourceID = e.Resource.Type, e.Resource.ID
	for _, r := range e.Fault.Reasons {
		out.Reasons = append(out.Reasons, contract.ExplanationReason{Code: r.Code, Message: r.Message, Remedy: r.Remedy})
	}
	if len(out.Reasons) == 0 {
		out.Reasons = append(out.Reasons, contract.ExplanationReason{Code: string(e.Fault.Code), Message: e.Fault.Message})
	}
}

// explainedInput returns an input of the operation that names only the record. The
// parameter projectId is the given project, or the prefix of the task key. Other fields
// have their defaults, or example values if they are required: operations check them before
// the decision, which does not depend on them.
func explainedInput(o *op.Operation, in *contract.ExplainDecisionIn) (any, error) {
	input := reflect.New(o.In)
	target := o.RecordField()
	if op.TaskKeyPrefix(in.Record) != "" && o.HasField("taskId") {
		target = "taskId"
	}
	values := map[string]string{target: in.Record}
	if target != "projectId" {
		values["projectId"] = string(in.ProjectID)
		isTaskInPath := slices.Contains(o.PathParts(), "projectId") && (target == "task" || target == "taskId")
		if in.ProjectID == "" && isTaskInPath {
			values["projectId"] = op.TaskKeyPrefix(in.Record)
		}
	}
	switch {
	case target == "" && in.Record != "":
		return nil, fault.Validation("record", "Omit record: "+o.Name+" is not about an existing record.")
	case in.Record == "" && o.RequiresRecord():
		return nil, fault.Validation("record", "The parameter record is required for "+o.Name+".")
	}
	for _, f := range o.Fields {
		value, isSet := values[f.Name]
		switch {
		case f.Source == op.FromPath && f.Name == "projectId" && value == "":
			return nil, fault.Validation("projectId", "The parameter projectId is required, because the record is not a task key such as HW-3.")
		case f.Source == op.FromPath && !isSet && target != "task":
			return nil, fault.Validation("operation", "The decision about "+o.Name+" cannot be explained, because it is about more than one record.")
		case isSet && value != "" && f.Type.Kind() == reflect.String:
			if id, err := op.ParseUUID(value); err == nil {
				value = string(id)
			}
			input.Elem().Field(f.Index).SetString(value)
		}
	}
	return input.Interface(), o.FillRequiredFields(input.Interface())
}
