package identity_test

import (
	"testing"

	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

// A decision names the record that it was about, so the reader needs a clearance for it.
func TestDecisions_AreVisibleUpToReadersClearance(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	_, clerk := r.addPerson("clerk", "decision_log.read") // INTERNAL
	admin := r.login("admin@acme.example")                // SECRET
	for name, c := range map[string]struct {
		input   string
		visible bool
	}{
		"a secret record":                  {`{"resource":{"id":"x","classification":"SECRET"}}`, false},
		"a record within clearance":        {`{"resource":{"id":"x","classification":"INTERNAL"}}`, true},
		"an unclassified record":           {`{"resource":{"id":"x"}}`, true},
		"an empty classification":          {`{"resource":{"id":"x","classification":""}}`, true},
		"a decision without a record":      {`{"effect":"read"}`, true},
		"a record that was not loaded":     {`{"resource":{"id":"x","classification":"UNCLASSIFIED"}}`, true},
		"a resource that is not an object": {`{"resource":7}`, true},
	} {
		id, permission := uid.New(), "probe."+string(uid.New())
		r.exec(`INSERT INTO audit.decisions
(tenant_id, id, decided_at, actor_id, rule, permission, module, allow, input, hidden, reasons, revision, request_id)
VALUES ($1, $2, now(), $3, 'access', $4, 'tracker', false, $5, false, '{}', 'r', 'q')`, r.acme.id, id, uid.New(), permission, c.input)
		for who, token := range map[string]string{"clerk": clerk, "admin": admin} {
			visible := c.visible || who == "admin"
			page := must[op.Page[contract.DecisionEntry]](r, "list-decisions", request{token: token, query: map[string][]string{"permission": {permission}}})
			if (len(page.Items) == 1) != visible {
				t.Errorf("%s: list-decisions as %s: got %d decisions", name, who, len(page.Items))
			}
			_, err := r.call("get-decision", pathRequest(token, "decisionId", id, nil))
			if visible && err != nil || !visible && !fault.HasCode(err, fault.CodeNotFound) {
				t.Errorf("%s: get-decision as %s: got %v", name, who, err)
			}
		}
	}
}
