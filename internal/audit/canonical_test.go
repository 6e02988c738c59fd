package audit_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"parapet/internal/audit"
	"parapet/internal/op"
)

// The canonical record must equal the output of the reference implementation of RFC 8785.
func TestRecord_CanonicalEqualsRFC8785(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		r := &audit.Record{
			Chain: "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41", Seq: rapid.Int64Range(1, 1<<53).Draw(t, "seq"),
			ID: "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e42", ActorType: text.Draw(t, "actor type"), Action: text.Draw(t, "action"),
			ResourceType: text.Draw(t, "resource type"), ResourceID: text.Draw(t, "resource id"), Module: text.Draw(t, "module"),
			Correlation: "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e43",
			Version:     rapid.IntRange(1, 2).Draw(t, "version"),
			CreatedAt:   time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, "time")).UTC(),
		}
		r.Tenant = rapid.SampledFrom([]op.UUID{"", r.Chain}).Draw(t, "tenant")
		r.Actor = rapid.SampledFrom([]op.UUID{"", r.ID}).Draw(t, "actor")
		r.OnBehalfOf = rapid.SampledFrom([]op.UUID{"", r.ID}).Draw(t, "on behalf of")
		var classification any
		if rapid.Bool().Draw(t, "classified") {
			tier := text.Draw(t, "classification")
			r.Classification, classification = &tier, tier
		}
		if r.Version > 1 && rapid.Bool().Draw(t, "credential") {
			r.CredentialID, r.CredentialKind = r.ID, "session"
		}
		changes, err := audit.CanonicalChanges(rapid.SampledFrom([]any{
			nil, map[string]any{"b": 1, "a": []any{1.5, "é\u2028", nil, true}}, []string{}, "x", 1e21,
		}).Draw(t, "changes"))
		if err != nil {
			t.Fatal(err)
		}
		r.Changes = changes
		null := func(s string) any {
			if s == "" {
				return nil
			}
			return s
		}
		members := map[string]any{
			"chain_id": r.Chain, "seq": r.Seq, "id": r.ID, "tenant_id": null(string(r.Tenant)), "actor_id": null(string(r.Actor)),
			"on_behalf_of": null(string(r.OnBehalfOf)), "actor_type": r.ActorType, "action": r.Action, "resource_type": r.ResourceType,
			"resource_id": null(r.ResourceID), "module": r.Module, "changes": r.Changes, "correlation_id": r.Correlation,
			"created_at": r.CreatedAt.Format("2006-01-02T15:04:05.000000Z"), "classification": classification, "version": r.Version,
		}
		if r.Version > 1 {
			members["credential_id"], members["credential_kind"] = null(string(r.CredentialID)), null(r.CredentialKind)
		}
		document, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		want, err := jcs.Transform(document)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Canonical(); !bytes.Equal(got, want) {
			t.Fatalf("Canonical:\ngot  %s\nwant %s", got, want)
		}
	})
}

// The format of each version must never change, because stored entries would no longer
// verify.
func TestRecord_CanonicalFormatOfEachVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[int]string{
		1: `{"action":"a.done","actor_id":null,"actor_type":"user","chain_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41","changes":null,"classification":null,` +
			`"correlation_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e43","created_at":"2027-01-02T03:04:05.000006Z","id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e42",` +
			`"module":"tracker","on_behalf_of":null,"resource_id":null,"resource_type":"b","seq":7,"tenant_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41","version":1}`,
		2: `{"action":"a.done","actor_id":null,"actor_type":"user","chain_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41","changes":null,"classification":null,` +
			`"correlation_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e43","created_at":"2027-01-02T03:04:05.000006Z","credential_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e44",` +
			`"credential_kind":"api_key","id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e42",` +
			`"module":"tracker","on_behalf_of":null,"resource_id":null,"resource_type":"b","seq":7,"tenant_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41","version":2}`,
	} {
		r := &audit.Record{
			Chain: "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41", Seq: 7, ID: "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e42", Tenant: "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41",
			ActorType: "user", Action: "a.done", ResourceType: "b", Module: "tracker", Correlation: "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e43",
			CreatedAt: time.Date(2027, 1, 2, 3, 4, 5, 6000, time.UTC), Version: version,
		}
		if version > 1 {
			r.CredentialID, r.CredentialKind = "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e44", "api_key"
		}
		if got := string(r.Canonical()); got != want {
			t.Errorf("version %d\ngot  %s\nwant %s", version, got, want)
		}
	}
}

func TestCanonicalChanges_RoundTripOrReject(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"b":1,"a":2}`:               `{"a":2,"b":1}`,
		`{"n":1.0,"e":1e2,"z":-0}`:    `{"e":100,"n":1,"z":0}`,
		`{"é":"\u00e9\u2028"}`:        "{\"é\":\"é\u2028\"}",
		`[9007199254740991,0.1]`:      `[9007199254740991,0.1]`,
		`[9007199254740992]`:          `[9007199254740992]`,
		`{"\u20ac":1,"\r":2,"1":3}`:   "{\"\\r\":2,\"1\":3,\"€\":1}",
		`"\ud83d\ude00"`:              `"😀"`,
		`{"replaced":"` + "\uFFFD\"}": "{\"replaced\":\"\uFFFD\"}",
	} {
		if got, err := audit.CanonicalJSON([]byte(in)); err != nil || string(got) != want {
			t.Errorf("canonicalChanges(%s): got %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{
		`{"a":1,"a":2}`, `[9007199254740993]`, `[12345678901234567890]`, `[1e400]`, `["\u0000"]`, `["\ud800"]`, "[\"\xff\"]",
		`{"a":1}{}`, `{`, ``, `{"\u0000":1}`,
	} {
		if got, err := audit.CanonicalJSON([]byte(in)); err == nil {
			t.Errorf("canonicalChanges(%s): got %s, want an error", in, got)
		}
	}
	for _, in := range []any{math.Inf(1), math.NaN(), func() {}, int64(math.MaxInt64)} {
		if got, err := audit.CanonicalChanges(in); err == nil {
			t.Errorf("canonicalChanges(%T): got %s, want an error", in, got)
		}
	}
	for _, in := range []any{nil, (*int)(nil), map[string]any(nil), json.RawMessage("null")} {
		if got, err := audit.CanonicalChanges(in); err != nil || got != nil {
			t.Errorf("canonicalChanges(%T): got %s, %v; want nil", in, got, err)
		}
	}
}

func FuzzCanonicalJSON(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[1.5,"x",null]}`, `[9007199254740993]`, `{"a":1,"a":2}`, `"\ud83d\ude00"`, `1e-7`, "[\"\uFFFD\"]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		once, err := audit.CanonicalJSON(in)
		if err != nil {
			return
		}
		twice, err := audit.CanonicalJSON(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("canonicalJSON(%q): got %q, and of that %q, %v; want the same", in, once, twice, err)
		}
		if !json.Valid(once) {
			t.Fatalf("canonicalJSON(%q): got %q, which is not JSON", in, once)
		}
	})
}
