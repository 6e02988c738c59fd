package authz_test

import (
	"slices"
	"testing"

	"parapet/internal/authz"
)

// delegateCaller returns a caller without a role who received a delegation from a colleague.
func delegateCaller(e *authz.Engine, scope string, more ...string) authz.SubjectInput {
	in := person(e, "Auditor")
	in.Roles["Auditor"] = nil
	in.Roles["Lead"] = []string{"tasks.read", "task.update.own"}
	in.Delegations = []authz.Delegation{{
		ID: delegationID, Scope: scope, Projects: more, Permissions: []string{"tasks.read", "task.update.own", "task.delete"},
		Delegator: authz.Delegator{
			ID: colleague, Kind: authz.KindHuman, Status: "ACTIVE", Membership: "ACTIVE", Clearance: "CONFIDENTIAL",
			Assignments: []authz.Assignment{{Role: "Lead", Scope: authz.ScopeTenant}},
		},
	}}
	return in
}

const delegationID = "00000000-0000-7000-8000-0000000000f1"

// TestDecide_NamesDelegationThatAllows checks the decision and the decision log. If the
// caller's own permission is sufficient, neither names a delegation.
func TestDecide_NamesDelegationThatAllows(t *testing.T) {
	t.Parallel()
	records := &sink{}
	e := newEngine(t, authz.Config{Sink: records})
	s := subject(t, e, delegateCaller(e, authz.ScopeTenant))
	request := authz.Input{Permission: "tasks.read", Module: "tracker", Effect: authz.Read, Actor: s, Resource: task()}
	d := decide(t, e, request)
	if !d.Allow || d.OnBehalfOf == nil || d.OnBehalfOf.Delegator != colleague || d.OnBehalfOf.Delegation != delegationID {
		t.Errorf("got decision %+v, want the delegation", d)
	}
	if r := records.last(); r.Input.OnBehalfOf != colleague || r.Input.Delegation != delegationID || r.Actor != worker {
		t.Errorf("got record %+v, want the delegation", r)
	}
	if !s.Holds("tasks.read") || !s.Holds("task.update") || s.Holds("task.delete") || slices.Contains(s.Permissions(), "tasks.read") {
		t.Errorf("Holds: tasks.read %t, task.update %t, task.delete %t; want only task.delete to be false. Permissions: got %q, want no delegated ones",
			s.Holds("tasks.read"), s.Holds("task.update"), s.Holds("task.delete"), s.Permissions())
	}
	own := subject(t, e, person(e, "Member"))
	request.Actor = own
	if d := decide(t, e, request); !d.Allow || d.OnBehalfOf != nil {
		t.Errorf("own permission: got %+v, want allow without a delegation", d)
	}
	request.Actor, request.Permission, request.Effect = s, "task.delete", authz.Write
	if d := decide(t, e, request); d.Allow || d.Hidden || !slices.Equal(d.Reasons, []string{"permission_missing"}) {
		t.Errorf("permission that is not delegated: got %+v, want a denial", d)
	}
	// A filter for several delegations is one condition with separate arguments.
	in := delegateCaller(e, authz.ScopeProject, projectA)
	in.Delegations = append(in.Delegations, in.Delegations[0])
	in.Delegations[1].ID, in.Delegations[1].Projects = colleague, []string{projectB}
	f, err := e.Filter(t.Context(), "tasks.read", subject(t, e, in), mappings()[0].columns)
	if err != nil || f.None() {
		t.Fatal(f.SQL(), err)
	}
	args := map[string]any{}
	f.AddTo(args)
	if _, values := f.Positional(3); len(values) != len(args) || len(values) < 4 {
		t.Errorf("filter %s: got %d named and %d positional arguments, want equal numbers of at least 4", f.SQL(), len(args), len(values))
	}
}
