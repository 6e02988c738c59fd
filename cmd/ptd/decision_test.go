package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"
)

// TestWaitDecision_AnsweredInAnotherProcess creates and answers a decision request at one
// ptd while a client waits for it at another, and logs the waiter's latency. SIGTERM must
// end a wait immediately.
func TestWaitDecision_AnsweredInAnotherProcess(t *testing.T) {
	t.Parallel()
	const rounds = 200
	p, info := seededServer(t)
	other := startSecondServer(t, info.DatabaseURL, info.APIKeyJWTSecret)
	const email = "project-manager@acme.example"
	manager := login(t, info, info.BaseURL, email)
	_, me := findUser(t, info, email)
	var project, task struct{ ID, Key string }
	manager.must(201, "POST", "/api/projects", map[string]any{"name": "Answers", "startDate": "2027-01-01"}).into(t, &project)
	manager.must(201, "POST", "/api/projects/"+project.ID+"/tasks", map[string]any{"title": "Decide", "assignee": me.ID, "status": "IN_PROGRESS"}).into(t, &task)
	requests := "/api/projects/" + project.ID + "/tasks/" + task.Key + "/decision-requests"

	type waited struct {
		status string
		err    error
		at     time.Time
	}
	wait := func(base, id string) <-chan waited {
		done := make(chan waited, 1)
		go func() {
			var got struct{ Status string }
			text, err := getURL(base+requests+"/"+id+"/wait?timeoutSeconds=55", manager.token)
			if err == nil {
				err = json.Unmarshal(text, &got)
			}
			done <- waited{got.Status, err, time.Now()}
		}()
		return done
	}
	ask := func() string {
		t.Helper()
		var d struct{ ID string }
		manager.must(200, "POST", requests, map[string]any{"question": "Which way?", "options": []string{"left", "right"}}).into(t, &d)
		return d.ID
	}
	var after, whole []time.Duration
	for range rounds {
		id := ask()
		done := wait(other, id)
		time.Sleep(10 * time.Millisecond)
		started := time.Now()
		manager.must(200, "POST", requests+"/"+id+"/answer", map[string]any{"chosenOptionIndex": 1})
		ended := time.Now()
		select {
		case w := <-done:
			if w.err != nil || w.status != "answered" {
				t.Fatalf("wait: got %+v, want the status answered", w)
			}
			after, whole = append(after, max(w.at.Sub(ended), 0)), append(whole, w.at.Sub(started))
		case <-time.After(10 * time.Second):
			t.Fatal("wait: no response after the answer")
		}
	}
	slices.Sort(after)
	slices.Sort(whole)
	of := func(all []time.Duration, percent int) time.Duration {
		return all[len(all)*percent/100].Round(10 * time.Microsecond)
	}
	t.Logf("%d rounds over HTTP, two ptd: waiter's answer after the answerer's p50 %s p99 %s, after the answerer's request p50 %s p99 %s",
		rounds, of(after, 50), of(after, 99), of(whole, 50), of(whole, 99))
	if p99 := of(after, 99); p99 > time.Second {
		t.Errorf("p99 latency: got %s, want at most 1s", p99)
	}

	id := ask()
	done := wait(info.BaseURL, id)
	time.Sleep(100 * time.Millisecond)
	started := time.Now()
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	if w := <-done; w.err != nil || w.status != "open" || w.at.Sub(started) > 2*time.Second {
		t.Errorf("wait after SIGTERM: ended after %s with %+v, want the open request immediately", w.at.Sub(started), w)
	}
}

func getURL(url, token string) ([]byte, error) {
	r, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("got status %d: %s", resp.StatusCode, text)
	}
	return text, err
}
