package principal

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"parapet/internal/op"
)

// Channel is the PostgreSQL channel for notifications of changes in the directory.
const Channel = "parapet_identity"

const finalFlushTimeout = 3 * time.Second

// Run writes last_used_at until ctx ends, and then writes the pending updates.
func (c *Checker) Run(ctx context.Context) {
	flush := func(ctx context.Context) {
		if err := c.keyUsage.flush(ctx, c.cfg.Pool, c.cfg.Clock.Now()); err != nil && ctx.Err() == nil {
			c.cfg.Log.WarnContext(ctx, "last_used_at not written", slog.Any("error", err))
		}
	}
	for {
		select {
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalFlushTimeout)
			defer cancel()
			flush(end)
			return
		case <-c.keyUsage.wake:
		}
		// Wait briefly to write several updates in one statement.
		select {
		case <-ctx.Done():
		case <-time.After(usageFlushDelay):
			flush(ctx)
		}
	}
}

// notification is the payload of a database notification. It contains ids only.
type notification struct {
	Kind   string  `json:"kind"`
	Tenant op.UUID `json:"tenant"`
	User   op.UUID `json:"user"`
	JTI    op.UUID `json:"jti"`
}

// Invalidate drops cached data after this process has committed a change of the resource.
func (c *Checker) Invalidate(resourceType string, id op.UUID) {
	n := notification{Kind: resourceType}
	switch resourceType {
	case "api_key", "session":
		n.JTI = id
		c.cfg.Tokens.Forget(id)
	case "user", "membership":
		n.User = id
	case "tenant":
		n.Tenant = id
	default:
		return
	}
	if id != "" {
		c.applyNotification(n, nil)
	}
}

func (c *Checker) handleNotification(payload string) {
	n, err := parseNotification(payload)
	if err == nil && n.JTI != "" {
		c.cfg.Tokens.Forget(n.JTI)
	}
	c.applyNotification(n, err)
}

func parseNotification(payload string) (notification, error) {
	var n notification
	err := json.Unmarshal([]byte(payload), &n)
	return n, err
}

// applyNotification drops the entries that a notification concerns. An unreadable
// notification drops everything: that costs queries, but keeps no outdated entry.
func (c *Checker) applyNotification(n notification, err error) {
	switch {
	case err != nil:
		c.DropAll()
	case n.Kind == "grants" && n.Tenant != "":
		// A cached Subject has its revision, which every request compares.
	case (n.Kind == "api_key" || n.Kind == "session") && n.JTI != "":
		c.records.drop(func(jti op.UUID, _ credentialRecord) bool { return jti == n.JTI })
	case (n.Kind == "membership" || n.Kind == "user") && n.User != "":
		c.dropUser(n.User)
	case n.Kind == "tenant" && n.Tenant != "":
		c.records.drop(func(_ op.UUID, r credentialRecord) bool { return r.Tenant == n.Tenant })
		c.targets.drop(func(_ targetKey, t op.UUID) bool { return t == n.Tenant })
		c.subjects.drop(func(k subjectKey, _ *Principal) bool { return k.tenant == n.Tenant })
	default:
		c.DropAll()
	}
}

func (c *Checker) dropUser(user op.UUID) {
	c.records.drop(func(_ op.UUID, r credentialRecord) bool { return r.Owner == user })
	c.targets.drop(func(k targetKey, _ op.UUID) bool { return k.user == user })
	c.subjects.drop(func(k subjectKey, p *Principal) bool { return k.user == user || slices.Contains(p.delegatorIDs, user) })
}

// DropAll clears all caches.
func (c *Checker) DropAll() {
	c.records.drop(func(op.UUID, credentialRecord) bool { return true })
	c.targets.drop(func(targetKey, op.UUID) bool { return true })
	c.subjects.drop(func(subjectKey, *Principal) bool { return true })
}
