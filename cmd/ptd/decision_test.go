package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"parapet/internal/postgres/pgtest"
)

// TestWaitDecision_AnsweredInAnotherProcess creates and answers decision requests at one
// ptd while a client waits for them at another, and logs the waiter's latency. SIGTERM must
// end a wait.
func TestWaitDecision_AnsweredInAnotherProcess(t *testing.T) {
	t.Parallel()
	p, info := seededServer(t)
	other := startSecondServer(t, info.DatabaseURL, info.APIKeyJWTSecret)
	const email = "project-manager@acme.example"
	manager := login(t, info, info.BaseURL, email)
	_, me := findUser(t, info, email)
	var project, task struct{ ID, Key string }
	manager.requireStatus(201, "POST", "/api/projects", map[string]any{"name": "Answers", "startDate": "2027-01-01"}).decode(t, &project)
	manager.requireStatus(201, "POST", "/api/projects/"+project.ID+"/tasks", map[string]any{"title": "Decide", "assignee": me.ID, "status": "IN_PROGRESS"}).decode(t, &task)
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
	untilWaiting := func(base string) {
		t.Helper()
		pgtest.Eventually(t, time.Minute, "a call waits at "+base, func() bool {
			text, err := getURL(base+"/metrics", "")
			return err == nil && bytes.Contains(text, []byte("\nparapet_wait_decision_calls 1\n"))
		})
	}
	ask := func() string {
		t.Helper()
		var d struct{ ID string }
		manager.requireStatus(200, "POST", requests, map[string]any{"question": "Which way?", "options": []string{"left", "right"}}).decode(t, &d)
		return d.ID
	}
	var after []time.Duration
	for range 20 {
		id := ask()
		done := wait(other, id)
		untilWaiting(other)
		manager.requireStatus(200, "POST", requests+"/"+id+"/answer", map[string]any{"chosenOptionIndex": 1})
		ended := time.Now()
		select {
		case w := <-done:
			if w.err != nil || w.status != "answered" {
				t.Fatalf("wait: got %+v, want the status answered", w)
			}
			after = append(after, max(w.at.Sub(ended), 0))
		case <-time.After(30 * time.Second): // without a notification, the wait ends after 55 s
			t.Fatal("wait: no response after the answer")
		}
	}
	slices.Sort(after)
	t.Logf("from the response to the answer until the response to the wait: median %s, maximum %s", after[len(after)/2], after[len(after)-1])

	id := ask()
	done := wait(info.BaseURL, id)
	untilWaiting(info.BaseURL)
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	// ptd cuts requests after PT_DRAIN_SECONDS (20); this wait would take 55 s.
	if w := <-done; w.err != nil || w.status != "open" {
		t.Errorf("wait after SIGTERM: got %+v, want the open request", w)
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
