package identity

import (
	"context"
	"time"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// resetRow is a stored password reset.
type resetRow struct {
	TenantID        op.UUID
	ID              op.UUID
	UserID          op.UUID
	RequestedBy     *op.UUID
	AuthorityDigest []byte
	SecretHash      []byte
	CreatedAt       time.Time
	ExpiresAt       time.Time
	SentAt          *time.Time
	EndedAt         *time.Time
}

const insertResetSQL = `
INSERT INTO identity.password_resets (tenant_id, id, user_id, requested_by, authority_digest, created_at, expires_at)
VALUES (@tenant, @id, @user, nullif(@by, '')::uuid, @digest, @now, @expires)`

func insertReset(ctx context.Context, q postgres.Querier, r resetRow, by op.UUID) error {
	_, err := q.Exec(ctx, insertResetSQL, postgres.Args{
		"tenant": r.TenantID, "id": r.ID, "user": r.UserID, "by": by, "digest": r.AuthorityDigest, "now": r.CreatedAt, "expires": r.ExpiresAt,
	})
	return err
}

const lockResetSQL = `
SELECT tenant_id, id, user_id, requested_by, authority_digest, secret_hash, created_at, expires_at, sent_at, ended_at
FROM identity.password_resets
WHERE tenant_id = @tenant AND id = @id
FOR UPDATE`

func lockReset(ctx context.Context, q postgres.Querier, tenant, id op.UUID) (resetRow, error) {
	return postgres.One[resetRow](ctx, q, lockResetSQL, postgres.Args{"tenant": tenant, "id": id})
}

const writeResetSecretSQL = `
UPDATE identity.password_resets SET secret_hash = @hash, expires_at = @expires
WHERE tenant_id = @tenant AND id = @id`

func writeResetSecret(ctx context.Context, q postgres.Querier, r resetRow) error {
	_, err := q.Exec(ctx, writeResetSecretSQL, postgres.Args{
		"tenant": r.TenantID, "id": r.ID, "hash": r.SecretHash, "expires": r.ExpiresAt,
	})
	return err
}

const markResetSentSQL = `UPDATE identity.password_resets SET sent_at = @now WHERE tenant_id = @tenant AND id = @id AND sent_at IS NULL`

func markResetSent(ctx context.Context, q postgres.Querier, tenant, id op.UUID, now time.Time) error {
	_, err := q.Exec(ctx, markResetSentSQL, postgres.Args{"tenant": tenant, "id": id, "now": now})
	return err
}

const cancelResetsSQL = `UPDATE identity.password_resets SET ended_at = @now WHERE tenant_id = @home AND user_id = @user AND ended_at IS NULL`

// cancelResets ends the account's resets that have not ended.
func cancelResets(ctx context.Context, q postgres.Querier, home, user op.UUID, now time.Time) error {
	_, err := q.Exec(ctx, cancelResetsSQL, postgres.Args{"home": home, "user": user, "now": now})
	return err
}

const countResetsSQL = `
SELECT count(*) FROM identity.password_resets WHERE tenant_id = @home AND user_id = @user AND created_at > @since`

func countResets(ctx context.Context, q postgres.Querier, home, user op.UUID, since time.Time) (int, error) {
	var n int
	err := q.QueryRow(ctx, countResetsSQL, postgres.Args{"home": home, "user": user, "since": since}).Scan(&n)
	return n, err
}

const resettableAccountsSQL = `
SELECT u.id, u.home_tenant_id
FROM identity.users u
WHERE u.email_key = lower(@email) AND u.principal_kind = 'HUMAN'
ORDER BY u.home_tenant_id`

// resettableAccount is an account with the requested e-mail address.
type resettableAccount struct {
	ID           op.UUID
	HomeTenantID op.UUID
}

// readResettableAccounts reads the accounts of an address in every tenant. q must connect as
// parapet_auth.
func readResettableAccounts(ctx context.Context, q postgres.Querier, email string) ([]resettableAccount, error) {
	return postgres.Collect[resettableAccount](ctx, q, resettableAccountsSQL, postgres.Args{"email": email})
}

const setOwnAddressSQL = `UPDATE identity.users SET email = @email, updated_at = @now WHERE id = @user AND home_tenant_id = @home`

const confirmAddressSQL = `UPDATE identity.users SET address_confirmed = true WHERE id = @user AND home_tenant_id = @home`

// setOwnAddress sets the address that the user has chosen and confirms it. A trigger removes
// the confirmation with every change, so it is set afterwards. A new address stays
// unverified: the user has not shown access to the mailbox.
func setOwnAddress(ctx context.Context, q postgres.Querier, home, user op.UUID, email string, now time.Time) error {
	_, err := q.Exec(ctx, setOwnAddressSQL, postgres.Args{"home": home, "user": user, "email": email, "now": now})
	if err != nil {
		return postgres.MapError(err, constraints)
	}
	return confirmAddress(ctx, q, home, user)
}

func confirmAddress(ctx context.Context, q postgres.Querier, home, user op.UUID) error {
	_, err := q.Exec(ctx, confirmAddressSQL, postgres.Args{"home": home, "user": user})
	return err
}

const pruneResetsSQL = `
DELETE FROM identity.password_resets r
USING (SELECT tenant_id, id FROM identity.password_resets WHERE expires_at < @before ORDER BY tenant_id, id LIMIT @most) old
WHERE r.tenant_id = old.tenant_id AND r.id = old.id`
