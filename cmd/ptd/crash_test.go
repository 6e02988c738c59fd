package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestServer_KilledDuringWrites_LosesNoAcknowledgedWrite kills ptd and its database during writes. After the next
// start every acknowledged write exists once, with its audit entry and its event; each
// unacknowledged one exists completely or not at all; the events are delivered and the
// audit chain verifies.
func TestServer_KilledDuringWrites_LosesNoAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, info := devServer(t, dir)
	var project struct{ ID string }
	manager := login(t, info, info.BaseURL, "project-manager@acme.example")
	manager.requireStatus(201, "POST", "/api/projects", map[string]any{"name": "Crash", "startDate": "2027-01-01"}).decode(t, &project)

	var mu sync.Mutex
	acknowledged := map[string]string{}
	enough := make(chan struct{}) // closed after 40 acknowledged writes
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				title := fmt.Sprintf("crash %d %d", w, i)
				if id := tryCreate(ctx, info.BaseURL+"/api/projects/"+project.ID+"/tasks", manager.token, title); id != "" {
					mu.Lock()
					acknowledged[id] = title
					if len(acknowledged) == 40 {
						close(enough)
					}
					mu.Unlock()
				}
			}
		})
	}
	<-enough
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	stop()
	writers.Wait()
	p.done <- <-p.done

	_, info = devServer(t, dir)
	conn, err := pgx.Connect(t.Context(), info.DirectURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	rows, err := conn.Query(t.Context(), `
		SELECT t.id::text, t.title,
		       (SELECT count(*) FROM audit.entries e WHERE e.resource_id = t.id::text AND e.action = 'task.created'),
		       (SELECT count(*) FROM events.outbox o WHERE o.aggregate_id = t.id::text AND o.type = 'projects.task.created')
		FROM projects.tasks t WHERE t.project_id = $1`, project.ID)
	if err != nil {
		t.Fatal(err)
	}
	var id, title string
	var entries, eventCount int
	found, titles := map[string]string{}, map[string]int{}
	if _, err := pgx.ForEachRow(rows, []any{&id, &title, &entries, &eventCount}, func() error {
		found[id] = title
		titles[title]++
		if entries != 1 || eventCount != 1 {
			t.Errorf("%s: got %d audit entries and %d events, want 1 and 1", title, entries, eventCount)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for id, title := range acknowledged {
		if found[id] != title {
			t.Errorf("%s was acknowledged but does not exist", title)
		}
	}
	for title, n := range titles {
		if n != 1 {
			t.Errorf("%s: got %d tasks, want 1", title, n)
		}
	}
	var orphans int
	if err := conn.QueryRow(t.Context(), `
		SELECT count(*) FROM audit.entries e WHERE e.action = 'task.created'
		AND NOT EXISTS (SELECT 1 FROM projects.tasks t WHERE t.id::text = e.resource_id)`).Scan(&orphans); err != nil || orphans != 0 {
		t.Errorf("audit entries of missing tasks: got %d, %v; want 0", orphans, err)
	}
	end := time.Now().Add(30 * time.Second)
	for waiting := 1; waiting > 0; time.Sleep(50 * time.Millisecond) {
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM events.outbox WHERE dispatched_at IS NULL`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatalf("undelivered events: got %d, want 0", waiting)
		}
	}
	verify := exec.Command(binary, "audit", "verify")
	verify.Env = append(os.Environ(), "DATABASE_URL="+info.DatabaseURL, "DIRECT_URL="+info.DirectURL, "API_KEY_JWT_SECRET="+info.APIKeyJWTSecret)
	if out, err := verify.CombinedOutput(); err != nil || !strings.Contains(string(out), " 0 problems") {
		t.Errorf("audit verify: %v: %s", err, out)
	}
}

// tryCreate creates a task and returns its id, or an empty string if there was no response.
func tryCreate(ctx context.Context, url, token, title string) string {
	body, err := json.Marshal(map[string]any{"title": title, "allowDuplicate": true})
	if err != nil {
		return ""
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return ""
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var made struct{ ID string }
	if json.NewDecoder(resp.Body).Decode(&made) != nil || resp.StatusCode != http.StatusCreated {
		return ""
	}
	return made.ID
}
