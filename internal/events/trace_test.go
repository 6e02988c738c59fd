package events_test

import (
	"context"
	"errors"
	"testing"

	"parapet/internal/events"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/telemetry"
	"parapet/internal/uid"
)

func TestDispatcher_TracesEachDelivery(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	createTakenTable(t, db)
	recorder, tracer := telemetry.NewRecorder()
	tenant, request := uid.New(), uid.New()
	failures := 1
	subscriber := recordingSubscriber("traced", func(ctx context.Context, _ []events.Event) error {
		if !telemetry.SpanFromContext(ctx).IsRecording() {
			t.Error("the subscriber got a context without the span")
		}
		if failures--; failures >= 0 {
			return errors.New("a text that a user wrote")
		}
		return nil
	})
	d := dispatcher(t, db, func(c *events.Config) { c.Tracer = tracer }, subscriber)
	e := taskEvent(tenant, "1")
	e.CorrelationID = request
	publish(t, db.Pool(t, "parapet_tracker"), tenant, e)
	for range 2 {
		if _, err := d.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	spans := recorder.Spans()
	if len(spans) != 2 || !spans[0].Failed || spans[1].Failed {
		t.Fatalf("got the spans %+v, want one failed delivery and one delivery", spans)
	}
	want := map[string]any{
		"parapet.subscriber": "traced", "parapet.event_type": e.Type, "parapet.events": int64(1),
		"parapet.tenant": string(tenant), "parapet.request_id": string(request),
	}
	for _, s := range spans {
		if s.Name != "deliver events" || len(s.Attributes) != len(want) {
			t.Errorf("got %+v, want the attributes %v", s, want)
		}
		for name, value := range want {
			if s.Attributes[name] != value {
				t.Errorf("attribute %s: got %v, want %v", name, s.Attributes[name], value)
			}
		}
	}
}
