package cli

import (
	"context"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
)

const (
	// followInterval is the time between two requests of --follow.
	followInterval = 2 * time.Second
	// maxFollowInterval is the time between two requests while the service does not respond.
	maxFollowInterval = 30 * time.Second
	// followTail is the number of existing entries that --follow shows first.
	followTail = 10
)

// logForm is how --follow reads a log that the service lists newest first.
type logForm struct {
	// position returns the position of an entry in the log. It grows with each entry.
	position func(entry any) int64
	// delay is how far behind the newest position an entry can still appear, because the
	// service writes the log asynchronously.
	delay int64
	id    func(entry any) string
	// isOwn reports whether the entry comes from reading the log.
	isOwn func(k *call, entry any) bool
	line  func(entry any) string
}

// follower prints the new entries of a log.
type follower struct {
	call *call
	log  *logForm
	// newest is the highest position so far.
	newest int64
	// seen are the entries from which on an entry can still appear late, by id.
	seen map[string]int64
}

// bindFollow adds --follow to the command of a log.
func (k *call) bindFollow(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&k.isFollowing, "follow", "f", false, "print new entries until Ctrl-C; first print the last 10, or --limit")
	for _, other := range []string{"all", "cursor", "until"} {
		cmd.MarkFlagsMutuallyExclusive("follow", other)
	}
	k.followLimit = func() int {
		limit, _ := pageFields(k.op, k.in)
		if limit == nil || !cmd.Flags().Changed("limit") {
			return followTail
		}
		return *limit
	}
}

// follow prints the last entries of a log, and new ones until ctx ends.
func (k *call) follow(ctx context.Context, c *client.Client) error {
	f := &follower{call: k, log: k.form.log, newest: math.MinInt64, seen: map[string]int64{}}
	tail := k.followLimit()
	entries, err := f.read(ctx, c, tail)
	if err != nil {
		return err
	}
	if err := f.print(ctx, entries[max(0, len(entries)-tail):]); err != nil {
		return err
	}
	wait, isLost := followInterval, false
	for {
		if k.inv.wait(ctx, wait) != nil {
			return nil //nolint:nilerr // Ctrl-C is how the command ends
		}
		entries, err := f.read(ctx, c, 0)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // as above
		case err != nil && !isRetryable(err):
			return err
		case err != nil:
			if !isLost {
				k.inv.printNote("%s pt keeps trying.", k.inv.newErrorReport(err, ExitLater).Message)
			}
			isLost, wait = true, min(2*wait, maxFollowInterval)
			continue
		case isLost:
			k.inv.printNote("The service responds again.")
		}
		isLost, wait = false, followInterval
		if err := f.print(ctx, entries); err != nil {
			return err
		}
	}
}

// wait waits between two requests.
func (inv *invocation) wait(ctx context.Context, d time.Duration) error {
	if inv.Sleep != nil {
		return inv.Sleep(ctx, d)
	}
	return sleep(ctx, d)
}

// read returns the entries that were not read before, oldest first. The first time, it
// returns at least the last tail entries. If it returns an error, the next call returns
// the same entries again.
func (f *follower) read(ctx context.Context, c *client.Client, tail int) ([]any, error) {
	horizon := int64(math.MinInt64)
	isFirst := tail > 0
	if f.newest > math.MinInt64 {
		horizon = f.newest - f.log.delay
	}
	limit, cursor := pageFields(f.call.op, f.call.in)
	*limit, *cursor = maxPage, ""
	newest, seen := f.newest, map[string]int64{}
	for id, position := range f.seen {
		seen[id] = position
	}
	var entries []any
	for {
		page := reflect.New(f.call.op.Out)
		if err := f.call.execute(ctx, c, page.Interface()); err != nil {
			return nil, err
		}
		items := page.Elem().FieldByName("Items")
		isPast := false
		for i := range items.Len() {
			entry := items.Index(i).Addr().Interface()
			position, id := f.log.position(entry), f.log.id(entry)
			newest = max(newest, position)
			if isFirst {
				horizon = newest - f.log.delay
			}
			if position <= horizon && (!isFirst || len(entries) >= tail) {
				isPast = true
				break
			}
			if _, known := seen[id]; !known && !f.log.isOwn(f.call, entry) {
				entries = append(entries, entry)
			}
			seen[id] = position
		}
		*cursor = page.Elem().FieldByName("NextCursor").String()
		if isPast || *cursor == "" {
			break
		}
	}
	f.newest, f.seen = newest, seen
	for id, position := range seen {
		if position <= newest-f.log.delay {
			delete(seen, id)
		}
	}
	slices.Reverse(entries)
	return entries, nil
}

// print prints entries: one line for each, or one JSON document.
func (f *follower) print(ctx context.Context, entries []any) error {
	for _, entry := range entries {
		err := f.call.inv.show(ctx, view{data: entry, markdown: func(d *markdown.Doc) { d.Line(f.log.line(entry)) }})
		if err != nil {
			return err
		}
	}
	return nil
}
