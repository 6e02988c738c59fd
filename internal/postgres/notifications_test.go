package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
)

// Two channels share one connection. When it is lost, Notifications reconnects and calls
// Missed of both listeners.
func TestNotifications_ShareOneConnectionAndReconnect(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner := db.Owner(t)
	notifications := postgres.NewNotifications(db.RoleURL(postgres.RoleAuth), nil)
	received := make(chan string, 100)
	for _, channel := range []string{"parapet_one", "parapet_two"} {
		notifications.AddListener(postgres.Listener{
			Channel: channel,
			Missed:  func() { received <- channel + " begins" },
			Handle:  func(payload string) { received <- channel + " " + payload },
		})
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { notifications.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	want := func(lines ...string) {
		t.Helper()
		for _, line := range lines {
			select {
			case got := <-received:
				if got != line {
					t.Fatalf("next notification: got %q, want %q", got, line)
				}
			case <-time.After(time.Minute):
				t.Fatalf("got no notification within 10 seconds, want %q", line)
			}
		}
	}
	notify := func(channel, payload string) {
		t.Helper()
		if _, err := owner.Exec(ctx, `SELECT pg_notify($1, $2)`, channel, payload); err != nil {
			t.Fatal(err)
		}
	}
	const listeners = `FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'parapet-notifications'`
	for round := range 2 {
		want("parapet_one begins", "parapet_two begins")
		for i := range 3 {
			notify("parapet_two", fmt.Sprint(round, i))
			notify("parapet_one", fmt.Sprint(round, i))
			want(fmt.Sprintf("parapet_two %d %d", round, i), fmt.Sprintf("parapet_one %d %d", round, i))
		}
		var n int
		if err := owner.QueryRow(ctx, `SELECT count(*) `+listeners).Scan(&n); err != nil || n != 1 {
			t.Fatalf("got %d listening connections (%v), want 1", n, err)
		}
		if _, err := owner.Exec(ctx, `SELECT pg_terminate_backend(pid) `+listeners); err != nil {
			t.Fatal(err)
		}
	}
	want("parapet_one begins", "parapet_two begins")
}
