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

// MaxIdempotencyKey is the length in characters of the longest key that is taken.
const MaxIdempotencyKey = 255

const insertKeySQL = `
INSERT INTO events.idempotency_keys (tenant_id, actor_id, operation, key, request_hash, created_at)
VALUES (@tenant, @actor, @operation, @key, @hash, @now)
ON CONFLICT DO NOTHING`

const storedReplySQL = `
SELECT request_hash, response, resource FROM events.idempotency_keys
WHERE tenant_id = @tenant AND actor_id = @actor AND operation = @operation AND key = @key`

const storeReplySQL = `
UPDATE events.idempotency_keys SET response = @response, resource = @resource
WHERE tenant_id = @tenant AND actor_id = @actor AND operation = @operation AND key = @key`

// validateIdempotencyKey refuses an idempotency key that cannot be used.
func (c *Call) validateIdempotencyKey(ctx context.Context) error {
	key := op.RequestOf(ctx).IdempotencyKey
	if key == "" || !c.operation.Effect.Changes() {
		return nil
	}
	if c.operation.Secret {
		return fault.Validation("Idempotency-Key", "This operation gives out a secret once and can't be repeated by key.")
	}
	if !utf8.ValidString(key) {
		return fault.Validation("Idempotency-Key", "The key is not valid UTF-8.")
	}
	if utf8.RuneCountInString(key) > MaxIdempotencyKey {
		return fault.Validation("Idempotency-Key", fmt.Sprintf("The key has more than %d characters.", MaxIdempotencyKey))
	}
	return nil
}

// runIdempotent runs a handler at most once for each idempotency key of the caller's.
// The key is claimed and its answer kept in the transaction of the change, so
// that both are there or neither is; a second call that comes meanwhile waits
// for the first. The answer of an operation that gives out a secret is not kept.
//
// A kept answer is bound to the tenant, the caller and the credential's narrowing,
// and authorize decides anew, with the policies, grants and records of now, whether
// the caller may have it again.
func runIdempotent[In, Out any](ctx context.Context, c *Call, in *In, do func(context.Context, *Call, *In) (*Out, error),
	authorize func(ctx context.Context, c *Call, in *In, out *Out, was *authz.Resource) error,
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
		return storedReply(ctx, c, in, hash, args(nil), authorize)
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
	if c.decided != nil {
		if resource, err = json.Marshal(c.decided); err != nil {
			return nil, err
		}
	}
	_, err = c.DB.Exec(ctx, storeReplySQL, args(map[string]any{"response": text, "resource": resource}))
	return out, err
}

func storedReply[In, Out any](ctx context.Context, c *Call, in *In, hash string, args postgres.Args,
	authorize func(ctx context.Context, c *Call, in *In, out *Out, was *authz.Resource) error,
) (*Out, error) {
	var stored string
	var response, resource []byte
	if err := c.DB.QueryRow(ctx, storedReplySQL, args).Scan(&stored, &response, &resource); err != nil {
		return nil, err
	}
	if stored != hash && c.module.cfg.PreviousHashKey != nil {
		var err error
		if hash, err = c.requestHash(in, c.module.cfg.PreviousHashKey); err != nil {
			return nil, err
		}
	}
	if stored != hash {
		return nil, fault.Conflict("The Idempotency-Key was used for another request, or with a credential of another kind, other roles or other caveats. Use a new key.")
	}
	var out Out
	if err := json.Unmarshal(response, &out); err != nil {
		return nil, err
	}
	var was *authz.Resource
	if resource != nil {
		was = &authz.Resource{}
		if err := json.Unmarshal(resource, was); err != nil {
			return nil, err
		}
	}
	if err := authorize(ctx, c, in, &out, was); err != nil {
		return nil, err
	}
	return &out, nil
}

// requestHash tells one request from another: by what a client would send, in which a
// field that is absent is not one that is null, and by the narrowing of its
// credential. It is keyed, because an input may hold a password that a plain hash
// would let be guessed.
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
