// Package eventtest validates the events that a test has caused against their JSON Schemas.
package eventtest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/jackc/pgx/v5"

	"parapet/internal/contract"
)

// Querier is a connection whose role may read the whole outbox.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

const eventsSQL = `
SELECT type, jsonb_build_object('id', id, 'type', type, 'tenantId', tenant_id, 'aggregateType', aggregate_type, 'aggregateId', aggregate_id,
	'sequence', position, 'occurredAt', occurred_at, 'correlationId', correlation_id, 'payload', payload - 'notify')
	|| CASE WHEN actor_id IS NULL THEN '{}' ELSE jsonb_build_object('actorId', actor_id) END
FROM events.outbox ORDER BY position`

// Validate validates every event in the outbox and returns the number of events by type.
// Unlike the schemas that the server publishes, those of the test reject unknown members: a
// member that the contract does not declare is a fault.
func Validate(t testing.TB, q Querier) map[string]int {
	t.Helper()
	rows, err := q.Query(t.Context(), eventsSQL)
	if err != nil {
		t.Fatal(err)
	}
	schemas := strictSchemas(t)
	seen := map[string]int{}
	var name string
	var text []byte
	_, err = pgx.ForEachRow(rows, []any{&name, &text}, func() error {
		seen[name]++
		schema := schemas[name]
		if schema == nil {
			t.Errorf("event %s is not declared in a contract", name)
			return nil
		}
		var event any
		if err := json.Unmarshal(text, &event); err != nil {
			return err
		}
		if err := schema.Validate(event); err != nil {
			t.Errorf("event %s does not match its JSON Schema: %v\n%s", name, err, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// Require is like Validate, and fails if there is no event of one of the types.
func Require(t testing.TB, q Querier, types ...string) {
	t.Helper()
	seen := Validate(t, q)
	for _, name := range types {
		if seen[name] == 0 {
			t.Errorf("got no event of the type %s", name)
		}
	}
}

func strictSchemas(t testing.TB) map[string]*jsonschema.Resolved {
	t.Helper()
	schemas := map[string]*jsonschema.Resolved{}
	for _, m := range contract.Modules() {
		for _, e := range m.Events() {
			schema, err := e.Schema()
			if err != nil {
				t.Fatal(err)
			}
			rejectUnknownMembers(schema)
			resolved, err := schema.Resolve(nil)
			if err != nil {
				t.Fatalf("event %s: %v", e, err)
			}
			if schemas[e.Name] != nil {
				t.Errorf("the event %s is declared twice", e)
			}
			schemas[e.Name] = resolved
		}
	}
	return schemas
}

func rejectUnknownMembers(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Properties) > 0 && s.AdditionalProperties == nil {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	rejectUnknownMembers(s.Items)
	for _, p := range s.Properties {
		rejectUnknownMembers(p)
	}
}
