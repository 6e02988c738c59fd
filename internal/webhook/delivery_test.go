package webhook

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	contract "parapet/internal/contract/identity"
)

// TestSend_SatisfiesStandardWebhooks receives events with the official library, before, during
// and after the rotation of the secret.
func TestSend_SatisfiesStandardWebhooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t)
	created := w.create("SECRET", r.URL)
	verifier := func(secret string) *standardwebhooks.Webhook {
		v, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := verifier(created.Secret)
	// receive publishes an event and returns whether each verifier accepts the request.
	receive := func(verifiers ...*standardwebhooks.Webhook) (accepted []bool) {
		t.Helper()
		w.publish(seeded.acme["tenant"], "SECRET")
		w.run()
		got := r.taken()
		if len(got) != 1 {
			t.Fatalf("got %d requests, want 1", len(got))
		}
		for _, v := range verifiers {
			// The clock of the test may be far from the time of the machine.
			accepted = append(accepted, v.VerifyIgnoringTimestamp(got[0].body, got[0].header) == nil)
		}
		return accepted
	}
	event := w.publish(seeded.acme["tenant"], "SECRET")
	w.run()
	got := r.taken()
	if len(got) != 1 {
		t.Fatalf("got %d requests, want 1", len(got))
	}
	if err := first.Verify(got[0].body, got[0].header); err != nil {
		t.Errorf("verify with the official library: %v", err)
	}
	var body struct {
		Type      string
		Timestamp time.Time
		Data      map[string]any
	}
	if err := json.Unmarshal(got[0].body, &body); err != nil {
		t.Fatal(err)
	}
	if body.Type != "projects.task.created" || !body.Timestamp.Equal(w.clock.Now()) || body.Data["id"] != string(event) || body.Data["tenantId"] != string(seeded.acme["tenant"]) {
		t.Errorf("got body %s", got[0].body)
	}
	if strings.Contains(string(got[0].body), "notify") || !strings.Contains(string(got[0].body), `"title":"Text of SECRET"`) {
		t.Errorf("got body %s, want the resource and not the users to notify", got[0].body)
	}
	log := w.log(created.Webhook.ID)
	if len(log) != 1 || string(log[0].ID) != got[0].header.Get("webhook-id") || log[0].Status != "DELIVERED" || log[0].Outcome != "ACCEPTED" || log[0].ResponseStatus != 200 || log[0].EventID != event {
		t.Errorf("got log %+v", log)
	}

	rotated := must[contract.WebhookWithSecret](w, "SECRET", "rotate-webhook-secret", string(created.Webhook.ID), nil)
	second := verifier(rotated.Secret)
	if got := receive(first, second); !got[0] || !got[1] {
		t.Errorf("after the rotation: got accepted %v, want both secrets", got)
	}
	w.clock.advance(24 * time.Hour)
	if got := receive(first, second); got[0] || !got[1] {
		t.Errorf("a day after the rotation: got accepted %v, want the new secret only", got)
	}
	if n := queryValue[int](w, `SELECT count(*) FROM events.webhooks WHERE previous_secret IS NOT NULL`); n != 0 {
		t.Error("the expired secret is still stored")
	}
}
