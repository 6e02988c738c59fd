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
	// listenIdleTimeout is how long the connection may be silent before it is pinged.
	listenIdleTimeout = 10 * time.Second
	listenPingTimeout = 5 * time.Second
)

// Listener handles the notifications of one channel.
type Listener struct {
	// Channel is the channel's name, written into LISTEN as an identifier. It must be a constant.
	Channel string
	// Missed is called when a connection starts to listen, before any of its
	// notifications: earlier notifications may have been lost.
	Missed func()
	// Handle is called for each notification in order. All channels share one
	// connection, so it must not block.
	Handle func(payload string)
}

// Notifications receives the database's notifications (LISTEN/NOTIFY) on one connection
// for the whole process. Notifications are lost while the connection is down, so listeners
// must also refresh in another way, for example periodically.
type Notifications struct {
	url       string
	log       *slog.Logger
	listeners []Listener
}

// NewNotifications returns a Notifications that connects to url. Any role can listen. The
// address must not lead through a connection pooler in transaction mode.
func NewNotifications(url string, log *slog.Logger) *Notifications {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Notifications{url: url, log: log}
}

// AddListener adds a listener. Call it before Run.
func (n *Notifications) AddListener(h Listener) { n.listeners = append(n.listeners, h) }

// Run listens until ctx ends. It reconnects when the connection is lost.
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
		n.log.WarnContext(ctx, "lost the notification connection; reconnecting", slog.Any("error", err))
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

// listen opens a connection and handles its notifications until it fails.
func (n *Notifications) listen(ctx context.Context) error {
	cfg, err := pgx.ParseConfig(n.url)
	if err != nil {
		return err
	}
	cfg.RuntimeParams["application_name"] = "parapet-notifications"
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
	return ReceiveNotifications(ctx, conn, func(channel, payload string) {
		for _, h := range n.listeners {
			if h.Channel == channel {
				h.Handle(payload)
			}
		}
	})
}

// ReceiveNotifications calls handle for each notification of a listening connection, in
// order. It returns when ctx ends or the connection is lost. A silent connection is
// pinged from time to time.
func ReceiveNotifications(ctx context.Context, conn *pgx.Conn, handle func(channel, payload string)) error {
	for {
		idleCtx, cancel := context.WithTimeout(ctx, listenIdleTimeout)
		notification, err := conn.WaitForNotification(idleCtx)
		cancel()
		switch {
		case err == nil:
			handle(notification.Channel, notification.Payload)
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && !conn.IsClosed():
			// The connection is silent or cut off. A ping finds out which.
			if err := ping(ctx, conn); err != nil {
				return fmt.Errorf("postgres: ping: %w", err)
			}
		default:
			return fmt.Errorf("postgres: listen: %w", err)
		}
	}
}

func ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, listenPingTimeout)
	defer cancel()
	return conn.Ping(ctx)
}
