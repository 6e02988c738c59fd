package authz_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"parapet/internal/authz"
	"parapet/internal/clock"
)

// sink stores records in memory.
type sink struct {
	mu      sync.Mutex
	records []authz.DecisionRecord
}

func (s *sink) Record(r authz.DecisionRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = append(s.records, r)
}

func (s *sink) last() authz.DecisionRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[len(s.records)-1]
}

// TestDecisionLog_ContainsOnlyIDsAndCodes puts free text into every field of an input.
func TestDecisionLog_ContainsOnlyIDsAndCodes(t *testing.T) {
	t.Parallel()
	records := &sink{}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e := newEngine(t, authz.Config{Sink: records, Clock: clock.Func(func() time.Time { return at })})
	s := subject(t, e, person(e, "Member"))
	const secret = "worker@example.com eyJhbGciOi.secret password"
	decide(t, e, authz.Input{
		Permission: secret, Module: secret, Effect: authz.Write, Actor: s, RequestID: secret,
		Resource: authz.Resource{
			Type: secret, ID: secret, Tenant: secret, Organisation: secret, Project: secret,
			Creator: secret, Owner: secret, Classification: secret,
		},
	})
	text, err := json.Marshal(records.last())
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(secret) {
		if strings.Contains(string(text), word) {
			t.Errorf("record contains %q: %s", word, text)
		}
	}
	for _, id := range []authz.CredentialID{{Kind: authz.TokenSession, ID: secret}, {Kind: secret, ID: worker}, {Kind: authz.TokenInternal, ID: worker}, {ID: worker}} {
		in := person(e, "Member")
		in.Token.Kind, in.Token.ID = id.Kind, id.ID
		decide(t, e, authz.Input{Permission: "tasks.read", Module: "tracker", Effect: authz.Read, Actor: subject(t, e, in), Resource: task()})
		if got := records.last().Credential; got != (authz.CredentialID{}) {
			t.Errorf("credential %+v: got %+v in the record, want none", id, got)
		}
	}
	in := person(e, "Member")
	in.Token.ID = colleague
	s = subject(t, e, in)
	decide(t, e, authz.Input{Permission: "tasks.read", Module: "tracker", Effect: authz.Read, Actor: s, Resource: task(), RequestID: "req-1"})
	r := records.last()
	if !r.Allow || r.Permission != "tasks.read" || r.Tenant != acme || r.Actor != worker || r.Credential != s.Credential() || r.RequestID != "req-1" ||
		!r.Time.Equal(at) || r.Revision != e.Revision() || r.Input.Resource.Project != projectA || r.Input.Actor.Clearance != "CONFIDENTIAL" {
		t.Errorf("record of an allowed read of a task: got %+v, want subject, credential, request, time, revision and resource", r)
	}
}

func TestDecisionLog_ContainsCustomDecisions(t *testing.T) {
	t.Parallel()
	records := &sink{}
	e := newEngine(t, authz.Config{Sink: records})
	s := subject(t, e, person(e, "Admin"))
	days := 31
	for _, q := range []authz.CustomDecision{
		authz.IssueServiceKey{Actor: s},
		authz.IssueSelfKey{Actor: s, ExpiresInDays: &days},
		authz.ListKeys{Actor: s, Owner: &authz.KeyOwner{ID: colleague, Tenant: acme}},
		authz.RevokeKey{Actor: s, ServiceOwned: true},
		authz.ValidateProfile{},
		authz.Assign{Actor: s}, authz.ActAsAgent{Actor: s}, authz.RaiseDecision{Actor: s}, authz.CancelDecision{Actor: s}, authz.ReleaseClaim{Actor: s}, authz.Delegate{Actor: s},
		authz.ActAs{TokenKind: authz.TokenSession, Header: true, Target: globex, Module: "wiki"},
	} {
		verdict, err := e.Evaluate(t.Context(), authz.InRequest("req-1", q))
		if err != nil {
			t.Fatalf("%T: %v", q, err)
		}
		r := records.last()
		if r.Allow || verdict.Allow || r.RequestID != "req-1" || r.Rule == "" || len(r.Reasons) == 0 {
			t.Errorf("%T: got verdict %+v, record %+v; want a denial with the rule, a reason and the request id", q, verdict, r)
		}
		wantReplayed(t, e, r)
	}
}
