package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/dev"
)

const (
	lockedClients = 200
	floodClients  = 64
	importClients = 8
	importBlocks  = 39
	// rejectedPause is how long a client waits after a rejected request, a tenth of
	// the usual Retry-After.
	rejectedPause = 100 * time.Millisecond
)

func attackNames() []string { return []string{"locked-row", "imports", "flood"} }

// attacker is a client of the tenant that loads the server.
type attacker struct {
	info           dev.Info
	client         *http.Client
	token, project string
	tasks          []string
	sent, rejected atomic.Int64
}

// attack loads the server as acme until its standard input ends.
func attack(ctx context.Context, name, infoFile string) error {
	info, err := readInfo(infoFile)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := &attacker{info: info, client: attackClient()}
	if a.token, a.project, err = member(ctx, info, "acme", fmt.Sprintf("A%d", time.Now().UnixMilli()%1e8)); err != nil {
		return err
	}
	if a.tasks, err = importTasks(ctx, info.BaseURL, a.token, a.project, items("t", 100, 0)); err != nil {
		return err
	}
	var clients sync.WaitGroup
	switch name {
	case "locked-row":
		unlock, err := a.lock(ctx)
		if err != nil {
			return err
		}
		defer unlock()
		for range lockedClients {
			clients.Go(func() { a.repeat(ctx, func(int) { a.change(ctx, a.tasks[0]) }) })
		}
	case "imports":
		// Encode the body once, so that encoding it does not load the machine.
		body, err := json.Marshal(map[string]any{"items": items("batch", 500, importBlocks)})
		if err != nil {
			return err
		}
		for i := range importClients {
			clients.Go(func() {
				a.repeat(ctx, func(n int) {
					a.send(ctx, "POST", "/api/projects/"+a.project+"/import", bytes.ReplaceAll(body, []byte("batch"), fmt.Appendf(nil, "i%d-%d", i, n)))
				})
			})
		}
	case "flood":
		for i := range floodClients {
			clients.Go(func() {
				a.repeat(ctx, func(n int) {
					if i%2 == 0 {
						a.sendJSON(ctx, "GET", "/api/projects/"+a.project+"/tasks?limit=50", nil)
					} else {
						a.change(ctx, a.tasks[(i*7+n)%len(a.tasks)])
					}
				})
			})
		}
	default:
		return fmt.Errorf("unknown attack %q; known attacks: %v", name, attackNames())
	}
	fmt.Println("begun")
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	clients.Wait()
	fmt.Fprintf(os.Stderr, "    %s: %d requests, %d of them rejected\n", name, a.sent.Load(), a.rejected.Load())
	return nil
}

// lock locks the row of the first task, as a transaction that does not end would.
func (a *attacker) lock(ctx context.Context) (func(), error) {
	conn, err := pgx.Connect(ctx, a.info.DirectURL)
	if err != nil {
		return nil, err
	}
	unlock := func() { _ = conn.Close(context.WithoutCancel(ctx)) }
	if _, err = conn.Exec(ctx, `BEGIN`); err == nil {
		_, err = conn.Exec(ctx, `SELECT FROM projects.tasks WHERE id = $1 FOR UPDATE`, a.tasks[0])
	}
	if err != nil {
		unlock()
	}
	return unlock, err
}

func (a *attacker) repeat(ctx context.Context, f func(n int)) {
	for n := 0; ctx.Err() == nil; n++ {
		f(n)
	}
}

func (a *attacker) change(ctx context.Context, task string) {
	a.sendJSON(ctx, "PATCH", "/api/projects/"+a.project+"/tasks/"+task, map[string]any{"description": time.Now().String()})
}

// sendJSON sends a request with in as JSON, or without a body if in is nil.
func (a *attacker) sendJSON(ctx context.Context, method, path string, in any) {
	body, err := json.Marshal(in)
	if err != nil || in == nil {
		body = nil
	}
	a.send(ctx, method, path, body)
}

// send sends a request and reads the response. It pauses after a failure.
func (a *attacker) send(ctx context.Context, method, path string, body []byte) {
	req, err := http.NewRequestWithContext(ctx, method, a.info.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+a.token)
	resp, err := a.client.Do(req)
	if ctx.Err() != nil {
		return
	}
	a.sent.Add(1)
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode < 300 {
			return
		}
	}
	a.rejected.Add(1)
	time.Sleep(rejectedPause)
}
