package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	listenRetryFirst = 200 * time.Millisecond
	listenRetryMax   = 10 * time.Second
	// listenIdleTimeout is after how long without a notice the connection is asked
	// whether it still is one.
	listenIdleTimeout = 10 * time.Second
	listenPing        = 5 * time.Second
)

// Listener is a part of the process that wants the notices of one channel.
type Listener struct {
	// Channel is the channel's name: program text, written as an identifier.
	Channel string
	// Missed is called when a connection begins to listen, before any of its
	// notices: what was announced until then may not have been heard.
	Missed func()
	// Handle is called for one notice after the other. All channels share one
	// connection, so it does not wait for anything.
	Handle func(payload string)
}

// Notifications hears what the database announces (NOTIFY), on one connection for the
// whole process. While no connection listens, a part has what it had: whoever
// relies on notices has another bound as well.
type Notifications struct {
	url       string
	log       *slog.Logger
	listeners []Listener
}

// NewNotifications makes Notices from the address of any role, because listening
// needs no privilege. It must not lead through a transaction-mode pooler.
func NewNotifications(url string, log *slog.Logger) *Notifications {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Notifications{url: url, log: log}
}

// On adds a hearer, before Run.
func (n *Notifications) On(h Listener) { n.listeners = append(n.listeners, h) }

// Run listens until ctx ends; a connection that is lost is made anew.
func (n *Notifications) Run(ctx context.Context) {
	if len(n.listeners) == 0 {
		return
	}
	wait := listenRetryFirst
	for ctx.Err() == nil {
		began := time.Now()
		err := n.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		n.log.WarnContext(ctx, "change notices are not heard; listening again", slog.Any("error", err))
		if time.Since(began) > listenRetryMax {
			wait = listenRetryFirst
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, listenRetryMax)
	}
}

// listen makes one connection and hears until it ends.
func (n *Notifications) listen(ctx context.Context) error {
	cfg, err := pgx.ParseConfig(n.url)
	if err != nil {
		return err
	}
	cfg.RuntimeParams["application_name"] = "parapet-notices"
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var commands []string
	for _, h := range n.listeners {
		if command := "LISTEN " + h.Channel; !slices.Contains(commands, command) {
			commands = append(commands, command)
		}
	}
	if _, err := conn.Exec(ctx, strings.Join(commands, "; "), pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	for _, h := range n.listeners {
		h.Missed()
	}
	return Hear(ctx, conn, func(channel, payload string) {
		for _, h := range n.listeners {
			if h.Channel == channel {
				h.Handle(payload)
			}
		}
	})
}

// Handle passes on the notices of a connection that listens, one after the other.
// It returns when ctx ends or the connection is no more, which a connection that
// says nothing is asked about from time to time.
func Hear(ctx context.Context, conn *pgx.Conn, hear func(channel, payload string)) error {
	for {
		quiet, cancel := context.WithTimeout(ctx, listenIdleTimeout)
		notice, err := conn.WaitForNotification(quiet)
		cancel()
		switch {
		case err == nil:
			hear(notice.Channel, notice.Payload)
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && !conn.IsClosed():
			// Quiet, or cut off without a word: only an answer tells.
			if err := probe(ctx, conn); err != nil {
				return fmt.Errorf("postgres: ping: %w", err)
			}
		default:
			return fmt.Errorf("postgres: listen: %w", err)
		}
	}
}

func probe(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, listenPing)
	defer cancel()
	return conn.Ping(ctx)
}
