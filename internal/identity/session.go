package identity

import (
	"context"
	"log/slog"
	"slices"
	"time"

	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/gate"
	"parapet/internal/op"
	"parapet/internal/password"
	"parapet/internal/postgres"
	"parapet/internal/principal"
	"parapet/internal/token"
	"parapet/internal/uid"
)

// sessionLife is how long a session lasts.
const sessionLife = 12 * time.Hour

func (s *Service) sessionOperations() []op.Bound {
	return []op.Bound{
		gate.Public(s.gate, contract.Login, s.login),
		gate.Open(s.gate, contract.Logout, s.logout),
		gate.Open(s.gate, contract.ChangePassword, s.changePassword),
	}
}

// login proves who it is before it looks at anything else, so that what it says
// about an account, it says to the one who knows its password.
func (s *Service) login(ctx context.Context, in *contract.LoginIn) (*contract.LoginOut, error) {
	client := op.ClientAddr(ctx)
	if wait, ok := s.throttle.take(in.Email, client, s.deps.Clock.Now()); !ok {
		return nil, fault.RateLimited(wait)
	}
	known, proven, err := s.provider.prove(ctx, in.Email, in.Password)
	if err != nil {
		return nil, err
	}
	if len(proven) == 0 {
		s.noteRefusal(ctx, known, "")
		return nil, fault.Unauthorized()
	}
	s.throttle.giveBack(in.Email, client, s.deps.Clock.Now())
	who, where, err := s.choose(ctx, proven, in.TenantID)
	if err != nil {
		if f := fault.From(err); f.Code == fault.CodeUnauthorized {
			s.noteRefusal(ctx, proven, f.Reason)
		}
		return nil, err
	}
	return s.begin(ctx, who, where)
}

// noteRefusal writes a refused login to the audit chain without a tenant, since
// nobody's tenant is known yet. An address that nobody has is written down as
// well, so that it costs the same; the address itself is not.
func (s *Service) noteRefusal(ctx context.Context, accounts []account, reason string) {
	users := []string{}
	for _, a := range accounts {
		users = append(users, string(a.ID))
	}
	err := s.deps.Auth.InTx(ctx, "", nil, func(tx *postgres.Tx) error {
		return queueAudit(ctx, tx.Final(), auditNote{
			ActorType: "anonymous", Action: contract.ActionSessionRefused, ResourceType: "session",
			Changes: map[string]any{"users": users, "reason": reason, "client": op.ClientAddr(ctx)},
		})
	})
	if err != nil {
		s.deps.Log.WarnContext(ctx, "refused login not audited", slog.String("requestId", op.RequestID(ctx)), slog.Any("error", err))
	}
}

// choose finds the account and the tenant that the session is for. Its refusals
// are those of the principal check, which the token would meet at once.
func (s *Service) choose(ctx context.Context, proven []account, tenant op.UUID) (account, place, error) {
	var users []op.UUID
	for _, a := range proven {
		if a.Status == "ACTIVE" {
			users = append(users, a.ID)
		}
	}
	if len(users) == 0 {
		reason := principal.ReasonSuspended
		if proven[0].Status == "DELETED" {
			reason = principal.ReasonNotInTenant
		}
		return account{}, place{}, fault.Unauthorized().WithReason(reason)
	}
	all, err := readPlaces(ctx, s.deps.Auth, users)
	if err != nil {
		return account{}, place{}, postgres.MapError(err)
	}
	refusal := fault.Unauthorized().WithReason(principal.ReasonNotInTenant)
	var fit []place
	for _, p := range all {
		switch {
		case tenant != "" && p.TenantID != tenant, p.Membership != "ACTIVE":
		case !p.TenantEnabled:
			refusal = fault.Unauthorized().WithReason(principal.ReasonTenantDisabled)
		default:
			fit = append(fit, p)
		}
	}
	if len(fit) == 0 {
		return account{}, place{}, refusal
	}
	if slices.ContainsFunc(fit, func(p place) bool { return p.UserID != fit[0].UserID }) {
		return account{}, place{}, ambiguous(fit)
	}
	// Of one account's places the first is its home, where it may act there.
	i := slices.IndexFunc(proven, func(a account) bool { return a.ID == fit[0].UserID })
	return proven[i], fit[0], nil
}

// ambiguous lists the tenants, to one who has just proven to be all of these
// accounts.
func ambiguous(fit []place) error {
	var tenants []string
	for _, p := range fit {
		if !slices.Contains(tenants, string(p.TenantID)) {
			tenants = append(tenants, string(p.TenantID))
		}
	}
	return fault.Conflict("This address has accounts in several tenants. Say which with tenantId.").
		WithDetails(map[string]any{"tenants": tenants})
}

// begin records the session and signs its token, in one transaction with the
// audit entry.
func (s *Service) begin(ctx context.Context, who account, where place) (*contract.LoginOut, error) {
	now := s.deps.Clock.Now()
	jti := uid.New()
	out := &contract.LoginOut{
		TenantID:  where.TenantID,
		ExpiresAt: now.Truncate(time.Second).Add(sessionLife),
		User: contract.Person{
			ID: who.ID, Email: who.Email, DisplayName: who.DisplayName, PrincipalKind: "HUMAN", Status: who.Status, Clearance: where.Clearance,
		},
	}
	err := s.deps.Auth.InTx(ctx, string(where.TenantID), nil, func(tx *postgres.Tx) error {
		held, err := readHeldRoles(ctx, tx, where.TenantID, who.ID)
		if err != nil {
			return err
		}
		roles, scopes := snapshot(held, nil)
		out.Token, err = s.deps.Tokens.Issue(token.Claims{
			ID: jti, Subject: who.ID, Tenant: where.TenantID, IssuedAt: now, ExpiresAt: out.ExpiresAt,
			Roles: roles, RoleScopes: scopes, PrincipalKind: "HUMAN", Clearance: where.Clearance, Email: who.Email,
		}, token.Session)
		if err != nil {
			return err
		}
		if err := insertSession(ctx, tx, where.TenantID, jti, who.ID, now, out.ExpiresAt); err != nil {
			return err
		}
		return queueAudit(ctx, tx.Final(), auditNote{
			Tenant: where.TenantID, Actor: who.ID, Action: contract.ActionSessionCreated, ResourceType: "session", ResourceID: jti,
			Changes: map[string]any{"expiry": out.ExpiresAt},
		})
	})
	if err != nil {
		return nil, postgres.MapError(err)
	}
	return out, nil
}

// snapshot gives the role names that a token carries, and for those that are
// held in narrower scopes only, these scopes. A nil keep keeps every role.
func snapshot(held []heldRole, keep []string) (roles []string, scopes map[string][]string) {
	roles = []string{}
	wide := map[string]bool{}
	for _, h := range held {
		if keep != nil && !slices.Contains(keep, h.Name) {
			continue
		}
		if !slices.Contains(roles, h.Name) {
			roles = append(roles, h.Name)
		}
		if h.Scope == "tenant" {
			wide[h.Name] = true
			delete(scopes, h.Name)
			continue
		}
		if !wide[h.Name] {
			if scopes == nil {
				scopes = map[string][]string{}
			}
			scopes[h.Name] = append(scopes[h.Name], h.Scope+":"+h.ScopeID)
		}
	}
	return roles, scopes
}

func (s *Service) logout(ctx context.Context, c *gate.Call, _ *contract.LogoutIn) (*contract.LogoutOut, error) {
	if c.Actor.TokenKind != "session" {
		return nil, fault.Conflict("This is an API key and no session: revoke it with DELETE /api/auth/api-keys/<id>.")
	}
	if c.Actor.TokenTenant != c.Tenant {
		return nil, fault.Conflict("A session ends in its own tenant: log out without x-act-as-org.")
	}
	if err := revokeSession(ctx, c.DB, c.Actor.TokenTenant, c.Actor.JTI, c.Actor.UserID, c.Now); err != nil {
		return nil, err
	}
	c.Record(gate.Note{Action: contract.ActionSessionRevoked, ResourceType: "session", ResourceID: string(c.Actor.JTI)})
	return &contract.LogoutOut{}, nil
}

func (s *Service) changePassword(ctx context.Context, c *gate.Call, in *contract.ChangePasswordIn) (*op.None, error) {
	if c.Actor.TokenKind != "session" || c.Actor.Kind != "HUMAN" {
		return nil, fault.Refused("A password is changed by its owner's session.")
	}
	hash, err := readPasswordHash(ctx, s.deps.Auth, c.Tenant, c.Actor.UserID)
	if postgres.IsNoRows(err) {
		return nil, fault.Conflict("The account belongs to another tenant: change its password there.")
	}
	if err != nil {
		return nil, err
	}
	client := op.ClientAddr(ctx)
	if wait, ok := s.throttle.take(c.Actor.Email, client, c.Now); !ok {
		return nil, fault.RateLimited(wait)
	}
	same, err := s.deps.Passwords.Verify(ctx, hash, in.CurrentPassword)
	if err != nil {
		return nil, fault.Unavailable(err)
	}
	if !same {
		return nil, fault.Validation("currentPassword", "The current password is not this one.")
	}
	s.throttle.giveBack(c.Actor.Email, client, c.Now)
	if err := password.Check(in.NewPassword, c.Actor.Email); err != nil {
		return nil, fault.Validation("newPassword", "The new password is refused: "+err.Error()+".")
	}
	if in.NewPassword == in.CurrentPassword {
		return nil, fault.Validation("newPassword", "The new password is the current one.")
	}
	fresh, err := s.deps.Passwords.Hash(ctx, in.NewPassword)
	if err != nil {
		return nil, fault.Unavailable(err)
	}
	if err := setPassword(ctx, c.DB, c.Tenant, c.Actor.UserID, fresh, c.Now); err != nil {
		return nil, err
	}
	if err := revokeOtherSessions(ctx, c.DB, c.Tenant, c.Actor.UserID, c.Actor.JTI, c.Now); err != nil {
		return nil, err
	}
	// Sessions in other tenants are out of this transaction's reach. Should it not
	// commit after all, they have ended for nothing; the other way round would
	// leave a stolen session alive.
	if err := revokeSessionsElsewhere(ctx, s.deps.Auth, c.Tenant, c.Actor.UserID, c.Now); err != nil {
		return nil, err
	}
	c.Record(gate.Note{Action: contract.ActionPasswordChanged, ResourceType: "user", ResourceID: string(c.Actor.UserID), Critical: true})
	c.Emit(gate.Event{Type: "directory.user.password_changed", AggregateType: "user", AggregateID: c.Actor.UserID, Payload: map[string]any{"id": c.Actor.UserID}})
	return &op.None{}, nil
}
