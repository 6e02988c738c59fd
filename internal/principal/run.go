package principal

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"parapet/internal/op"
)

// Channel is where the database announces changes of the directory.
const Channel = "parapet_identity"

const (
	listenRetryFirst = 200 * time.Millisecond
	listenRetryMax   = 10 * time.Second
	listenPing       = 20 * time.Second
	flushAtEnd       = 3 * time.Second
)

// Run listens for change notices and writes last_used_at until ctx ends; then it
// writes what still waits. While no connection listens, the caches' times are
// the bound; a new connection begins by dropping everything, since notices may
// have been missed.
func (c *Checker) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { c.writeUsage(ctx); return nil })
	if c.cfg.NoticeURL != "" {
		group.Go(func() error { c.listen(ctx); return nil })
	}
	return group.Wait()
}

func (c *Checker) writeUsage(ctx context.Context) {
	flush := func(ctx context.Context) {
		if err := c.used.flush(ctx, c.cfg.Pool, c.cfg.Clock.Now()); err != nil && ctx.Err() == nil {
			c.cfg.Log.WarnContext(ctx, "last_used_at not written", slog.Any("error", err))
		}
	}
	for {
		select {
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushAtEnd)
			defer cancel()
			flush(end)
			return
		case <-c.used.wake:
		}
		// A moment for more of them, so that one statement writes many.
		select {
		case <-ctx.Done():
		case <-time.After(usageFlush):
			flush(ctx)
		}
	}
}

func (c *Checker) listen(ctx context.Context) {
	wait := listenRetryFirst
	for ctx.Err() == nil {
		began := c.cfg.Clock.Now()
		err := c.listenOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		c.cfg.Log.WarnContext(ctx, "change notices are not heard; listening again", slog.Any("error", err))
		if c.cfg.Clock.Now().Sub(began) > listenRetryMax {
			wait = listenRetryFirst
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, listenRetryMax)
	}
}

func (c *Checker) listenOnce(ctx context.Context) error {
	cfg, err := pgx.ParseConfig(c.cfg.NoticeURL)
	if err != nil {
		return err
	}
	cfg.RuntimeParams["application_name"] = "parapet-notices"
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN "+Channel); err != nil {
		return err
	}
	c.DropAll()
	for {
		quiet, cancel := context.WithTimeout(ctx, listenPing)
		n, err := conn.WaitForNotification(quiet)
		cancel()
		switch {
		case err == nil:
			c.hear(n.Payload)
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			// Quiet, or cut off without a word: only an answer tells.
			if err := ping(ctx, conn); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	return conn.Ping(ctx)
}

// notice is what the database says of a change: ids alone.
type notice struct {
	Kind   string  `json:"kind"`
	Tenant op.UUID `json:"tenant"`
	User   op.UUID `json:"user"`
	JTI    op.UUID `json:"jti"`
}

// Changed is the notice of a change that this process has itself committed.
func (c *Checker) Changed(resourceType string, id op.UUID) {
	n := notice{Kind: resourceType}
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

func (c *Checker) hear(payload string) {
	n, err := readNotice(payload)
	if err == nil && n.JTI != "" {
		c.cfg.Tokens.Forget(n.JTI)
	}
	c.apply(n, err)
}

func readNotice(payload string) (notice, error) {
	var n notice
	err := json.Unmarshal([]byte(payload), &n)
	return n, err
}

// apply drops what a notice concerns. One that cannot be read drops everything:
// it costs some queries, and the opposite could cost more.
func (c *Checker) apply(n notice, err error) {
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
	c.subjects.drop(func(k subjectKey, _ *Principal) bool { return k.user == user })
}

// DropAll forgets everything that is remembered.
func (c *Checker) DropAll() {
	c.live.drop(func(op.UUID, liveRecord) bool { return true })
	c.targets.drop(func(targetKey, op.UUID) bool { return true })
	c.subjects.drop(func(subjectKey, *Principal) bool { return true })
}
