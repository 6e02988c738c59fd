package webhook

import (
	"strings"
	"testing"

	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// TestSend_DeliversOnlyWhatTheOwnerMayReadNow changes the authority of the owner between events.
func TestSend_DeliversOnlyWhatTheOwnerMayReadNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	high, low, limited, foreign := newReceiver(t), newReceiver(t), newReceiver(t), newReceiver(t)
	acme, globex := seeded.acme["tenant"], seeded.globex["tenant"]
	w.create("SECRET", high.URL)
	lowHook := w.create("INTERNAL", low.URL).Webhook.ID
	must[contract.WebhookWithSecret](w, "SECRET", "create-webhook", "", map[string]any{
		"url": limited.URL, "eventTypes": []string{"projects.*"}, "maxClassification": "RESTRICTED",
	})
	if _, err := w.call(globex, seeded.globex["SECRET"], "create-webhook", "", map[string]any{"url": foreign.URL, "eventTypes": []string{"projects.*"}}); err != nil {
		t.Fatal(err)
	}
	// publish publishes an event and returns which receivers got it.
	publish := func(classification string) string {
		t.Helper()
		w.publish(acme, classification)
		w.run()
		var got []string
		for name, r := range map[string]*receiver{"high": high, "low": low, "limited": limited, "foreign": foreign} {
			for range r.taken() {
				got = append(got, name)
			}
		}
		order := []string{}
		for _, name := range []string{"high", "limited", "low", "foreign"} {
			for _, g := range got {
				if g == name {
					order = append(order, name)
				}
			}
		}
		return strings.Join(order, " ")
	}
	expect := func(what, classification, want string) {
		t.Helper()
		if got := publish(classification); got != want {
			t.Errorf("%s: an event of a project with the classification %s was sent to [%s], want [%s]", what, classification, got, want)
		}
	}
	expect("all active", "SECRET", "high")
	expect("all active", "RESTRICTED", "high limited")
	expect("all active", "INTERNAL", "high limited low")

	// The log of a skipped delivery reveals nothing about the event, and not to the owner at all.
	log := w.log(lowHook)
	if len(log) != 3 || log[0].Status != "SKIPPED" || log[0].Outcome != "NOT_READABLE" || log[0].Attempts != 0 || strings.Contains(log[0].Message, "SECRET") {
		t.Errorf("got log %+v", log)
	}
	own := must[op.Page[contract.WebhookDelivery]](w, "INTERNAL", "list-webhook-deliveries", string(lowHook), nil)
	if len(own.Items) != 1 || own.Items[0].ID != log[2].ID {
		t.Errorf("the owner sees %+v of its log, want only the delivery of the INTERNAL event", own.Items)
	}
	hidden := []string{"webhookId", string(lowHook), "deliveryId", string(log[0].ID)}
	for _, name := range []string{"get-webhook-delivery", "redeliver-webhook-delivery"} {
		_, err := w.call(acme, seeded.acme["INTERNAL"], name, "", nil, hidden...)
		wantFault(t, name+" of a hidden event", err, fault.CodeNotFound)
	}

	for _, change := range []struct{ what, begin, end string }{
		{"membership suspended", `UPDATE identity.memberships SET status = 'SUSPENDED' WHERE user_id = $1`, `UPDATE identity.memberships SET status = 'ACTIVE' WHERE user_id = $1`},
		{"account suspended", `UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, `UPDATE identity.users SET status = 'ACTIVE' WHERE id = $1`},
		{"clearance removed", `UPDATE identity.memberships SET clearance = NULL WHERE user_id = $1`, `UPDATE identity.memberships SET clearance = 'INTERNAL' WHERE user_id = $1`},
		{"role removed", `DELETE FROM identity.role_assignments WHERE user_id = $1`, ``},
	} {
		revise := func(sql string) {
			if sql != "" {
				w.exec(sql, seeded.acme["INTERNAL"])
				w.exec(`UPDATE identity.tenants SET grants_revision = grants_revision + 1 WHERE id = $1`, acme)
			}
		}
		revise(change.begin)
		expect(change.what, "INTERNAL", "high limited")
		if revise(change.end); change.end != "" {
			expect("after "+change.what, "INTERNAL", "high limited low")
		}
	}
	if got := foreign.taken(); len(got) != 0 {
		t.Errorf("the webhook of another tenant got %d requests", len(got))
	}
}

// TestWebhookOperations_AreDenied calls every operation without the permission, in another tenant
// and with too low a clearance.
func TestWebhookOperations_AreDenied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hook := w.create("SECRET", "https://receiver.example/hook").Webhook
	test := must[contract.WebhookDelivery](w, "SECRET", "test-webhook", string(hook.ID), nil)
	for name, b := range w.bound {
		var body map[string]any
		path := []string{"webhookId", string(hook.ID), "deliveryId", string(test.ID)}
		if name == "create-webhook" {
			body = map[string]any{"url": "https://receiver.example/", "eventTypes": []string{"projects.*"}}
		}
		_, err := w.call(seeded.acme["tenant"], seeded.acme["member"], name, "", body, path...)
		wantFault(t, name+" as a member", err, fault.CodeForbidden)
		if !strings.Contains(b.Path, "{") {
			continue
		}
		_, err = w.call(seeded.globex["tenant"], seeded.globex["SECRET"], name, "", body, path...)
		wantFault(t, name+" of another tenant", err, fault.CodeNotFound)
	}
	lower := func(name string, body map[string]any) error {
		_, err := w.call(seeded.acme["tenant"], seeded.acme["INTERNAL"], name, string(hook.ID), body)
		return err
	}
	// Otherwise an administrator with a lower clearance could send itself the owner's events.
	for what, body := range map[string]map[string]any{
		"another URL": {"url": "https://elsewhere.example/"}, "a lower limit": {"maxClassification": "INTERNAL"}, "other types": {"eventTypes": []string{"directory.*"}},
	} {
		if err := lower("update-webhook", body); err == nil {
			t.Errorf("update to %s with a lower clearance: it was allowed", what)
		}
	}
	if err := lower("create-webhook", map[string]any{"url": "https://a.example/", "eventTypes": []string{"projects.*"}, "maxClassification": "SECRET"}); err == nil {
		t.Error("create with a limit above the own clearance: it was allowed")
	}
	for _, body := range []map[string]any{{"description": "x"}, {"enabled": false}} {
		if err := lower("update-webhook", body); err != nil {
			t.Errorf("update %v with a lower clearance: %v", body, err)
		}
	}
	if err := lower("update-webhook", map[string]any{"enabled": true}); err == nil {
		t.Error("enable with a lower clearance: it was allowed")
	}
	for _, name := range []string{"test-webhook", "redeliver-webhook"} {
		wantFault(t, name+" of a disabled webhook", lower(name, nil), fault.CodeConflict)
	}
}

// TestSecret_IsInNoOtherPlace searches the secret and the URL in everything that is stored about
// changes of a webhook.
func TestSecret_IsInNoOtherPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const url = "https://receiver.example/hook?key=of-the-receiver"
	created := must[contract.WebhookWithSecret](w, "SECRET", "create-webhook", "", map[string]any{"url": url, "eventTypes": []string{"projects.*", "projects.task.created", "projects.*"}})
	if got := strings.Join(created.Webhook.EventTypes, " "); got != "projects.* projects.task.created" {
		t.Errorf("got types %q, want them sorted and once", got)
	}
	id := string(created.Webhook.ID)
	rotated := must[contract.WebhookWithSecret](w, "SECRET", "rotate-webhook-secret", id, nil)
	must[contract.Webhook](w, "SECRET", "update-webhook", id, map[string]any{"description": "d"})
	must[op.None](w, "SECRET", "delete-webhook", id, nil)
	stored := queryValue[string](w, `SELECT (SELECT json_agg(e)::text FROM audit.entries e) || (SELECT json_agg(o)::text FROM events.outbox o)`)
	for _, text := range []string{created.Secret, rotated.Secret, strings.TrimPrefix(created.Secret, secretPrefix), "of-the-receiver"} {
		if strings.Contains(stored, text) {
			t.Errorf("the audit log or the outbox contains %q", text)
		}
	}
	for _, action := range []string{"webhook.created", "webhook.secret_rotated", "webhook.updated", "webhook.deleted", "events.webhook.deleted"} {
		if !strings.Contains(stored, `"`+action+`"`) {
			t.Errorf("the audit log and the outbox have no %s", action)
		}
	}
}

func TestCreateWebhook_RejectsUnknownTypesOfEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, pattern := range []string{"*", "", ".*", "projects", "projects*", "projects.task.exploded", "projects.tas.*", "project.*", "projects.**"} {
		_, err := w.call(seeded.acme["tenant"], seeded.acme["SECRET"], "create-webhook", "", map[string]any{"url": "https://a.example/", "eventTypes": []string{pattern}})
		wantFault(t, "types ["+pattern+"]", err, fault.CodeValidation)
	}
}
