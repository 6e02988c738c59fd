package tracker

import (
	"context"
	"strings"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// candidate asks the directory for a user, in the policies' words.
func (s *Service) candidate(ctx context.Context, c *executor.Call, idOrEmail string) (authz.Candidate, error) {
	found, err := s.directory.Candidate(ctx, c.Tenant, idOrEmail)
	if err != nil {
		return authz.Candidate{}, err
	}
	who := authz.Candidate{
		ID: string(found.ID), Tenant: string(found.TenantID), Kind: found.Kind, Status: found.Status, Membership: found.Membership,
		Clearance: found.Clearance, AgentsAllowed: found.AgentsAllowed,
	}
	for _, r := range found.Roles {
		who.Roles = append(who.Roles, authz.HeldRole{Name: r.Name, Kind: r.Kind, Scope: r.Scope, ScopeID: r.ScopeID, Grants: r.Grants})
	}
	return who, nil
}

// checkAssignable refuses a user who can't be given work of this classification.
func (s *Service) checkAssignable(ctx context.Context, c *executor.Call, field string, user op.UUID, classification string) error {
	_, err := s.assignable(ctx, c, field, user, classification)
	return err
}

// assignable is checkAssignable for a caller who wants to know who the user is.
func (s *Service) assignable(ctx context.Context, c *executor.Call, field string, user op.UUID, classification string) (*authz.Candidate, error) {
	who, err := s.candidate(ctx, c, string(user))
	if err != nil {
		return nil, err
	}
	v, err := c.Evaluate(ctx, authz.Assign{
		Actor: c.Actor.Subject, Candidate: who,
		Resource: authz.Resource{Type: "task", Tenant: string(c.Tenant), Classification: classification},
	})
	if err == nil && v.Allow {
		return &who, nil
	}
	return nil, verdictError(v, err, field, "task")
}

// actingAgent is the agent that the caller speaks for on the resource, named by id
// or e-mail address. Nobody but an ACTIVE synthetic agent of the tenant that could
// be given the work fits; whoever may not act on the resource for others is told
// which permission is missing.
func (s *Service) actingAgent(ctx context.Context, c *executor.Call, agent string, resource authz.Resource) (op.UUID, error) {
	who, err := s.candidate(ctx, c, agent)
	if err != nil {
		return "", err
	}
	v, err := c.Evaluate(ctx, authz.ActAsAgent{Actor: c.Actor.Subject, Agent: who, Resource: resource})
	if err == nil && v.Allow {
		return op.UUID(who.ID), nil
	}
	return "", verdictError(v, err, "agent", resource.Type)
}

// requireCanRaise refuses a decision request that is not the acting identity's to raise.
func requireCanRaise(ctx context.Context, c *executor.Call, acting op.UUID, assignee *op.UUID, category string, resource authz.Resource) error {
	return evaluateCustom(ctx, c, resource.Type, authz.RaiseDecision{
		Actor: c.Actor.Subject, Acting: string(acting), Resource: resource, Assignee: text(assignee), Category: category,
	})
}

// requireCanCancel refuses to cancel a decision request that the caller neither raised
// nor may cancel for others.
func requireCanCancel(ctx context.Context, c *executor.Call, raisedBy op.UUID, resource authz.Resource) error {
	return evaluateCustom(ctx, c, resource.Type, authz.CancelDecision{Actor: c.Actor.Subject, RaisedBy: string(raisedBy), Resource: resource})
}

// requireCanRelease refuses to give back a claim that the caller neither holds nor may
// give back for others.
func requireCanRelease(ctx context.Context, c *executor.Call, holder op.UUID, resource authz.Resource) error {
	return evaluateCustom(ctx, c, resource.Type, authz.ReleaseClaim{Actor: c.Actor.Subject, Holder: string(holder), Resource: resource})
}

// evaluateCustom puts a question about work; a nil error is an allow.
func evaluateCustom(ctx context.Context, c *executor.Call, noun string, q authz.CustomDecision) error {
	v, err := c.Evaluate(ctx, q)
	if err == nil && v.Allow {
		return nil
	}
	return verdictError(v, err, "", noun)
}

// verdictError is the error for a question about work that the policies did not allow, in the
// words of their first reason. The field is the one that a VALIDATION names where the
// policies name none.
func verdictError(v authz.Verdict, err error, field, noun string) error {
	if v.Code == "NOT_FOUND" {
		return fault.NotFound(noun)
	}
	if err != nil || len(v.Explained) == 0 {
		return fault.Denied(contract.PermTasksUpdateAny, v.Explained).WithCause(err)
	}
	var f *fault.Error
	switch first := v.Explained[0]; v.Code {
	case "VALIDATION":
		if v.Field != "" {
			field = v.Field
		}
		f = fault.Validation(field, first.Message)
	case "CONFLICT":
		f = fault.Conflict(first.Message)
	default:
		return fault.Denied(v.Permission, v.Explained)
	}
	if v.Cap > 0 {
		f = f.WithDetails(map[string]any{"limit": v.Cap})
	}
	return f.WithReason(strings.ToUpper(v.Reasons[0])).WithReasons(v.Explained)
}
