package identity

import (
	"context"
	"errors"
	"strings"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/token"
	"parapet/internal/uid"
)

// Values of contract.Key.Kind.
const (
	keyPersonal = "PERSONAL"
	keyService  = "SERVICE"
)

func (s *Service) keyOperations() []op.Bound {
	return []op.Bound{
		executor.CustomDecision(s.executor, contract.IssueServiceKey, s.issueServiceKey),
		executor.CustomDecision(s.executor, contract.IssueKey, s.issueKey),
		executor.Authenticated(s.executor, contract.ListKeys, s.listKeys),
		executor.Authenticated(s.executor, contract.RevokeKey, s.revokeKey),
	}
}

func (s *Service) issueServiceKey(ctx context.Context, c *executor.Call, in *contract.IssueServiceKeyIn) (*contract.IssuedKey, error) {
	// Lock the grants, so that the key is issued for the grants that the policies have
	// checked.
	if err := lockGrants(ctx, c.DB, c.Tenant); err != nil {
		return nil, err
	}
	target, held, err := readPrincipal(ctx, c.DB, c.Tenant, in.TargetUserID)
	request := authz.IssueServiceKey{Actor: c.Actor.Subject, Settings: s.deps.Keys}
	switch {
	case err == nil:
		request.Target = servicePrincipal(c.Tenant, target, held)
	case !postgres.IsNoRows(err):
		return nil, err
	}
	v, err := c.Evaluate(ctx, request)
	if err := verdictError(v, err, "service principal"); err != nil {
		return nil, err
	}
	roles, scopes := tokenRoles(held, nil)
	return s.createKey(ctx, c, newKey{
		kind: keyService, label: in.Label, days: v.Days,
		claims: token.Claims{
			Subject: target.ID, Roles: roles, RoleScopes: scopes, PrincipalKind: target.Kind, Clearance: target.Clearance, Email: target.Email,
		},
		changes: map[string]any{"integrationKey": target.IntegrationKey},
	})
}

func (s *Service) issueKey(ctx context.Context, c *executor.Call, in *contract.IssueKeyIn) (*contract.IssuedKey, error) {
	active, err := countActiveKeys(ctx, c.DB, c.Tenant, c.Actor.UserID, c.Now)
	if err != nil {
		return nil, err
	}
	v, err := c.Evaluate(ctx, authz.IssueSelfKey{
		Actor: c.Actor.Subject, ExpiresInDays: in.ExpiresInDays, ActiveKeys: active, Settings: s.deps.Keys,
	})
	if err := verdictError(v, err, "key"); err != nil {
		return nil, err
	}
	self, held, err := readPrincipal(ctx, c.DB, c.Tenant, c.Actor.UserID)
	if err != nil {
		return nil, err
	}
	// A key gets only roles that are effective in this session; roles that are assigned but
	// not in the session's token are left out.
	roles, scopes := tokenRoles(held, c.Actor.Subject.Roles())
	clearance := self.Clearance
	if clearance != "" {
		clearance = c.Actor.Subject.Clearance()
	}
	return s.createKey(ctx, c, newKey{
		kind: keyPersonal, label: in.Label, days: v.Days,
		claims: token.Claims{
			Subject: self.ID, Roles: roles, RoleScopes: scopes, PrincipalKind: self.Kind, Clearance: clearance, Email: self.Email,
		},
	})
}

// newKey is a key that the policies have allowed to issue.
type newKey struct {
	kind, label string
	days        int
	claims      token.Claims
	changes     map[string]any
}

// createKey stores the key's record and signs its token. All keys are issued here.
func (s *Service) createKey(ctx context.Context, c *executor.Call, n newKey) (*contract.IssuedKey, error) {
	claims := n.claims
	claims.ID, claims.Tenant = uid.New(), c.Tenant
	claims.IssuedAt = c.Now.Truncate(time.Second)
	claims.ExpiresAt = claims.IssuedAt.Add(op.Days(n.days))
	text, err := s.deps.Tokens.Issue(claims, token.APIKey)
	if errors.Is(err, token.ErrTooLong) {
		return nil, fault.Conflict("The owner of the key holds roles in more scopes than a key can contain. " +
			"Ask an administrator to assign the roles in an organisation or in the whole tenant.")
	}
	if err != nil {
		return nil, err
	}
	k := contract.Key{
		ID: claims.ID, JTI: claims.ID, Label: strings.TrimSpace(n.label), Owner: claims.Subject, TenantID: c.Tenant, Kind: n.kind,
		Expiry: claims.ExpiresAt, CreatedBy: c.Actor.UserID, CreatedAt: c.Now,
	}
	if err := insertKey(ctx, c.DB, k, claims); err != nil {
		return nil, err
	}
	changes := map[string]any{"actor": c.Actor.UserID, "subject": k.Owner, "kind": k.Kind, "days": n.days, "expiry": k.Expiry, "roles": claims.Roles}
	for name, value := range n.changes {
		changes[name] = value
	}
	c.Record(executor.Change{
		Action: contract.ActionKeyIssued, Type: "api_key", ID: k.ID, Critical: true,
		Details: changes,
		Event:   contract.EventKeyIssued, EventAbout: k.Owner, Payload: k,
	})
	return &contract.IssuedKey{
		Token: text, ID: k.ID, JTI: k.JTI, Label: k.Label, Owner: k.Owner, TenantID: k.TenantID, Kind: k.Kind,
		Expiry: k.Expiry, CreatedBy: k.CreatedBy, CreatedAt: k.CreatedAt,
	}, nil
}

func (s *Service) listKeys(ctx context.Context, c *executor.Call, in *contract.ListKeysIn) (*op.Page[contract.Key], error) {
	owner := c.Actor.UserID
	request := authz.ListKeys{Actor: c.Actor.Subject}
	if in.ServiceUserID != "" {
		owner = in.ServiceUserID
		request.Owner = &authz.KeyOwner{ID: string(owner)}
		p, _, err := readPrincipal(ctx, c.DB, c.Tenant, owner)
		switch {
		case err == nil:
			request.Owner.Tenant, request.Owner.Kind = string(c.Tenant), p.Kind
		case !postgres.IsNoRows(err):
			return nil, err
		}
	}
	if err := requireListPermission(ctx, c, request); err != nil {
		return nil, err
	}
	after, err := op.ReadTimeCursor(in.Cursor, contract.ListKeys.Name, c.Tenant)
	if err != nil {
		return nil, err
	}
	rows, err := readKeys(ctx, c.DB, c.Tenant, owner, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := op.NewPage(rows, in.Limit, func(last *keyRow) string {
		return op.NewCursor(contract.ListKeys.Name, c.Tenant, op.CursorTime(last.CreatedAt), string(last.JTI))
	})
	return op.MapPage(page, (*keyRow).toContract), nil
}

func requireListPermission(ctx context.Context, c *executor.Call, request authz.ListKeys) error {
	v, err := c.Evaluate(ctx, request)
	return verdictError(v, err, "service principal")
}

func (s *Service) revokeKey(ctx context.Context, c *executor.Call, in *contract.RevokeKeyIn) (*contract.Key, error) {
	row, err := lockKey(ctx, c.DB, c.Tenant, in.KeyID)
	request := authz.RevokeKey{
		Actor: c.Actor.Subject, ServiceOwned: in.ServiceOwned, Key: authz.Key{JTI: string(in.KeyID)},
	}
	switch {
	case err == nil:
		request.Key.Tenant = string(row.TenantID)
		request.Key.Owner = authz.KeyOwner{ID: string(row.OwnerID), Tenant: string(row.TenantID), Kind: row.OwnerKind}
	case !postgres.IsNoRows(err):
		return nil, err
	}
	v, err := c.Evaluate(ctx, request)
	if err := verdictError(v, err, "API key"); err != nil {
		return nil, err
	}
	reason := strings.TrimSpace(in.Reason)
	if in.ServiceOwned && reason == "" {
		return nil, fault.Validation("reason", "The field reason is required to revoke a key of a service principal.")
	}
	if row.RevokedAt != nil {
		// Nothing changes, so the caller must be allowed to read the record.
		list := authz.ListKeys{Actor: c.Actor.Subject}
		if in.ServiceOwned {
			list.Owner = &request.Key.Owner
		}
		if err := requireListPermission(ctx, c, list); err != nil {
			return nil, err
		}
		k := row.toContract()
		return &k, nil
	}
	if err := revokeKeyRow(ctx, c.DB, c.Tenant, row.JTI, c.Actor.UserID, reason, c.Now); err != nil {
		return nil, err
	}
	row.RevokedAt, row.RevokedBy, row.RevokeReason = &c.Now, &c.Actor.UserID, reason
	k := row.toContract()
	c.Record(executor.Change{
		Action: contract.ActionKeyRevoked, Type: "api_key", ID: k.ID, Critical: true,
		Fields: []string{"revokedAt", "revokedBy", "revokeReason"}, Details: auditChanges{"actor": c.Actor.UserID, "subject": k.Owner, "kind": k.Kind, "serviceOwned": in.ServiceOwned}.withReason(reason),
		Event: contract.EventKeyRevoked, EventAbout: k.Owner, Payload: k,
	})
	return &k, nil
}

// verdictError returns nil if the policies allow the request, and otherwise their denial as
// an error. noun is the record type in a NOT_FOUND error.
func verdictError(v authz.Verdict, err error, noun string) error {
	if err == nil && v.Allow {
		return nil
	}
	if v.Code == "NOT_FOUND" {
		return fault.NotFound(noun)
	}
	if len(v.Explained) == 0 {
		return fault.ForbiddenTenant().WithCause(err)
	}
	switch message := v.Explained[0].Message; v.Code {
	case "CONFLICT":
		return fault.Conflict(message).WithDetails(map[string]any{"reasons": v.Reasons}).WithReasons(v.Explained)
	case "VALIDATION":
		return fault.Validation(v.Field, message).WithDetails(map[string]any{"cap": v.Cap}).WithReasons(v.Explained)
	}
	return fault.Denied(v.Permission, v.Explained).WithCause(err)
}
