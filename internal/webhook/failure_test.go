package webhook

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	contract "parapet/internal/contract/identity"
	"parapet/internal/events/eventtest"
)

// TestSend_PausesAndDisablesAReceiverThatFails lets a receiver fail for a day: it gets few
// requests, is disabled and reported, and gets everything after it is enabled and the failed
// deliveries are sent again.
func TestSend_PausesAndDisablesAReceiverThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t)
	r.set(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusBadGateway)
		_, _ = rw.Write([]byte("no\x1b[31m backend\xff"))
	})
	hook := w.create("INTERNAL", r.URL).Webhook
	for range 10 {
		w.publish(seeded.acme["tenant"], "UNCLASSIFIED")
	}
	began := w.clock.Now()
	w.run()
	if n := len(r.taken()); n != pauseAfter {
		t.Errorf("got %d requests before the first pause, want %d", n, pauseAfter)
	}
	first := w.log(hook.ID)[0]
	if first.Status != "PENDING" || first.Outcome != "STATUS" || first.ResponseStatus != 502 || first.Attempts != 1 || first.ResponseExcerpt != `no\u001b[31m backend\xff` {
		t.Errorf("got %+v", first)
	}
	state := must[contract.Webhook](w, "INTERNAL", "get-webhook", string(hook.ID), nil)
	if state.PausedUntil == nil || state.ConsecutiveFailures != pauseAfter {
		t.Errorf("got webhook %+v, want it paused", state)
	}
	for rounds := 0; w.wait(); rounds++ {
		if n := len(r.taken()); n > 1 {
			t.Fatalf("got %d requests after a pause, want one trial", n)
		}
		if rounds > 1000 {
			t.Fatal("the webhook was not disabled")
		}
	}
	if d := w.clock.Now().Sub(began); d < giveUpAfter || d > giveUpAfter+time.Hour {
		t.Errorf("disabled after %s, want about 24 h", d)
	}
	state = must[contract.Webhook](w, "INTERNAL", "get-webhook", string(hook.ID), nil)
	if state.Enabled || state.DisabledReason != "FAILING" {
		t.Errorf("got webhook %+v, want it disabled", state)
	}
	for _, d := range w.log(hook.ID) {
		if d.Status != "FAILED" {
			t.Errorf("got delivery %+v, want it failed", d)
		}
	}
	for _, audience := range []string{"USER", "ADMINISTRATORS"} {
		if n := queryValue[int](w, `SELECT count(*) FROM events.notifications WHERE type = 'events.webhook.disabled' AND audience = $1`, audience); n != 1 {
			t.Errorf("got %d notifications for %s, want 1", n, audience)
		}
	}

	r.set(nil)
	must[contract.Webhook](w, "INTERNAL", "update-webhook", string(hook.ID), map[string]any{"enabled": true})
	if out := must[contract.WebhookRedelivery](w, "INTERNAL", "redeliver-webhook", string(hook.ID), nil); out.Count != 10 || out.More {
		t.Errorf("got %+v, want 10 deliveries", out)
	}
	w.run()
	if n := len(r.taken()); n != 10 {
		t.Errorf("got %d requests after the redelivery, want 10", n)
	}
}

// TestSend_RetriesUntilTheReceiverWorks fails three times: the delivery succeeds with the same id,
// and its webhook is not paused any more.
func TestSend_RetriesUntilTheReceiverWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t)
	fails := 3
	r.set(func(rw http.ResponseWriter, _ *http.Request) {
		if fails--; fails >= 0 {
			rw.Header().Set("Retry-After", "7")
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	hook := w.create("INTERNAL", r.URL).Webhook
	w.publish(seeded.acme["tenant"], "UNCLASSIFIED")
	began := w.clock.Now()
	w.run()
	if !w.wait() || w.clock.Now().Sub(began) < 7*time.Second {
		t.Errorf("the second attempt was after %s, want Retry-After to be honoured", w.clock.Now().Sub(began))
	}
	for w.wait() {
	}
	ids := map[string]bool{}
	got := r.taken()
	for _, q := range got {
		ids[q.header.Get("webhook-id")] = true
	}
	log := w.log(hook.ID)
	if len(got) != 4 || len(ids) != 1 || log[0].Status != "DELIVERED" || log[0].Attempts != 4 {
		t.Errorf("got %d requests with %d ids and log %+v, want 4 with one id", len(got), len(ids), log)
	}
	if state := must[contract.Webhook](w, "INTERNAL", "get-webhook", string(hook.ID), nil); state.PausedUntil != nil || state.ConsecutiveFailures != 0 || state.LastSuccessAt == nil {
		t.Errorf("got webhook %+v", state)
	}
}

// TestSend_DisablesAtOnce covers the failures that are final.
func TestSend_DisablesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t)
	r.set(status(http.StatusGone))
	gone := w.create("INTERNAL", r.URL).Webhook.ID
	sealed := w.create("SECRET", r.URL).Webhook.ID
	w.exec(`UPDATE events.webhooks SET secret = '\x00' WHERE id = $1`, sealed)
	w.publish(seeded.acme["tenant"], "UNCLASSIFIED")
	w.run()
	for id, want := range map[string]string{string(gone): "GONE", string(sealed): "SECRET_UNREADABLE"} {
		if state := must[contract.Webhook](w, "INTERNAL", "get-webhook", id, nil); state.Enabled || state.DisabledReason != want {
			t.Errorf("got webhook %+v, want it disabled: %s", state, want)
		}
	}
	if n := len(r.taken()); n != 1 {
		t.Errorf("got %d requests, want 1", n)
	}
	if log := w.log(gone); log[0].Status != "FAILED" || log[0].Outcome != "GONE" {
		t.Errorf("got log %+v", log)
	}
	// A new secret makes the other webhook work again.
	must[contract.WebhookWithSecret](w, "SECRET", "rotate-webhook-secret", string(sealed), nil)
	must[contract.Webhook](w, "SECRET", "update-webhook", string(sealed), map[string]any{"enabled": true})
	r.set(nil)
	must[contract.WebhookDelivery](w, "SECRET", "test-webhook", string(sealed), nil)
	w.run()
	got := r.taken()
	if len(got) != 1 || !strings.Contains(string(got[0].body), `"type":"events.webhook.tested"`) {
		t.Errorf("got %d requests after the rotation, want one with the test", len(got))
	}
	// The events of projects are those of the test.
	w.exec(`DELETE FROM events.outbox WHERE type LIKE 'projects.%'`)
	eventtest.Require(t, w.owner, contract.EventWebhookDisabled.Name)
}

// TestSend_OfAStoppedProcessIsRepeated ends a process during a request: the log says that the
// attempt was interrupted, and the delivery is sent again with the same id.
func TestSend_OfAStoppedProcessIsRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r.set(func(_ http.ResponseWriter, q *http.Request) { stop(); <-q.Context().Done() })
	hook := w.create("INTERNAL", r.URL).Webhook
	w.publish(seeded.acme["tenant"], "UNCLASSIFIED")
	if _, err := w.dispatcher.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for a := range w.jobs {
		if _, err := w.service.Send(ctx, a.Tenant, a.Webhook, a.Number); err == nil {
			t.Error("the job of a stopped process: got no error, want one, so that it runs again")
		}
	}
	log := w.log(hook.ID)
	if log[0].Status != "PENDING" || log[0].Outcome != "INTERRUPTED" || log[0].Attempts != 1 {
		t.Errorf("after the stop: got log %+v", log)
	}
	r.set(nil)
	w.run()
	for w.wait() {
	}
	got := r.taken()
	log = w.log(hook.ID)
	if len(got) != 2 || got[0].header.Get("webhook-id") != got[1].header.Get("webhook-id") || log[0].Status != "DELIVERED" || log[0].Attempts != 2 {
		t.Errorf("got %d requests and log %+v, want the delivery twice with one id", len(got), log)
	}
}

// TestEnqueue_StartsOneJobPerWebhook publishes many events and redelivers them to the subscriber.
func TestEnqueue_StartsOneJobPerWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hook := w.create("INTERNAL", "http://127.0.0.1:9/").Webhook
	w.run()
	for range 20 {
		w.publish(seeded.acme["tenant"], "UNCLASSIFIED")
	}
	for range 2 {
		if _, err := w.dispatcher.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.exec(`UPDATE events.outbox SET dispatched_at = NULL`)
		w.exec(`DELETE FROM events.processed`)
	}
	if len(w.jobs) != 1 || len(w.log(hook.ID)) != 20 {
		t.Errorf("got %d jobs and %d deliveries, want 1 and 20", len(w.jobs), len(w.log(hook.ID)))
	}
}
