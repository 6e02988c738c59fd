package executor

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"parapet/internal/authz"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// MaxIdempotencyKey is the maximum length of an idempotency key in characters.
const MaxIdempotencyKey = 255

const insertKeySQL = `
INSERT INTO events.idempotency_keys (tenant_id, actor_id, operation, key, request_hash, created_at)
VALUES (@tenant, @actor, @operation, @key, @hash, @now)
ON CONFLICT DO NOTHING`

const selectReplySQL = `
SELECT request_hash, response, resource FROM events.idempotency_keys
WHERE tenant_id = @tenant AND actor_id = @actor AND operation = @operation AND key = @key`

const storeReplySQL = `
UPDATE events.idempotency_keys SET response = @response, resource = @resource
WHERE tenant_id = @tenant AND actor_id = @actor AND operation = @operation AND key = @key`

// validateIdempotencyKey rejects an invalid idempotency key, and any key for an
// operation that returns a secret.
func (c *Call) validateIdempotencyKey(ctx context.Context) error {
	key := op.RequestOf(ctx).IdempotencyKey
	if key == "" || !c.operation.Effect.Changes() {
		return nil
	}
	if c.operation.Secret {
		return fault.Validation("Idempotency-Key", "This operation returns a secret only once, so it does not accept an idempotency key.")
	}
	if !utf8.ValidString(key) {
		return fault.Validation("Idempotency-Key", "The idempotency key must be valid UTF-8.")
	}
	if utf8.RuneCountInString(key) > MaxIdempotencyKey {
		return fault.Validation("Idempotency-Key", fmt.Sprintf("The idempotency key must have at most %d characters.", MaxIdempotencyKey))
	}
	return nil
}

// runIdempotent runs a handler at most once for each idempotency key of the caller. The
// key and the response are stored in the transaction of the change, so both are
// committed or neither is. A concurrent call with the same key waits for the first one.
//
// A stored response is bound to the tenant, the caller, and the kind, roles, clearance and
// caveats of the credential (its narrowing). authorize decides whether the caller may
// receive it again, with the current policies, grants and records.
func runIdempotent[In, Out any](ctx context.Context, c *Call, in *In, do func(context.Context, *Call, *In) (*Out, error),
	authorize func(ctx context.Context, c *Call, in *In, out *Out, previous *authz.Resource) error,
) (*Out, error) {
	key := op.RequestOf(ctx).IdempotencyKey
	if key == "" {
		return do(ctx, c, in)
	}
	hash, err := c.requestHash(in, c.module.cfg.HashKey)
	if err != nil {
		return nil, err
	}
	args := func(more map[string]any) postgres.Args {
		a := postgres.Args{"tenant": c.Tenant, "actor": c.Actor.UserID, "operation": c.operation.Name, "key": key}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	tag, err := c.DB.Exec(ctx, insertKeySQL, args(map[string]any{"hash": hash, "now": c.Now}))
	if err != nil {
		return nil, err
	}
	if tag.RowsAffected() == 0 {
		return replayStoredReply(ctx, c, in, hash, args(nil), authorize)
	}
	out, err := do(ctx, c, in)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	var resource []byte
	if c.decidedResource != nil {
		if resource, err = json.Marshal(c.decidedResource); err != nil {
			return nil, err
		}
	}
	_, err = c.DB.Exec(ctx, storeReplySQL, args(map[string]any{"response": text, "resource": resource}))
	return out, err
}

func replayStoredReply[In, Out any](ctx context.Context, c *Call, in *In, hash string, args postgres.Args,
	authorize func(ctx context.Context, c *Call, in *In, out *Out, previous *authz.Resource) error,
) (*Out, error) {
	var stored string
	var response, resource []byte
	if err := c.DB.QueryRow(ctx, selectReplySQL, args).Scan(&stored, &response, &resource); err != nil {
		return nil, err
	}
	if stored != hash && c.module.cfg.PreviousHashKey != nil {
		var err error
		if hash, err = c.requestHash(in, c.module.cfg.PreviousHashKey); err != nil {
			return nil, err
		}
	}
	if stored != hash {
		return nil, fault.Conflict("The idempotency key was already used for a different request, or with a credential of a different kind, roles or caveats. Use a new key.")
	}
	var out Out
	if err := json.Unmarshal(response, &out); err != nil {
		return nil, err
	}
	var previous *authz.Resource
	if resource != nil {
		previous = &authz.Resource{}
		if err := json.Unmarshal(resource, previous); err != nil {
			return nil, err
		}
	}
	if err := authorize(ctx, c, in, &out, previous); err != nil {
		return nil, err
	}
	return &out, nil
}

// requestHash returns a hash of what the client sent and of the narrowing of its
// credential. An absent field and a null field give different hashes. The hash is keyed,
// because the input may contain a password that could be guessed from a plain hash.
func (c *Call) requestHash(in any, key []byte) (string, error) {
	wire, err := c.operation.Write(in)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(c.Actor.Subject.Narrowing() + "\n"))
	mac.Write([]byte(wire.Method + " " + wire.Target + "\n"))
	mac.Write(wire.Body)
	return hex.EncodeToString(mac.Sum(nil)), nil
}
