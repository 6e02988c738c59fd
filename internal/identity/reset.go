package identity

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/events"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/mail"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

const (
	// resetLifetime is the lifetime of a link, and how long its delivery is retried.
	resetLifetime = 30 * time.Minute
	// resetBatchSize is the maximum number of resets of one account within resetLifetime.
	resetBatchSize = 5
)

// resetThrottle returns the limits for reset requests without a session.
func resetThrottle() Throttle {
	return Throttle{
		Account: Limit{Burst: 5, Every: 5 * time.Minute},
		Address: Limit{Burst: 30, Every: 10 * time.Second},
	}
}

// noMailError returns the error of a server that cannot send links.
func noMailError() error {
	return &fault.Error{Code: fault.CodeUnavailable, Message: "This server cannot send e-mail, so it cannot send a reset link. " +
		"The operator must set PT_SMTP_URL, PT_MAIL_FROM and PT_PUBLIC_URL."}
}

// resetUserPassword starts a password reset for another user. The link is created when it is
// sent, so the caller does not receive it.
func (s *Service) resetUserPassword(ctx context.Context, c *executor.Call, _ *contract.UserIn, u contract.User) (*contract.PasswordResetStarted, error) {
	if s.deps.Mail == nil {
		return nil, noMailError()
	}
	if err := s.decideAccount(ctx, c, authz.ResetPassword, u.ID); err != nil {
		return nil, err
	}
	r, err := s.startReset(ctx, c, u.ID)
	if err != nil {
		return nil, err
	}
	return &contract.PasswordResetStarted{UserID: u.ID, Email: u.Email, ExpiresAt: r.ExpiresAt}, nil
}

// startReset records a reset and emits the event that sends its link, in one transaction.
func (s *Service) startReset(ctx context.Context, c *executor.Call, user op.UUID) (resetRow, error) {
	r := resetRow{TenantID: c.Tenant, ID: uid.New(), UserID: user, CreatedAt: c.Now, ExpiresAt: c.Now.Add(resetLifetime)}
	n, err := countResets(ctx, c.DB, c.Tenant, user, c.Now.Add(-resetLifetime))
	if err != nil {
		return r, err
	}
	if n >= resetBatchSize {
		return r, fault.RateLimited(resetLifetime)
	}
	if r.AuthorityDigest, err = s.authorityDigest(ctx, user); err != nil {
		return r, err
	}
	requestedBy, requesterKind := op.UUID(""), "holder"
	if c.Actor != nil {
		requestedBy, requesterKind = c.Actor.UserID, "administrator"
	}
	if err := insertReset(ctx, c.DB, r, requestedBy); err != nil {
		return r, err
	}
	c.Record(executor.Change{
		Action: contract.ActionResetStarted, Type: "user", ID: user, Critical: true,
		Details: auditChanges{"reset": r.ID, "requestedBy": requesterKind},
		Event:   contract.EventResetStarted, EventAbout: r.ID, Payload: contract.StartedReset{ID: r.ID, UserID: user},
	})
	return r, nil
}

// requestPasswordReset emits an event that requests links for the address. A job looks up
// the accounts later, so the response time does not reveal whether there are any.
func (s *Service) requestPasswordReset(ctx context.Context, in *contract.RequestPasswordResetIn) (*op.None, error) {
	if s.deps.Mail == nil {
		return nil, noMailError()
	}
	now := s.deps.Clock.Now()
	if wait, ok := s.resets.consume(in.Email, op.ClientAddr(ctx), now); !ok {
		return nil, fault.RateLimited(wait)
	}
	payload, err := events.NewPayload(contract.EventResetRequested, events.Payload{Resource: contract.ResetRequest{Email: in.Email}})
	if err != nil {
		return nil, err
	}
	err = s.deps.Auth.InTx(ctx, "", nil, func(tx *postgres.Tx) error {
		return events.Append(ctx, tx, []events.Event{{
			Type: contract.EventResetRequested.Name, AggregateType: contract.EventResetRequested.Record, AggregateID: string(uid.New()), OccurredAt: now,
			CorrelationID: op.UUID(op.RequestID(ctx)), Payload: payload,
		}})
	})
	if err != nil {
		return nil, postgres.MapError(err)
	}
	return &op.None{}, nil
}

// StartResets starts a reset for each account of an address whose user may reset the
// password. It runs as a job. An account that may not is skipped without an error.
func (s *Service) StartResets(ctx context.Context, email string) error {
	accounts, err := readResettableAccounts(ctx, s.deps.Auth, email)
	if err != nil {
		return postgres.MapError(err)
	}
	for _, a := range accounts {
		err := s.executor.RunAsSystem(ctx, a.HomeTenantID, func(ctx context.Context, c *executor.Call) error {
			account, err := lockAccount(ctx, c.DB, a.HomeTenantID, a.ID)
			if err != nil {
				return err
			}
			v, err := s.deps.Policies.Evaluate(ctx, authz.CompleteReset{Account: account.policyAccount()})
			if err != nil || !v.Allow {
				return err
			}
			_, err = s.startReset(ctx, c, a.ID)
			return err
		})
		if err != nil && !fault.HasCode(err, fault.CodeRateLimited) {
			return err
		}
	}
	return nil
}

// SendReset creates the link of a reset and sends it. It runs as a job: after an error it is
// retried with a new link, and only the newest link works. It does nothing for a reset that
// has ended, was sent, or is no longer allowed.
func (s *Service) SendReset(ctx context.Context, tenant, id op.UUID) error {
	if s.deps.Mail == nil {
		return noMailError()
	}
	var message *mail.Message
	err := s.executor.RunAsSystem(ctx, tenant, func(ctx context.Context, c *executor.Call) error {
		message = nil
		r, err := lockReset(ctx, c.DB, tenant, id)
		if postgres.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.EndedAt != nil || r.SentAt != nil || !c.Now.Before(r.CreatedAt.Add(resetLifetime)) {
			return nil
		}
		account, err := s.resetAccount(ctx, c, r)
		if err != nil || account == nil {
			return err
		}
		secret := make([]byte, sha256.Size)
		if _, err := rand.Read(secret); err != nil {
			return fmt.Errorf("identity: generate reset secret: %w", err)
		}
		r.SecretHash, r.ExpiresAt = secretHash(secret), c.Now.Add(resetLifetime)
		if err := writeResetSecret(ctx, c.DB, r); err != nil {
			return err
		}
		message = s.resetMessage(account.Email, resetToken{tenant, id, secret})
		return nil
	})
	if err != nil || message == nil {
		return err
	}
	if err := s.deps.Mail.Send(ctx, *message); err != nil {
		s.deps.Log.WarnContext(ctx, "could not send the reset link", slog.String("reset", string(id)), slog.Any("error", err))
		return fault.Unavailable(err)
	}
	return s.executor.RunAsSystem(ctx, tenant, func(ctx context.Context, c *executor.Call) error {
		return markResetSent(ctx, c.DB, tenant, id, c.Now)
	})
}

// resetAccount returns the account of a reset. If the policies no longer allow the reset, it
// ends the account's resets and returns nil.
func (s *Service) resetAccount(ctx context.Context, c *executor.Call, r resetRow) (*accountState, error) {
	account, err := lockAccount(ctx, c.DB, r.TenantID, r.UserID)
	if err != nil {
		return nil, err
	}
	request := authz.CompleteReset{Account: account.policyAccount(), ByAdministrator: r.RequestedBy != nil}
	if !account.AddressConfirmed || !account.HasPassword {
		digest, err := s.authorityDigest(ctx, r.UserID)
		if err != nil {
			return nil, err
		}
		request.AuthorityUnchanged = bytes.Equal(digest, r.AuthorityDigest)
	}
	v, err := s.deps.Policies.Evaluate(ctx, request)
	if err != nil {
		return nil, err
	}
	if v.Allow {
		return &account, nil
	}
	c.Record(executor.Change{
		Action: contract.ActionResetRefused, Type: "user", ID: r.UserID, Critical: true,
		Details: auditChanges{"reset": r.ID, "reasons": v.Reasons},
	})
	return nil, cancelResets(ctx, c.DB, r.TenantID, r.UserID, c.Now)
}

func (s *Service) resetMessage(to string, token resetToken) *mail.Message {
	return &mail.Message{
		To: to, Subject: "Set a new password",
		Text: "Somebody requested a new password for your account.\n\n" +
			"Open this link within 30 minutes to choose one:\n\n" + s.deps.PublicURL + "/reset-password#" + token.String() + "\n\n" +
			"Or run pt auth reset-password and enter this token:\n\n" + token.String() + "\n\n" +
			"If you did not request this, ignore this message. Your password does not change.\n",
	}
}

// resetPassword sets a new password with the token of a link. It hashes the new password
// first and looks up every token in the same way, so that the time reveals nothing about the
// token.
func (s *Service) resetPassword(ctx context.Context, in *contract.ResetPasswordIn) (*op.None, error) {
	client := op.ClientAddr(ctx)
	attempts := "reset links from " + client
	if wait, ok := s.throttle.consume(attempts, client, s.deps.Clock.Now()); !ok {
		return nil, fault.RateLimited(wait)
	}
	hash, err := s.hashPassword(ctx, "newPassword", in.NewPassword, "")
	if err != nil {
		return nil, err
	}
	token := parseResetToken(in.Token)
	used := false
	err = s.executor.RunAsSystem(ctx, token.tenant, func(ctx context.Context, c *executor.Call) error {
		r, err := lockReset(ctx, c.DB, token.tenant, token.id)
		if err != nil && !postgres.IsNoRows(err) {
			return err
		}
		isActive := err == nil && r.EndedAt == nil && c.Now.Before(r.ExpiresAt)
		matches := subtle.ConstantTimeCompare(secretHash(token.secret), r.SecretHash) == 1
		if !isActive || !matches {
			return nil
		}
		used, err = s.useReset(ctx, c, r, in.NewPassword, hash)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !used {
		return nil, fault.Validation("token", "This reset link is unknown, used or expired. Request a new one.")
	}
	s.throttle.refund(attempts, client, s.deps.Clock.Now())
	return &op.None{}, nil
}

// useReset sets the password, revokes every session of the account and ends its other
// resets. It returns false if the policies no longer allow the reset.
func (s *Service) useReset(ctx context.Context, c *executor.Call, r resetRow, newPassword, hash string) (bool, error) {
	account, err := s.resetAccount(ctx, c, r)
	if err != nil || account == nil {
		return false, err
	}
	if err := checkPassword("newPassword", newPassword, account.Email); err != nil {
		return false, err
	}
	if err := setPassword(ctx, c.DB, r.TenantID, r.UserID, hash, c.Now); err != nil {
		return false, err
	}
	if err := cancelResets(ctx, c.DB, r.TenantID, r.UserID, c.Now); err != nil {
		return false, err
	}
	// The link was sent to the address, so its use confirms and verifies the address.
	if err := confirmAddress(ctx, c.DB, r.TenantID, r.UserID); err != nil {
		return false, err
	}
	if err := verifyAddress(ctx, c.DB, r.TenantID, r.UserID); err != nil {
		return false, err
	}
	recordPasswordChange(c, contract.ActionPasswordReset, r.UserID, auditChanges{"reset": r.ID})
	return true, s.revokeAllSessions(ctx, c, r.UserID)
}

// PruneResets deletes resets of every tenant that expired more than the retention period
// before now, and returns their number.
func (s *Service) PruneResets(ctx context.Context, now time.Time) (int64, error) {
	return s.prune(ctx, pruneResetsSQL, now)
}

// resetToken is the content of a link: the ids of the reset and its secret.
type resetToken struct {
	tenant, id op.UUID
	secret     []byte
}

func secretHash(secret []byte) []byte {
	sum := sha256.Sum256(secret)
	return sum[:]
}

// String returns the form in a link: the two ids and the secret in base64url.
func (t resetToken) String() string {
	text := make([]byte, 0, 64)
	for _, id := range []op.UUID{t.tenant, t.id} {
		b := uid.Bytes(id)
		text = append(text, b[:]...)
	}
	return base64.RawURLEncoding.EncodeToString(append(text, t.secret...))
}

// parseResetToken parses a token. An invalid token gives a token that matches no reset, so
// that its lookup takes the same time.
func parseResetToken(text string) resetToken {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	// The decoder ignores line breaks, so reject them here.
	if err != nil || len(raw) != 16+16+sha256.Size || strings.ContainsAny(text, "\r\n") {
		return resetToken{tenant: nilUUID, id: nilUUID}
	}
	return resetToken{tenant: uid.FromBytes([16]byte(raw[:16])), id: uid.FromBytes([16]byte(raw[16:32])), secret: raw[32:]}
}
