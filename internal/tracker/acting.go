package tracker

import (
	"context"

	"parapet/internal/authz"
	"parapet/internal/executor"
	"parapet/internal/op"
)

// loadCandidate reads a user from the directory and converts it to policy input.
func (s *Service) loadCandidate(ctx context.Context, c *executor.Call, idOrEmail string) (authz.Candidate, error) {
	found, err := s.directory.Candidate(ctx, c.Tenant, idOrEmail)
	if err != nil {
		return authz.Candidate{}, err
	}
	candidate := authz.Candidate{
		ID: string(found.ID), Tenant: string(found.TenantID), Kind: found.Kind, Status: found.Status, Membership: found.Membership,
		Clearance: found.Clearance, AgentsAllowed: found.AgentsAllowed,
	}
	for _, r := range found.Roles {
		candidate.Roles = append(candidate.Roles, authz.HeldRole{Name: r.Name, Kind: r.Kind, Scope: r.Scope, ScopeID: r.ScopeID, Grants: r.Grants})
	}
	return candidate, nil
}

// checkAssignable returns an error if work of this classification cannot be
// assigned to the user. field is the request field that a VALIDATION error names.
func (s *Service) checkAssignable(ctx context.Context, c *executor.Call, field string, user op.UUID, classification string) error {
	_, err := s.loadAssignable(ctx, c, field, user, classification)
	return err
}

// loadAssignable is like checkAssignable and also returns the user.
func (s *Service) loadAssignable(ctx context.Context, c *executor.Call, field string, user op.UUID, classification string) (*authz.Candidate, error) {
	candidate, err := s.loadCandidate(ctx, c, string(user))
	if err != nil {
		return nil, err
	}
	v, err := c.Evaluate(ctx, authz.Assign{
		Actor: c.Actor.Subject, Candidate: candidate,
		Resource: authz.Resource{Type: "task", Tenant: string(c.Tenant), Classification: classification},
	})
	if err == nil && v.Allow {
		return &candidate, nil
	}
	return nil, executor.VerdictError(v, err, field, "task")
}

// resolveActingAgent returns the id of the agent that the caller acts for. agent is its id
// or email address. It returns an error if the agent is not an ACTIVE synthetic agent of
// the tenant, if the resource cannot be assigned to it, or if the caller may not act for
// others on the resource.
func (s *Service) resolveActingAgent(ctx context.Context, c *executor.Call, agent string, resource authz.Resource) (op.UUID, error) {
	candidate, err := s.loadCandidate(ctx, c, agent)
	if err != nil {
		return "", err
	}
	v, err := c.Evaluate(ctx, authz.ActAsAgent{Actor: c.Actor.Subject, Agent: candidate, Resource: resource})
	if err == nil && v.Allow {
		return op.UUID(candidate.ID), nil
	}
	return "", executor.VerdictError(v, err, "agent", resource.Type)
}

// requireCanRaiseDecision returns an error unless the acting user or agent may raise
// a decision request on a task with this assignee and status category.
func requireCanRaiseDecision(ctx context.Context, c *executor.Call, acting op.UUID, assignee *op.UUID, category string, resource authz.Resource) error {
	return evaluateCustomDecision(ctx, c, resource.Type, authz.RaiseDecision{
		Actor: c.Actor.Subject, Acting: string(acting), Resource: resource, Assignee: idText(assignee), Category: category,
	})
}

// requireCanCancelDecision returns an error unless the caller raised the decision
// request or may cancel requests of others.
func requireCanCancelDecision(ctx context.Context, c *executor.Call, raisedBy op.UUID, resource authz.Resource) error {
	return evaluateCustomDecision(ctx, c, resource.Type, authz.CancelDecision{Actor: c.Actor.Subject, RaisedBy: string(raisedBy), Resource: resource})
}

// requireCanReleaseLease returns an error unless the caller holds the lease or may
// release leases of others.
func requireCanReleaseLease(ctx context.Context, c *executor.Call, holder op.UUID, resource authz.Resource) error {
	return evaluateCustomDecision(ctx, c, resource.Type, authz.ReleaseClaim{Actor: c.Actor.Subject, Holder: string(holder), Resource: resource})
}

// evaluateCustomDecision evaluates a custom decision. It returns nil if the policies
// allow it, otherwise an error; noun names the resource in a NOT_FOUND error.
func evaluateCustomDecision(ctx context.Context, c *executor.Call, noun string, decision authz.CustomDecision) error {
	v, err := c.Evaluate(ctx, decision)
	if err == nil && v.Allow {
		return nil
	}
	return executor.VerdictError(v, err, "", noun)
}
