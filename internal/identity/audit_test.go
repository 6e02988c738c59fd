package identity_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"

	"parapet/internal/audit"
	contract "parapet/internal/contract/identity"
	"parapet/internal/events"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

// audit.read.own, .organisation and .tenant cover entries whose classification is absent or
// UNCLASSIFIED; audit.read.classified covers all entries.
func TestListAuditEntries_ReturnsEntriesInScope(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	other := must[contract.Organisation](r, "create-organisation", request{token: admin, body: body(fields{"name": "Other"})})
	outsider := must[contract.User](r, "create-user", request{token: admin, body: body(fields{
		"email": "out@acme.example", "displayName": "Out", "roles": []string{"Member"}, "organisationId": other.ID,
	})})
	ownID, own := r.addPerson("own", "audit.read.own")
	_, organisation := r.addPerson("organisation", "audit.read.organisation")
	_, tenant := r.addPerson("tenant", "audit.read.tenant")
	_, classified := r.addPerson("classified", "audit.read.classified")
	// One entry for each actor and classification: none, UNCLASSIFIED, other tiers, and
	// texts that are not tiers.
	plain, tiers := "UNCLASSIFIED", []*string{nil}
	for _, tier := range []string{plain, "INTERNAL", "SECRET", "COSMIC", "", " ", "unclassified", "UNCLASSIFIED ", "NULL", strings.Repeat("x", 3000)} {
		tiers = append(tiers, &tier)
	}
	every := len(tiers)
	actors := map[string]op.UUID{"self": ownID, "colleague": r.acme.people["member"], "stranger": outsider.ID}
	r.asOwner(func(ctx context.Context, tx pgx.Tx) error {
		var entries []audit.Entry
		for who, id := range actors {
			for _, tier := range tiers {
				entries = append(entries, audit.Entry{
					Tenant: r.acme.id, Actor: id, Action: "probe." + who, ResourceType: "probe", Module: "identity", Classification: tier,
				})
			}
		}
		if err := postgres.SetTenant(ctx, tx, string(r.acme.id)); err != nil {
			return err
		}
		return audit.Append(ctx, tx, entries)
	})
	count := func(token string) (map[string]int, int, int) {
		got, all, seen := map[string]int{}, 0, map[string]bool{}
		page := must[op.Page[contract.AuditEntry]](r, "list-audit-entries", request{token: token, query: map[string][]string{"resourceType": {"probe"}, "limit": {"200"}}})
		for _, e := range page.Items {
			got[e.Action]++
			all++
			seen[fmt.Sprint(e.Classification == nil, textOrNone(e.Classification))] = true
		}
		return got, all, len(seen)
	}
	for _, c := range []struct {
		note, token string
		want        map[string]int
		all         int
	}{
		{"own", own, map[string]int{"probe.self": 2}, 2},
		{"organisation", organisation, map[string]int{"probe.self": 2, "probe.colleague": 2}, 4},
		{"tenant", tenant, map[string]int{"probe.self": 2, "probe.colleague": 2, "probe.stranger": 2}, 6},
		{"classified", classified, map[string]int{"probe.self": every, "probe.colleague": every, "probe.stranger": every}, 3 * every},
	} {
		got, all, _ := count(c.token)
		if all != c.all {
			t.Errorf("%s: got %d entries, want %d: %v", c.note, all, c.all, got)
		}
		for action, n := range c.want {
			if got[action] != n {
				t.Errorf("%s: got %d entries of %s, want %d", c.note, got[action], action, n)
			}
		}
	}
	if _, all, kinds := count(r.login("admin@acme.example")); all != 3*every || kinds != every {
		t.Errorf("administrator: got %d entries with %d classifications, want all %d with %d", all, kinds, 3*every, every)
	}
	globex := must[op.Page[contract.AuditEntry]](r, "list-audit-entries", request{token: r.login("admin@globex.example"), query: map[string][]string{"limit": {"200"}}})
	for _, e := range globex.Items {
		if e.TenantID != r.globex.id {
			t.Errorf("list of globex: got an entry of tenant %s", e.TenantID)
		}
	}
}

func textOrNone(text *string) string {
	if text == nil {
		return "none"
	}
	return *text
}

func TestListAuditEntries_FiltersAndPages(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	var ids []op.UUID
	for _, name := range []string{"One", "Two", "Three"} {
		ids = append(ids, must[contract.Organisation](r, "create-organisation", request{token: admin, body: body(fields{"name": name})}).ID)
	}
	list := func(query map[string][]string) *op.Page[contract.AuditEntry] {
		return must[op.Page[contract.AuditEntry]](r, "list-audit-entries", request{token: admin, query: query})
	}
	page := list(map[string][]string{"action": {contract.ActionOrganisationCreated}, "actorId": {string(r.acme.people["admin"])}, "limit": {"2"}})
	if len(page.Items) != 2 || page.NextCursor == "" || page.Items[0].ResourceID != string(ids[2]) || page.Items[0].Seq <= page.Items[1].Seq {
		t.Fatalf("first page: got %+v, want the newest 2 entries and a cursor", page)
	}
	page = list(map[string][]string{"action": {contract.ActionOrganisationCreated}, "actorId": {string(r.acme.people["admin"])}, "limit": {"2"}, "cursor": {page.NextCursor}})
	if len(page.Items) != 1 || page.NextCursor != "" || page.Items[0].ResourceID != string(ids[0]) {
		t.Fatalf("second page: got %+v, want the oldest entry and no cursor", page)
	}
	e := page.Items[0]
	if len(e.Hash) != 64 || e.CorrelationID == "" || e.Module != contract.Module || e.CreatedAt.Location() != time.UTC {
		t.Errorf("entry: got %+v, want a hash of 64 digits, a correlation id, the module and a UTC time", e)
	}
	if text, err := json.Marshal(e); err != nil || !containsText(text, `"type":"CUSTOMER"`) {
		t.Errorf("entry as JSON: got %s, %v, want the type CUSTOMER", text, err)
	}
	if n := len(list(map[string][]string{"resourceId": {string(ids[1])}}).Items); n != 1 {
		t.Errorf("resourceId: got %d entries, want 1", n)
	}
	if n := len(list(map[string][]string{"from": {"2999-01-01T00:00:00Z"}}).Items); n != 0 {
		t.Errorf("from in the future: got %d entries, want none", n)
	}
	for _, query := range []map[string][]string{{"from": {"yesterday"}}, {"until": {"1"}}, {"actorId": {"nobody@acme.example"}}, {"cursor": {"x"}}, {"limit": {"201"}}, {"seq": {"1"}}} {
		if _, err := r.call("list-audit-entries", request{token: admin, query: query}); !fault.HasCode(err, fault.CodeValidation) {
			t.Errorf("query %v: got %v, want VALIDATION", query, err)
		}
	}
}

// Entries can be filtered by API key. Entries of the same user's session are not included.
func TestListAuditEntries_FiltersByCredential(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	session := r.login("admin@acme.example")
	me := must[contract.MeOut](r, "me", request{token: session})
	key := must[contract.IssuedKey](r, "issue-key", request{token: session, body: body(fields{"label": "leaked"})})
	byKey := must[contract.Organisation](r, "create-organisation", request{token: key.Token, body: body(fields{"name": "By key"})})
	bySession := must[contract.Organisation](r, "create-organisation", request{token: session, body: body(fields{"name": "By session"})})
	list := func(query map[string][]string) []contract.AuditEntry {
		t.Helper()
		return must[op.Page[contract.AuditEntry]](r, "list-audit-entries", request{token: session, query: query}).Items
	}
	for _, c := range []struct {
		kind       string
		credential op.UUID
		want       []string
	}{
		{"api_key", key.JTI, []string{string(byKey.ID)}},
		{"session", me.TokenID, []string{string(bySession.ID), string(key.ID)}},
		{"", uid.New(), nil},
	} {
		items := list(map[string][]string{"credentialId": {string(c.credential)}})
		var got []string
		for _, e := range items {
			got = append(got, e.ResourceID)
			if e.CredentialID != c.credential || e.CredentialKind != c.kind || e.ActorID != r.acme.people["admin"] {
				t.Errorf("credential %s: got entry %+v", c.kind, e)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("credential %s: got entries about %v, want %v", c.kind, got, c.want)
		}
	}
	// A login has no credential.
	for _, e := range list(map[string][]string{"action": {contract.ActionSessionCreated}}) {
		if e.CredentialID != "" || e.CredentialKind != "" {
			t.Errorf("login: got entry %+v, want no credential", e)
		}
	}
	if _, err := r.call("list-audit-entries", request{token: session, query: map[string][]string{"credentialId": {"leaked"}}}); !fault.HasCode(err, fault.CodeValidation) {
		t.Errorf("credentialId that is not a UUID: got %v, want VALIDATION", err)
	}
}

// A log entry stores the digest of its subject. get-decision returns the subject and reports
// if it was altered.
func TestGetDecision_ReturnsSubjectAndDetectsAlteration(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin, otherTenantUser := r.login("admin@acme.example"), r.login("admin@globex.example")
	const document = `{"subject":{"grants":{}}}`
	digest := sha256.Sum256([]byte(document))
	put := func(digest any) (id op.UUID) {
		id = uid.New()
		r.exec(`INSERT INTO audit.decisions
(tenant_id, id, decided_at, actor_id, rule, permission, module, allow, input, hidden, reasons, revision, request_id, subject_digest)
VALUES ($1, $2, now(), $3, 'access', 'task.update', 'tracker', true, '{"n":1}', false, '{}', 'r', 'q', $4)`, r.acme.id, id, uid.New(), digest)
		return id
	}
	r.exec(`INSERT INTO audit.decision_subjects (tenant_id, digest, document) VALUES ($1, $2, $3)`, r.acme.id, digest[:], document)
	withSubject, withoutSubject := put(digest[:]), put(nil)
	get := func(id op.UUID) *contract.Decision {
		t.Helper()
		return must[contract.Decision](r, "get-decision", pathRequest(admin, "decisionId", id, nil))
	}
	d := get(withSubject)
	if text, err := json.Marshal(d.Subject); err != nil || string(text) != document || d.SubjectStatus != contract.SubjectVerified ||
		d.SubjectDigest != hex.EncodeToString(digest[:]) || d.ID != withSubject || !d.Allow {
		t.Errorf("verified subject: got %+v, %v, want the stored document and digest", d, err)
	}
	if d := get(withoutSubject); d.Subject != nil || d.SubjectStatus != "" || d.SubjectDigest != "" {
		t.Errorf("decision without a subject: got %+v, want no subject, status or digest", d)
	}
	for name, call := range map[string]request{
		"unknown": pathRequest(admin, "decisionId", uid.New(), nil), "another tenant's": pathRequest(otherTenantUser, "decisionId", withSubject, nil),
	} {
		if _, err := r.call("get-decision", call); !fault.HasCode(err, fault.CodeNotFound) {
			t.Errorf("%s: got %v, want NOT_FOUND", name, err)
		}
	}
	r.wantFault("get-decision", pathRequest(r.login("member@acme.example"), "decisionId", withSubject, nil), fault.CodeForbidden, "decision_log.read")

	r.exec(`ALTER TABLE audit.decision_subjects DROP CONSTRAINT decision_subjects_digest_is_the_documents`)
	r.exec(`UPDATE audit.decision_subjects SET document = '{"subject":{"grants":{"task.update":{"tenant":true}}}}'`)
	if d := get(withSubject); d.Subject != nil || d.SubjectStatus != contract.SubjectAltered || d.SubjectDigest != hex.EncodeToString(digest[:]) {
		t.Errorf("altered subject: got %+v, want the status %s and no subject", d, contract.SubjectAltered)
	}
}

// With the log off, an empty list would mean that nothing was decided.
func TestListDecisions_NamesTheSettingWhenTheLogIsOff(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{decisionLogOff: true})
	admin := r.login("admin@acme.example")
	r.wantFault("list-decisions", request{token: admin}, fault.CodeConflict, "PT_DECISION_LOG")
	r.wantFault("list-decisions", request{token: r.login("member@acme.example")}, fault.CodeForbidden, "decision_log.read")
	r.exec(`INSERT INTO audit.decisions
(tenant_id, id, decided_at, actor_id, rule, permission, module, allow, input, hidden, reasons, revision, request_id)
VALUES ($1, $2, now(), $3, 'access', 'task.update', 'tracker', false, '{"n":1}', false, '{permission_missing}', 'r', 'q')`, r.acme.id, uid.New(), uid.New())
	if page := must[op.Page[contract.DecisionEntry]](r, "list-decisions", request{token: admin}); len(page.Items) != 1 {
		t.Errorf("records from before: got %+v, want one", page)
	}
}

func TestListDecisions_FiltersAndRequiresTenantScope(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	for _, tenant := range []op.UUID{r.acme.id, r.globex.id} {
		r.exec(`INSERT INTO audit.decisions
(tenant_id, id, decided_at, actor_id, rule, permission, module, allow, input, hidden, reasons, revision, request_id)
VALUES ($1, $2, now(), $3, 'access', 'task.update', 'tracker', false, '{"n":1}', false, '{permission_missing}', 'r', 'q')`, tenant, uid.New(), uid.New())
	}
	page := must[op.Page[contract.DecisionEntry]](r, "list-decisions", request{token: admin, query: map[string][]string{"permission": {"task.update"}, "allow": {"false"}}})
	if len(page.Items) != 1 || page.Items[0].Allow || page.Items[0].Reasons[0] != "permission_missing" {
		t.Fatalf("denied decisions: got %+v, want one", page)
	}
	if page = must[op.Page[contract.DecisionEntry]](r, "list-decisions", request{token: admin, query: map[string][]string{"allow": {"true"}}}); len(page.Items) != 0 {
		t.Errorf("allowed decisions: got %+v, want none", page)
	}
	adminID := queryValue[string](r, `SELECT id::text FROM identity.users WHERE email = 'admin@acme.example'`)
	task, at := uid.New(), r.clock.Now().UTC().Add(-time.Hour)
	r.exec(`INSERT INTO audit.decisions
(tenant_id, id, decided_at, actor_id, rule, permission, module, allow, input, hidden, reasons, revision, request_id)
VALUES ($1, $2, $3, $4, 'access', 'task.delete', 'tracker', false, $5, false, '{}', 'r', 'q')`, r.acme.id, uid.New(), at, adminID, `{"resource":{"id":"`+string(task)+`"}}`)
	from, until := at.Format(time.RFC3339Nano), at.Add(time.Second).Format(time.RFC3339Nano)
	for filter, want := range map[string]int{
		"resourceId=" + string(task): 1, "resourceId=" + string(uid.New()): 0, "permission=task.delete&from=" + from: 1, "permission=task.delete&until=" + from: 0,
		"permission=task.delete&until=" + until: 1, "permission=task.delete&from=" + until: 0,
	} {
		query, err := url.ParseQuery(filter)
		if err != nil {
			t.Fatal(err)
		}
		page := must[op.Page[contract.DecisionEntry]](r, "list-decisions", request{token: admin, query: query})
		if len(page.Items) != want {
			t.Errorf("%s: got %d decisions, want %d", filter, len(page.Items), want)
		}
	}
	r.wantFault("list-decisions", request{token: admin, query: map[string][]string{"from": {"yesterday"}}}, fault.CodeValidation, "timestamp")
	// The permission must be held in the whole tenant.
	role := must[contract.Role](r, "create-role", request{token: admin, body: body(fields{"name": "Log", "permissions": []string{"decision_log.read", "events.read"}})})
	id, _ := r.addPerson("clerk")
	must[contract.RoleAssignment](r, "assign-role", pathRequest(admin, "roleId", role.ID, fields{"userId": id, "scope": "organisation", "scopeId": r.acme.organisation}))
	clerk := r.login("clerk@acme.example")
	r.wantFault("list-decisions", request{token: clerk}, fault.CodeForbidden, "decision_log.read")
	if page := must[op.Page[contract.EventRecord]](r, "list-events", request{token: clerk}); len(page.Items) != 0 {
		t.Errorf("list-events with a permission in one organisation: got %d events, want none", len(page.Items))
	}
}

func TestListEvents_ReturnsOwnTenantOnly(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	o := must[contract.Organisation](r, "create-organisation", request{token: admin, body: body(fields{"name": "One"})})
	page := must[op.Page[contract.EventRecord]](r, "list-events", request{token: admin, query: map[string][]string{"aggregateId": {string(o.ID)}}})
	if len(page.Items) != 1 || page.Items[0].Type != contract.EventOrganisationCreated.Name || page.Items[0].ActorID != r.acme.people["admin"] {
		t.Fatalf("list-events: got %+v, want the creation of the organisation by the administrator", page)
	}
	globex := must[op.Page[contract.EventRecord]](r, "list-events", request{token: r.login("admin@globex.example"), query: map[string][]string{"aggregateId": {string(o.ID)}}})
	if len(globex.Items) != 0 {
		t.Errorf("list-events of globex: got %+v, want none", globex.Items)
	}
}

// The reader needs a clearance for the classification of the record that an event names.
func TestListEvents_FiltersByClearance(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	project := uid.New()
	for _, payload := range []string{`{"classification":"UNCLASSIFIED"}`, `{"classification":"CONFIDENTIAL"}`, `{"classification":"SECRET"}`, `{}`} {
		r.exec(`INSERT INTO events.outbox (tenant_id, id, type, aggregate_type, aggregate_id, occurred_at, correlation_id, payload)
VALUES ($1, $2, 'projects.task.updated', 'task', $3, now(), $4, $5::text::jsonb)`, r.acme.id, uid.New(), project, uid.New(), payload)
	}
	for clearance, want := range map[string]int{"UNCLASSIFIED": 1, "CONFIDENTIAL": 2, "SECRET": 4} {
		r.exec(`UPDATE identity.memberships SET clearance = $3 WHERE tenant_id = $1 AND user_id = $2`, r.acme.id, r.acme.people["admin"], clearance)
		page := must[op.Page[contract.EventRecord]](r, "list-events", request{token: r.login("admin@acme.example"), query: map[string][]string{"aggregateId": {string(project)}}})
		if len(page.Items) != want {
			t.Errorf("clearance %s: got %d events, want %d", clearance, len(page.Items), want)
		}
	}
}

func TestNotifications_AreListedAndMarkedByRecipient(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	add := func(tenant op.UUID, audience string, user *op.UUID) op.UUID {
		id := uid.New()
		r.exec(`INSERT INTO events.notifications (tenant_id, id, event_id, audience, user_id, type, subject, payload, created_at)
VALUES ($1, $2, $3, $4, $5, 'directory.user.updated', 'user:x', '{}', now())`, tenant, id, uid.New(), audience, user)
		return id
	}
	member := r.acme.people["member"]
	foreign := r.globex.people["member"]
	own, all, other := add(r.acme.id, events.ToUser, &member), add(r.acme.id, events.ToAdministrators, nil), add(r.globex.id, events.ToUser, &foreign)
	list := func(token string) []contract.Notification {
		return must[op.Page[contract.Notification]](r, "list-notifications", request{token: token}).Items
	}
	token, admin := r.login("member@acme.example"), r.login("admin@acme.example")
	if got := list(token); len(got) != 1 || got[0].ID != own || got[0].ReadAt != nil {
		t.Errorf("list-notifications by the member: got %+v, want their unread notification", got)
	}
	if got := list(admin); len(got) != 1 || got[0].ID != all {
		t.Errorf("list-notifications by the administrator: got %+v, want the notification of the whole tenant", got)
	}
	must[op.None](r, "mark-notification-read", pathRequest(token, "notificationId", own, nil))
	if got := list(token); got[0].ReadAt == nil {
		t.Error("readAt is not set")
	}
	for _, id := range []op.UUID{all, other, uid.New()} {
		r.wantFault("mark-notification-read", pathRequest(token, "notificationId", id, nil), fault.CodeNotFound, "There is no such notification.")
	}
}
