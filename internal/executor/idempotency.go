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
INSERT INTO events.idempotency_keys (tenant_id, actor_id, operation, key, request_hash, names, created_at)
VALUES (@tenant, @actor, @operation, @key, @hash, @names, @now)
ON CONFLICT DO NOTHING`

const selectReplySQL = `
SELECT request_hash, response, resource FROM events.idempotency_keys
WHERE tenant_id = @tenant AND actor_id = @actor AND operation = @operation AND key = @key`

const selectNamesSQL = `
SELECT request_hash, names FROM events.idempotency_keys
WHERE tenant_id = @tenant AND actor_id = @actor AND operation = @operation AND key = @key AND names IS NOT NULL`

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
	hash := c.requestHash(c.module.cfg.HashKey)
	args := func(more map[string]any) postgres.Args {
		a := c.keyArgs(key)
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	tag, err := c.DB.Exec(ctx, insertKeySQL, args(map[string]any{"hash": hash, "names": c.names, "now": c.Now}))
	if err != nil {
		return nil, err
	}
	if tag.RowsAffected() == 0 {
		return replayStoredReply(ctx, c, in, args(nil), authorize)
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

func replayStoredReply[In, Out any](ctx context.Context, c *Call, in *In, args postgres.Args,
	authorize func(ctx context.Context, c *Call, in *In, out *Out, previous *authz.Resource) error,
) (*Out, error) {
	var stored string
	var response, resource []byte
	if err := c.DB.QueryRow(ctx, selectReplySQL, args).Scan(&stored, &response, &resource); err != nil {
		return nil, err
	}
	if !c.hasHash(stored) {
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

// keyArgs are the arguments that identify an idempotency key of the caller.
func (c *Call) keyArgs(key string) postgres.Args {
	return postgres.Args{"tenant": c.Tenant, "actor": c.Actor.UserID, "operation": c.operation.Name, "key": key}
}

// storedNames returns the ids that the names in the request stood for when the same request
// was carried out before. It returns nil if it was not.
func (c *Call) storedNames(ctx context.Context) ([]op.UUID, error) {
	key := op.RequestOf(ctx).IdempotencyKey
	if key == "" || !c.operation.Effect.Changes() {
		return nil, nil
	}
	var stored string
	var names []op.UUID
	err := c.DB.QueryRow(ctx, selectNamesSQL, c.keyArgs(key)).Scan(&stored, &names)
	if postgres.IsNoRows(err) || (err == nil && !c.hasHash(stored)) {
		return nil, nil
	}
	return names, err
}

// hasHash reports whether a stored hash is that of this request, with the current or the
// previous key.
func (c *Call) hasHash(stored string) bool {
	previous := c.module.cfg.PreviousHashKey
	return stored == c.requestHash(c.module.cfg.HashKey) || (previous != nil && stored == c.requestHash(previous))
}

// requestHash returns a hash of what the client sent and of the narrowing of its
// credential. An absent field and a null field give different hashes. The hash is keyed,
// because the input may contain a password that could be guessed from a plain hash.
func (c *Call) requestHash(key []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(c.Actor.Subject.Narrowing() + "\n"))
	mac.Write([]byte(c.sent.Method + " " + c.sent.Target + "\n"))
	mac.Write(c.sent.Body)
	return hex.EncodeToString(mac.Sum(nil))
}
