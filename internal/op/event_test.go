package op_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parapet/internal/op"
)

type boatSail struct {
	ID   op.UUID `json:"id" doc:"The sail's id."`
	Area int     `json:"area,omitempty" doc:"In square meters."`
}

type boatEvent struct {
	ID    op.UUID    `json:"id" doc:"The boat's id."`
	Name  string     `json:"name" doc:"The boat's name."`
	Sails []boatSail `json:"sails" doc:"The boat's sails."`
}

func TestEventTypeSchema_DescribesEnvelopeAndRecord(t *testing.T) {
	t.Parallel()
	e := op.DeclareEvent[boatEvent](op.NewModule("harbour"), "harbour.boat.launched", "A boat was launched.")
	schema, err := e.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if schema.ID != "urn:parapet:event:harbour.boat.launched:1" {
		t.Errorf("got id %q, want the type and its version in it", schema.ID)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	const valid = `{"id":"0192f0c1-0000-7000-8000-000000000001","type":"harbour.boat.launched","tenantId":"0192f0c1-0000-7000-8000-000000000002",
		"aggregateType":"boat","aggregateId":"1","sequence":7,"occurredAt":"2027-01-02T03:04:05Z","correlationId":"0192f0c1-0000-7000-8000-000000000003",
		"payload":{"resource":{"id":"0192f0c1-0000-7000-8000-000000000004","name":"Ada","sails":[{"id":"0192f0c1-0000-7000-8000-000000000005","area":9}]}}}`
	for name, c := range map[string]struct {
		from, to string
		valid    bool
	}{
		"complete event":           {valid: true},
		"unknown member of record": {from: `"name":"Ada"`, to: `"name":"Ada","crew":3`, valid: true},
		"another type":             {from: `launched"`, to: `sunk"`},
		"record about another":     {from: `"aggregateType":"boat"`, to: `"aggregateType":"ship"`},
		"no record":                {from: `"resource"`, to: `"record"`},
		"missing member of record": {from: `"name":"Ada",`},
		"wrong type of a member":   {from: `"name":"Ada"`, to: `"name":3`},
		"wrong nested member":      {from: `"area":9`, to: `"area":"9"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var value any
			if err := json.Unmarshal([]byte(strings.Replace(valid, c.from, c.to, 1)), &value); err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(value); (err == nil) != c.valid {
				t.Errorf("got error %v, want valid %v", err, c.valid)
			}
		})
	}
}
