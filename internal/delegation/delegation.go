package delegation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

// scope is the delegator and the scope of a new delegation. resource is the
// policy input of that scope.
type scope struct {
	delegator    op.UUID
	projectID    op.UUID
	initiativeID op.UUID
	resource     authz.Resource
}

// loadScope reads and locks the project or initiative of the new
// delegation. In the policy input the delegator is the creator; the delegate is not
// the owner, because receiving a delegation must not allow creating it.
func (s *Service) loadScope(ctx context.Context, c *executor.Call, in *contract.CreateDelegationIn) (scope, authz.Resource, error) {
	place := scope{delegator: in.Delegator, projectID: in.ProjectID, initiativeID: in.InitiativeID}
	if place.delegator == "" {
		place.delegator = c.Actor.UserID
	}
	for _, p := range []struct {
		field, scope string
		id           op.UUID
	}{{"projectId", contract.DelegationProject, in.ProjectID}, {"initiativeId", contract.DelegationInitiative, in.InitiativeID}} {
		switch {
		case in.Scope == p.scope && p.id == "":
			return place, authz.Resource{}, fault.Validation(p.field, fmt.Sprintf("%s is required when the scope is %s.", p.field, p.scope))
		case in.Scope != p.scope && p.id != "":
			return place, authz.Resource{}, fault.Validation(p.field, fmt.Sprintf("%s is only allowed when the scope is %s.", p.field, p.scope))
		}
	}
	var err error
	switch in.Scope {
	case contract.DelegationProject:
		place.resource, err = s.LockProject(ctx, c, in.ProjectID)
	case contract.DelegationInitiative:
		place.resource, err = s.LockInitiative(ctx, c, in.InitiativeID)
	default:
		place.resource = authz.Resource{Type: "delegation", Tenant: string(c.Tenant), Classification: "UNCLASSIFIED"}
	}
	if err != nil {
		return place, authz.Resource{}, err
	}
	place.resource.ID, place.resource.Owner, place.resource.Creator = "", "", string(place.delegator)
	return place, place.resource, nil
}

func (s *Service) create(ctx context.Context, c *executor.Call, in *contract.CreateDelegationIn, place scope) (*contract.Delegation, error) {
	row := Row{
		ID: uid.New(), DelegatorID: place.delegator, DelegateID: in.Delegate, Scope: in.Scope, ProjectID: postgres.NullIfZero(place.projectID),
		InitiativeID: postgres.NullIfZero(place.initiativeID), CreatedBy: c.Actor.UserID, CreatedAt: c.Now, Classification: place.resource.Classification,
	}
	row.Permissions = slices.Clone(in.Permissions)
	slices.Sort(row.Permissions)
	row.Permissions = slices.Compact(row.Permissions)
	var err error
	if row.StartsAt, row.EndsAt, err = parseDelegationTimes(c.Now, in.From, in.Until); err != nil {
		return nil, err
	}
	if err := s.requireDelegatable(ctx, c, &row, place.resource); err != nil {
		return nil, err
	}
	if err := insertDelegationRow(ctx, c, &row); err != nil {
		return nil, err
	}
	recordDelegation(c, &row, "delegation.created", contract.EventDelegationCreated)
	return s.show(ctx, c, &row)
}

// parseDelegationTimes parses the start and end of a delegation; an empty from means
// now. Whether these times are allowed is decided by the policies.
func parseDelegationTimes(now time.Time, from, until string) (starts, ends time.Time, err error) {
	starts = now
	if from != "" {
		// Unreachable for requests: the contract checks the format.
		if starts, err = time.Parse(time.RFC3339, from); err != nil {
			return starts, ends, fault.Validation("from", "The field from must be a timestamp such as 2027-03-31T17:00:00Z.")
		}
	}
	if ends, err = time.Parse(time.RFC3339, until); err != nil {
		return starts, ends, fault.Validation("until", "The field until must be a timestamp such as 2027-03-31T17:00:00Z.")
	}
	return starts.UTC().Truncate(time.Microsecond), ends.UTC().Truncate(time.Microsecond), nil
}

// requireDelegatable returns an error if the policies deny the delegation: they check
// both users, the scope, the permissions, the times and the number of delegations
// that the delegate already has.
func (s *Service) requireDelegatable(ctx context.Context, c *executor.Call, r *Row, place authz.Resource) error {
	delegator, err := s.LoadCandidate(ctx, c, string(r.DelegatorID))
	if err != nil {
		return err
	}
	delegate, err := s.LoadCandidate(ctx, c, string(r.DelegateID))
	if err != nil {
		return err
	}
	received, err := countReceivedDelegations(ctx, c, r)
	if err != nil {
		return err
	}
	// The directory returns no id for an unknown user. The policies need both ids.
	delegator.ID, delegate.ID = string(r.DelegatorID), string(r.DelegateID)
	v, err := c.Evaluate(ctx, authz.Delegate{
		Actor: c.Actor.Subject, Delegator: delegator, Delegate: delegate, Permissions: r.Permissions, Resource: place,
		Now: c.Now, Starts: r.StartsAt, Ends: r.EndsAt, Received: received,
	})
	if err == nil && v.Allow {
		return nil
	}
	return executor.VerdictError(v, err, "", place.Type)
}

// recordDelegation adds the audit entry and the event of a change. The entry is
// critical because it changes what a user is authorized to do.
func recordDelegation(c *executor.Call, r *Row, action string, event *op.EventType) {
	c.Record(executor.Change{
		Action: action, Type: "delegation", ID: r.ID, Classification: r.Classification, Critical: true,
		Details: map[string]any{
			"delegator": r.DelegatorID, "delegate": r.DelegateID, "scope": r.Scope, "projectId": r.ProjectID, "initiativeId": r.InitiativeID,
			"permissions": r.Permissions, "from": r.StartsAt, "until": r.EndsAt,
		},
		Event: event, Payload: r.toDelegation(c.Now),
	})
}

func loadToRead(ctx context.Context, c *executor.Call, in *contract.DelegationIn) (Row, authz.Resource, error) {
	row, err := loadDelegation(ctx, c, delegationSQL, in.DelegationID)
	return row, row.resource(c.Tenant), err
}

func (s *Service) get(ctx context.Context, c *executor.Call, _ *contract.DelegationIn, row Row) (*contract.Delegation, error) {
	return s.show(ctx, c, &row)
}

// show returns the API object. The initiative is redacted if the caller may not read it.
func (s *Service) show(ctx context.Context, c *executor.Call, r *Row) (*contract.Delegation, error) {
	d := r.toDelegation(c.Now)
	return d, s.RedactInitiatives(ctx, c, &d.InitiativeID)
}

func loadToRevoke(ctx context.Context, c *executor.Call, in *contract.DelegationIn) (Row, authz.Resource, error) {
	row, err := loadDelegation(ctx, c, lockDelegationSQL, in.DelegationID)
	return row, row.resource(c.Tenant), err
}

func (s *Service) revoke(ctx context.Context, c *executor.Call, _ *contract.DelegationIn, row Row) (*contract.Delegation, error) {
	if row.RevokedAt != nil {
		// The response only shows the delegation, so it requires the read permission.
		if err := c.Decide(ctx, contract.PermDelegationsRead, row.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return s.show(ctx, c, &row)
	}
	if err := revokeDelegationRow(ctx, c, &row); err != nil {
		return nil, err
	}
	recordDelegation(c, &row, "delegation.revoked", contract.EventDelegationRevoked)
	return s.show(ctx, c, &row)
}
