package events_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"parapet/internal/events"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
)

func TestNotifications_WritesFeedOnce(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	module, reader := db.Pool(t, postgres.RoleIdentity), db.Pool(t, postgres.RoleIdentity)
	tenant, admin, person, key := uid.New(), uid.New(), uid.New(), uid.New()
	event := func(name, aggregateType string, aggregate, actor op.UUID, payload string) events.Event {
		return events.Event{Type: name, TenantID: tenant, AggregateType: aggregateType, AggregateID: string(aggregate), ActorID: actor, Payload: json.RawMessage(payload)}
	}
	publish(t, module, tenant,
		event("directory.user.key_issued", "api_key", key, admin, `{"resource":{"owner":"`+string(person)+`"}}`),        // notifies the owner
		event("directory.user.key_issued", "api_key", key, person, `{"resource":{"owner":"`+string(person)+`"}}`),       // does not notify the actor
		event("directory.membership.updated", "membership", key, admin, `{"resource":{"userId":"`+string(person)+`"}}`), // notifies the member
		event("directory.user.updated", "user", person, admin, `{"displayName":"x"}`),                                   // notifies the user
		event("directory.user.updated", "thing", person, admin, `{"resource":{"owner":7}}`),                             // names no user
		event(events.KeyExpiryWarned, "api_key", key, "", `{"resource":{"owner":"`+string(person)+`"}}`),                // notifies administrators
		event("directory.role.updated", "role", key, admin, `{"resource":{"userId":"`+string(person)+`"}}`),             // not a subscribed type
	)
	d := dispatcher(t, db, nil, events.Notifications())
	for range 2 {
		if _, err := d.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Redeliver everything without the processed ids: the unique key prevents duplicates.
		if _, err := db.Owner(t).Exec(t.Context(), `UPDATE events.outbox SET dispatched_at = NULL; DELETE FROM events.processed`); err != nil {
			t.Fatal(err)
		}
	}
	feed := func(tenant, user op.UUID, administrator bool) []events.Notification {
		t.Helper()
		list, err := events.Feed(t.Context(), reader.Read(string(tenant), nil), tenant, user, administrator, "", 50)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	personFeed := feed(tenant, person, false)
	if len(personFeed) != 3 {
		t.Fatalf("the user's feed: got %+v", personFeed)
	}
	if list := feed(tenant, admin, true); len(list) != 1 || list[0].Type != events.KeyExpiryWarned || list[0].Subject != "api_key:"+string(key) {
		t.Fatalf("the administrator's feed: got %+v", list)
	}
	if list := feed(uid.New(), person, true); len(list) != 0 {
		t.Fatalf("another tenant's feed: got %+v, want none", list)
	}
	older, err := events.Feed(t.Context(), reader.Read(string(tenant), nil), tenant, person, false, personFeed[0].ID, 1)
	if err != nil || len(older) != 1 || older[0].ID != personFeed[1].ID {
		t.Fatalf("second page of the feed: got %+v, %v, want the older notification", older, err)
	}
	mark := func(user op.UUID) bool {
		t.Helper()
		var found bool
		err := module.InTx(t.Context(), string(tenant), nil, func(tx *postgres.Tx) error {
			var err error
			found, err = events.MarkRead(t.Context(), tx, tenant, user, false, personFeed[0].ID, time.Now())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if mark(admin) || !mark(person) || feed(tenant, person, false)[0].ReadAt == nil {
		t.Error("MarkRead: want true only for the notification's user")
	}
}

// Decision requests are announced to the users that the event names, except the actor, or
// to the administrators if it names none. The feed stores ids but no text.
func TestNotifications_DecisionRequestRecipients(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	module, reader := db.Pool(t, postgres.RoleTracker), db.Pool(t, postgres.RoleIdentity)
	tenant, agent, owner, creator, request := uid.New(), uid.New(), uid.New(), uid.New(), uid.New()
	event := func(verb string, actor op.UUID, notify ...op.UUID) events.Event {
		payload, err := json.Marshal(map[string]any{"resource": map[string]any{"id": request, "taskKey": "APO-1", "question": "Which way?"}, "notify": notify})
		if err != nil {
			t.Fatal(err)
		}
		return events.Event{Type: "projects.decision_request." + verb, TenantID: tenant, AggregateType: "decision_request", AggregateID: string(request), ActorID: actor, Payload: payload}
	}
	publish(t, module, tenant,
		event("raised", agent, owner, creator), event("raised", owner, owner), event("raised", agent), event("answered", owner, agent), event("cancelled", owner))
	if _, err := dispatcher(t, db, nil, events.Notifications()).Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user          op.UUID
		administrator bool
		want          []string
	}{
		{owner, false, []string{"raised"}}, {creator, false, []string{"raised"}}, {agent, false, []string{"answered"}},
		{uid.New(), true, []string{"raised"}}, {uid.New(), false, nil},
	} {
		list, err := events.Feed(t.Context(), reader.Read(string(tenant), nil), tenant, c.user, c.administrator, "", 50)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range list {
			got = append(got, strings.TrimPrefix(n.Type, "projects.decision_request."))
			if text := string(n.Payload); strings.Contains(text, "way") || !strings.Contains(text, "APO-1") || !strings.Contains(text, string(request)) {
				t.Errorf("feed payload: got %s, want the ids without the question", text)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("feed: got %v, want %v", got, c.want)
		}
	}
}
