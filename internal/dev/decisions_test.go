package dev

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"parapet/internal/uid"
)

// TestListDecisions_FilterByRequestID lists the decisions of one request by the id in its
// response. The list includes decisions of the special policy entry points.
func TestListDecisions_FilterByRequestID(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	admin, member := d.login(t, "admin@acme.example"), d.login(t, "member@acme.example")
	unknownID := string(uid.Random())
	for _, c := range []struct{ rule, method, target, body string }{
		{"parapet/access/allow", "POST", "/api/projects", `{"name":"Pier","startDate":"2027-01-01","prefix":"PIER"}`},
		{"parapet/keys/issue_self", "POST", "/api/auth/api-keys", `{"label":"laptop"}`},
		{"parapet/keys/issue_service", "POST", "/api/auth/api-keys/service", `{"label":"ci","targetUserId":"` + unknownID + `"}`},
		{"parapet/keys/list", "GET", "/api/auth/api-keys", ""},
		{"parapet/keys/revoke", "DELETE", "/api/auth/api-keys/" + unknownID, ""},
	} {
		w := d.ask(t, c.method, c.target, member, []byte(c.body))
		id := w.Header().Get("X-Request-Id")
		if id == "" {
			t.Fatalf("%s %s: got %d without a request id", c.method, c.target, w.Code)
		}
		// The log is written asynchronously.
		found := []string{}
		for end := time.Now().Add(time.Minute); !slices.Contains(found, c.rule) && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			found = found[:0]
			var page struct{ Items []struct{ Rule string } }
			log := d.ask(t, "GET", "/api/decisions?requestId="+url.QueryEscape(id), admin, nil)
			if err := json.Unmarshal(log.Body.Bytes(), &page); err != nil || log.Code != http.StatusOK {
				t.Fatalf("list-decisions: got %d %s", log.Code, log.Body)
			}
			for _, entry := range page.Items {
				found = append(found, entry.Rule)
			}
		}
		if !slices.Contains(found, c.rule) {
			t.Errorf("%s %s (%d): got decisions %v, want one of rule %s", c.method, c.target, w.Code, found, c.rule)
		}
	}
}
