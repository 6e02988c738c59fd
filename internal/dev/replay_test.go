package dev

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parapet/internal/authz"
	identity "parapet/internal/contract/identity"
	"parapet/internal/op"
)

// ruleReason is the rule and reason that a replay must reproduce.
type ruleReason struct{ rule, reason string }

// TestReplay_ReturnsTheRecordedDecisions makes decisions over HTTP, rebuilds the input of
// each using only the response of get-decision, and evaluates it with policies of the same
// revision.
func TestReplay_ReturnsTheRecordedDecisions(t *testing.T) {
	t.Parallel()
	s := &stage{Dev: startDev(t), t: t}
	wanted := decideForReplay(s)
	engine, err := authz.New(t.Context(), authz.Config{})
	if err != nil {
		t.Fatal(err)
	}
	auditor := s.loginAs("admin@acme.example")
	found := map[ruleReason]identity.Decision{}
	for _, e := range s.waitForDecisions(auditor, wanted) {
		got := decode[identity.Decision](t, s.want(http.StatusOK, "", "GET", "/api/decisions/"+string(e.ID), auditor, nil))
		replayed, err := engine.Replay(t.Context(), recorded(t, got))
		if err != nil {
			t.Errorf("%s %s %v: %v", e.Rule, e.Permission, e.Input, err)
			continue
		}
		if problem := describeDifference(got, replayed); problem != "" {
			t.Errorf("%s %s %v: %s", e.Rule, e.Permission, e.Input, problem)
		}
		found[kindOf(e)] = got
	}
	t.Logf("%d kinds of decisions: %v", len(found), slices.Sorted(func(yield func(string) bool) {
		for d := range found {
			if !yield(strings.TrimSpace(strings.TrimPrefix(d.rule, "parapet/") + " " + d.reason)) {
				return
			}
		}
	}))
	checkSnapshotDecides(t, engine, found)
}

// checkSnapshotDecides changes the snapshots of decisions and expects other results. This
// shows that a replay uses the snapshot.
func checkSnapshotDecides(t *testing.T, engine *authz.Engine, found map[ruleReason]identity.Decision) {
	t.Helper()
	const access = "parapet/access/allow"
	for _, c := range []struct {
		name   string
		of     ruleReason
		change func(subject map[string]any, permission string)
		want   authz.Decision
	}{
		{"a grant removed", ruleReason{access, ""}, func(subject map[string]any, permission string) {
			grants, _ := subject["grants"].(map[string]any)
			delete(grants, permission)
		}, authz.Decision{Reasons: []string{"out_of_scope"}}},
		{"the delegation removed", ruleReason{access, "on behalf"}, func(subject map[string]any, _ string) {
			subject["delegated_subjects"] = []any{}
		}, authz.Decision{Reasons: []string{"permission_missing"}}},
		{"the caveat removed", ruleReason{access, "caveat_effect"}, func(subject map[string]any, _ string) {
			subject["effects"] = []any{"read", "write"}
		}, authz.Decision{Allow: true}},
		{"the clearance lowered", ruleReason{access, ""}, func(subject map[string]any, _ string) {
			subject["readable"] = []any{}
		}, authz.Decision{Hidden: true, Reasons: []string{"clearance"}}},
		{"the grants of a list removed", ruleReason{access, "filtered"}, func(subject map[string]any, _ string) {
			subject["grants"], subject["audit"] = map[string]any{}, map[string]any{}
		}, authz.Decision{Reasons: []string{"filtered_out"}}},
		{"another kind of token", ruleReason{"parapet/keys/issue_self", ""}, func(subject map[string]any, _ string) {
			subject["token_kind"] = "api_key"
		}, authz.Decision{Reasons: []string{"session_required"}}},
	} {
		d, ok := found[c.of]
		if !ok {
			t.Errorf("%s: no decision of %v", c.name, c.of)
			continue
		}
		r := recorded(t, d)
		var document map[string]map[string]any
		if err := json.Unmarshal(r.Subject.Document, &document); err != nil {
			t.Fatal(err)
		}
		c.change(document["subject"], d.Permission)
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		r.Subject.Document = text
		if _, err := engine.Replay(t.Context(), r); err == nil || !strings.Contains(err.Error(), "was altered") {
			t.Errorf("%s: got error %v, want a digest mismatch", c.name, err)
		}
		r.Subject.Digest = sha256.Sum256(text)
		got, err := engine.Replay(t.Context(), r)
		if err != nil || got.Allow != c.want.Allow || got.Hidden != c.want.Hidden || !slices.Equal(got.Reasons, c.want.Reasons) {
			t.Errorf("%s: %+v %v, want %+v", c.name, got, err, c.want)
		}
	}
}

// decideForReplay causes every kind of decision that requests can cause, and returns them.
func decideForReplay(s *stage) []ruleReason {
	const access = "parapet/access/allow"
	admin, manager, member := s.loginAs("admin@acme.example"), s.loginAs("project-manager@acme.example"), s.loginAs("member@acme.example")
	guest, reviewer := s.loginAs("guest@acme.example"), s.loginAs("reviewer@acme.example")
	project := func(token, name string, more body) string {
		in := body{"name": name, "startDate": "2027-01-01"}
		maps.Copy(in, more)
		return s.want(201, "", "POST", "/api/projects", token, in).field(s.t, "id")
	}
	open, other := project(manager, "Open", nil), project(manager, "Other", nil)
	secret := project(admin, "Secret", body{"classification": "SECRET"})
	task := s.want(201, "", "POST", "/api/projects/"+open+"/tasks", manager, body{"title": "Weld"}).field(s.t, "id")
	rename := body{"name": "Renamed"}

	// Every reason for a denial.
	s.want(404, "", "GET", "/api/projects/"+secret, manager, nil)
	s.want(403, "", "POST", "/api/projects", guest, body{"name": "No", "startDate": "2027-01-01"})
	s.want(403, "", "DELETE", "/api/projects/"+open+"/tasks/"+task, member, nil)
	key := s.key(manager)
	narrowed := func(caveat string) string {
		return s.forge(keyHeader, withClaim(s.claims(key), "caveats", []string{caveat}))
	}
	s.want(403, "", "PATCH", "/api/projects/"+open, narrowed("read-only"), rename)
	s.want(403, "", "PATCH", "/api/projects/"+open, narrowed("module:wiki"), rename)
	s.want(403, "", "PATCH", "/api/projects/"+open, narrowed("project:"+other), rename)
	s.want(403, "", "PATCH", "/api/projects/"+open, narrowed("no-such-caveat"), rename)
	s.want(200, "", "PATCH", "/api/projects/"+other, narrowed("project:"+other), body{"name": "Narrowed"})

	// A role in one project, by session and by a key that was issued with it.
	s.want(201, "", "POST", "/api/roles/"+s.role(admin, "Project Manager")+"/assignments", admin,
		body{"userId": s.user("acme", "member@acme.example"), "scope": "project", "scopeId": open})
	scopedSession := s.loginAs("member@acme.example")
	s.want(200, "", "PATCH", "/api/projects/"+open, scopedSession, body{"name": "Scoped"})
	s.want(403, "", "PATCH", "/api/projects/"+other, scopedSession, rename)
	scoped := s.key(scopedSession)
	s.want(200, "", "PATCH", "/api/projects/"+open, scoped, body{"name": "By key"})
	s.want(403, "", "PATCH", "/api/projects/"+other, scoped, rename)
	s.want(200, "", "GET", "/api/projects", scoped, nil)

	// A delegation.
	s.want(403, "", "PATCH", "/api/projects/"+open, reviewer, rename)
	s.want(201, "", "POST", "/api/delegations", manager, body{
		"delegate": s.user("acme", "reviewer@acme.example"), "permissions": []string{"project.update"}, "scope": "PROJECT", "projectId": open,
		"until": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
	})
	s.want(200, "", "PATCH", "/api/projects/"+open, reviewer, body{"name": "For another"})
	s.want(403, "", "PATCH", "/api/projects/"+other, reviewer, rename)

	// Custom decisions.
	s.want(200, "", "GET", "/api/auth/me", member, nil)
	s.want(200, "", "GET", "/api/projects", member, nil, "x-act-as-org", string(s.tenant("acme").ID))
	s.want(403, "", "POST", "/api/auth/api-keys", key, body{"label": "by key"})
	s.want(404, "", "DELETE", "/api/auth/api-keys/"+string(s.user("acme", "guest@acme.example")), member, nil)
	s.want(403, "", "POST", "/api/auth/api-keys/service", manager, body{"label": "ci", "targetUserId": s.user("acme", "multi-llm-review@acme.invalid")})
	s.want(201, "", "POST", "/api/roles", admin, body{"name": "Köchin & Wirt"})
	s.want(409, "", "POST", "/api/roles", admin, body{"name": "ADMIN"})
	visiting := string(s.user(office, "project-manager@northwind.example"))
	s.want(403, "", "PATCH", "/api/users/"+visiting, admin, body{"displayName": "Elsewhere"})
	s.want(200, "", "PATCH", "/api/users/"+string(s.user("acme", "member@acme.example")), admin, body{"email": "moved@acme.example"})
	s.want(200, "", "PATCH", "/api/projects/"+open+"/tasks/"+task, manager, body{"assignee": s.user("acme", "member@acme.example")})
	s.want(400, "", "PATCH", "/api/projects/"+open+"/tasks/"+task, manager, body{"assignee": s.user("acme", "guest@acme.example")})

	return []ruleReason{
		{access, ""}, {access, "filtered"}, {access, "on behalf"},
		{access, "clearance"}, {access, "permission_missing"}, {access, "not_own"}, {access, "out_of_scope"},
		{access, "caveat_effect"}, {access, "caveat_module"}, {access, "caveat_project"}, {access, "caveat_unknown"},
		{"parapet/open/verdict", ""}, {"parapet/actas/verdict", ""}, {"parapet/delegations/verdict", ""}, {"parapet/grants/verdict", ""},
		{"parapet/keys/issue_self", ""}, {"parapet/keys/issue_self", "session_required"}, {"parapet/keys/revoke", "no_such_key"},
		{"parapet/roles/create", ""}, {"parapet/roles/create", "reserved_name"},
		{"parapet/accounts/change_name", "not_at_home"}, {"parapet/accounts/change_address", ""},
		{"parapet/work/give", ""}, {"parapet/work/give", "guest_customer"},
	}
}

// waitForDecisions lists the tenant's decisions. It waits until the list contains all wanted
// decisions, because the log is written asynchronously.
func (s *stage) waitForDecisions(token string, wanted []ruleReason) []identity.DecisionEntry {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var all []identity.DecisionEntry
		for cursor := ""; ; {
			page := decode[op.Page[identity.DecisionEntry]](s.t, s.want(http.StatusOK, "", "GET", "/api/decisions?limit=200&cursor="+cursor, token, nil))
			all = append(all, page.Items...)
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		missing := slices.DeleteFunc(slices.Clone(wanted), func(w ruleReason) bool {
			return slices.ContainsFunc(all, func(e identity.DecisionEntry) bool { return kindOf(e) == w })
		})
		if len(missing) == 0 {
			return all
		}
		if time.Now().After(end) {
			s.t.Fatalf("no record of %v among %d", missing, len(all))
		}
	}
}

// kindOf returns the rule and the reason of a decision. The reason is "on behalf" if a
// delegation allowed the request.
func kindOf(e identity.DecisionEntry) ruleReason {
	input, _ := e.Input.(map[string]any)
	if input["delegation"] != nil {
		return ruleReason{e.Rule, "on behalf"}
	}
	return ruleReason{e.Rule, strings.Join(e.Reasons, " ")}
}

// recorded builds the record for a replay from the response of get-decision.
func recorded(t *testing.T, d identity.Decision) authz.Recorded {
	t.Helper()
	input, err := json.Marshal(d.Input)
	if err != nil {
		t.Fatal(err)
	}
	r := authz.Recorded{Rule: d.Rule, Permission: d.Permission, Module: d.Module, Input: input}
	if d.SubjectDigest != "" {
		if d.SubjectStatus != identity.SubjectVerified {
			t.Errorf("snapshot of decision %s: got status %q", d.ID, d.SubjectStatus)
		}
		document, err := json.Marshal(d.Subject)
		if err != nil {
			t.Fatal(err)
		}
		r.Subject = &authz.SubjectSnapshot{Document: document}
		if _, err := hex.Decode(r.Subject.Digest[:], []byte(d.SubjectDigest)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// describeDifference describes how a replay differs from the record, or returns "".
func describeDifference(d identity.Decision, r authz.Replayed) string {
	if r.Incomplete && !d.Allow {
		return ""
	}
	input, _ := d.Input.(map[string]any)
	delegation := ""
	if r.OnBehalfOf != nil {
		delegation = r.OnBehalfOf.Delegation
	}
	recordedDelegation, _ := input["delegation"].(string)
	switch {
	case r.Revision != d.Revision:
		return "another revision: " + r.Revision
	case r.Allow != d.Allow || r.Hidden != d.Hidden || !slices.Equal(r.Reasons, d.Reasons) || delegation != recordedDelegation:
		text, _ := json.Marshal(r)
		was, _ := json.Marshal(d.DecisionEntry)
		return "replayed as " + string(text) + ", recorded as " + string(was)
	}
	return ""
}

// replayAllDecisions replays every decision since the start, in every tenant.
func replayAllDecisions(s *stage) {
	engine, err := authz.New(s.t.Context(), authz.Config{})
	if err != nil {
		s.t.Fatal(err)
	}
	rows, err := s.connect(s.t).Query(s.t.Context(), `
		SELECT d.rule, d.permission, d.module, d.input, d.allow, d.hidden, d.reasons, d.revision, coalesce(d.subject_digest, ''), s.document
		FROM audit.decisions d
		LEFT JOIN audit.decision_subjects s ON s.tenant_id = d.tenant_id AND s.digest = d.subject_digest`)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	subjects, kinds, total, incomplete := map[authz.Digest]int{}, map[ruleReason]int{}, 0, 0
	for rows.Next() {
		var d identity.Decision
		var input, document json.RawMessage
		var digest []byte
		if err := rows.Scan(&d.Rule, &d.Permission, &d.Module, &input, &d.Allow, &d.Hidden, &d.Reasons, &d.Revision, &digest, &document); err != nil {
			s.t.Fatal(err)
		}
		r := authz.Recorded{Rule: d.Rule, Permission: d.Permission, Module: d.Module, Input: input}
		if len(digest) > 0 {
			r.Subject = &authz.SubjectSnapshot{Digest: authz.Digest(digest), Document: document}
			subjects[r.Subject.Digest] = len(document)
		}
		if err := json.Unmarshal(input, &d.Input); err != nil {
			s.t.Fatal(err)
		}
		replayed, err := engine.Replay(s.t.Context(), r)
		if err != nil {
			s.t.Errorf("%s %s %s: %v", d.Rule, d.Permission, input, err)
			continue
		}
		if problem := describeDifference(d, replayed); problem != "" {
			s.t.Errorf("%s %s %s: %s", d.Rule, d.Permission, input, problem)
		}
		total++
		kinds[kindOf(d.DecisionEntry)]++
		if replayed.Incomplete {
			incomplete++
		}
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	largest := slices.Max(slices.Collect(maps.Values(subjects)))
	s.t.Logf("%d decisions of %d kinds, %d of them without what other tenants hold, by %d subjects of at most %d bytes", total, len(kinds), incomplete, len(subjects), largest)
	if len(kinds) < 20 {
		s.t.Errorf("got only %d kinds of decisions: %v", len(kinds), kinds)
	}
}
