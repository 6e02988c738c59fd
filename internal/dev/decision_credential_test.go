package dev

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	identity "parapet/internal/contract/identity"
	"parapet/internal/op"
	"parapet/internal/uid"
)

// TestListDecisions_FilterByCredential lists the decisions of one key: the decisions of a
// session of the same user are not included. This shows what a leaked key was used for.
func TestListDecisions_FilterByCredential(t *testing.T) {
	t.Parallel()
	s := &stage{Dev: startDev(t), t: t}
	auditor, session := s.loginAs("admin@acme.example"), s.loginAs("project-manager@acme.example")
	me := decode[identity.MeOut](t, s.want(http.StatusOK, "", "GET", "/api/auth/me", session, nil))
	key := decode[identity.IssuedKey](t, s.want(http.StatusCreated, "", "POST", "/api/auth/api-keys", session, body{"label": "leaked"}))
	s.want(http.StatusOK, "", "GET", "/api/projects", session, nil)
	// Acting in a tenant is decided before the subject is known.
	s.want(http.StatusOK, "", "GET", "/api/initiatives", key.Token, nil, "x-act-as-org", string(s.tenant("acme").ID))
	for _, c := range []struct {
		kind       string
		credential op.UUID
		has, lacks []string
	}{
		{"api_key", key.JTI, []string{"parapet/access/allow", "parapet/actas/verdict"}, []string{"parapet/keys/issue_self"}},
		{"session", me.TokenID, []string{"parapet/access/allow", "parapet/keys/issue_self", "parapet/open/verdict"}, []string{"parapet/actas/verdict"}},
	} {
		for _, e := range s.decisions(auditor, url.Values{"credentialId": {string(c.credential)}}, c.has...) {
			if e.CredentialID != c.credential || e.CredentialKind != c.kind || e.ActorID != string(me.User.ID) {
				t.Errorf("%s: %+v", c.kind, e)
			}
			if slices.Contains(c.lacks, e.Rule) {
				t.Errorf("%s: got a decision of rule %s for another credential", c.kind, e.Rule)
			}
		}
	}
	s.want(http.StatusBadRequest, "credentialId", "GET", "/api/decisions?credentialId=leaked", auditor, nil)
	if found := s.decisions(auditor, url.Values{"credentialId": {string(uid.New())}}); len(found) != 0 {
		t.Errorf("decisions of an unknown credential: got %+v, want none", found)
	}
}

// decode decodes the body of a response.
func decode[T any](t *testing.T, a answer) T {
	t.Helper()
	var out T
	if err := json.Unmarshal([]byte(a.Body), &out); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	return out
}

// decisions lists the decisions that the query selects. It waits until the list contains a
// decision of each rule, because the log is written asynchronously.
func (s *stage) decisions(token string, query url.Values, rules ...string) []identity.DecisionEntry {
	s.t.Helper()
	query.Set("limit", "200")
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		page := decode[op.Page[identity.DecisionEntry]](s.t, s.want(http.StatusOK, "", "GET", "/api/decisions?"+query.Encode(), token, nil))
		missing := slices.DeleteFunc(slices.Clone(rules), func(rule string) bool {
			return slices.ContainsFunc(page.Items, func(e identity.DecisionEntry) bool { return e.Rule == rule })
		})
		if len(missing) == 0 {
			return page.Items
		}
		if time.Now().After(end) {
			s.t.Fatalf("list-decisions %v: no decision of the rules %v among %d", query, missing, len(page.Items))
		}
	}
}
