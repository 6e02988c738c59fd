package principal

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"parapet/internal/op"
)

// Channel is where the database announces changes of the directory.
const Channel = "parapet_identity"

const finalFlushTimeout = 3 * time.Second

// Run writes last_used_at until ctx ends; then it writes what still waits.
func (c *Checker) Run(ctx context.Context) {
	flush := func(ctx context.Context) {
		if err := c.credentialUse.flush(ctx, c.cfg.Pool, c.cfg.Clock.Now()); err != nil && ctx.Err() == nil {
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
		case <-c.credentialUse.wake:
		}
		// A moment for more of them, so that one statement writes many.
		select {
		case <-ctx.Done():
		case <-time.After(usageFlush):
			flush(ctx)
		}
	}
}

// notification is what the database says of a change: ids alone.
type notification struct {
	Kind   string  `json:"kind"`
	Tenant op.UUID `json:"tenant"`
	User   op.UUID `json:"user"`
	JTI    op.UUID `json:"jti"`
}

// Changed is the notice of a change that this process has itself committed.
func (c *Checker) Changed(resourceType string, id op.UUID) {
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
		c.apply(n, nil)
	}
}

func (c *Checker) handleNotification(payload string) {
	n, err := parseNotification(payload)
	if err == nil && n.JTI != "" {
		c.cfg.Tokens.Forget(n.JTI)
	}
	c.apply(n, err)
}

func parseNotification(payload string) (notification, error) {
	var n notification
	err := json.Unmarshal([]byte(payload), &n)
	return n, err
}

// apply drops what a notice concerns. One that cannot be read drops everything:
// it costs some queries, and the opposite could cost more.
func (c *Checker) apply(n notification, err error) {
	switch {
	case err != nil:
		c.DropAll()
	case n.Kind == "grants" && n.Tenant != "":
		// Subjects carry their revision, which every request compares: nothing to drop.
	case (n.Kind == "api_key" || n.Kind == "session") && n.JTI != "":
		c.live.drop(func(jti op.UUID, _ liveRecord) bool { return jti == n.JTI })
	case (n.Kind == "membership" || n.Kind == "user") && n.User != "":
		c.dropUser(n.User)
	case n.Kind == "tenant" && n.Tenant != "":
		c.live.drop(func(_ op.UUID, r liveRecord) bool { return r.Tenant == n.Tenant })
		c.targets.drop(func(_ targetKey, t op.UUID) bool { return t == n.Tenant })
		c.subjects.drop(func(k subjectKey, _ *Principal) bool { return k.tenant == n.Tenant })
	default:
		c.DropAll()
	}
}

func (c *Checker) dropUser(user op.UUID) {
	c.live.drop(func(_ op.UUID, r liveRecord) bool { return r.Owner == user })
	c.targets.drop(func(k targetKey, _ op.UUID) bool { return k.user == user })
	c.subjects.drop(func(k subjectKey, p *Principal) bool { return k.user == user || slices.Contains(p.delegatorIDs, user) })
}

// DropAll forgets everything that is remembered.
func (c *Checker) DropAll() {
	c.live.drop(func(op.UUID, liveRecord) bool { return true })
	c.targets.drop(func(targetKey, op.UUID) bool { return true })
	c.subjects.drop(func(subjectKey, *Principal) bool { return true })
}
