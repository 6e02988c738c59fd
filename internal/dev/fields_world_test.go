// The test sends two thousand requests, and twenty thousand with -thorough. The race
// detector makes them ten times slower, and other tests already send concurrent requests.
//go:build !race

package dev

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/op"
	"parapet/internal/uid"
)

// createFixtures creates the records that the valid requests refer to. For requests that
// use up a record, it registers a function in renew that creates another one.
func (s *fieldServer) createFixtures(t testing.TB) {
	t.Helper()
	s.tb = t
	w := newParityWorld(t, s.Dev, s.login(t, "admin@northwind.example"), "QFLD")
	s.world = w
	office := s.info.Tenants[0]
	w.ids["tenantId"], w.ids["organisationId"] = office.ID, office.Organisations[0].ID
	p := fmt.Sprintf("/api/projects/%s", w.ids["projectId"])
	n := 0
	unique := func(format string) string { n++; return fmt.Sprintf(format, n) }
	// set creates a value now and after each success of the operations.
	set := func(names []string, value func() map[string]any) {
		remake := func(fieldRequest) {
			for field, v := range value() {
				for _, name := range names {
					w.ids[name+" "+field] = v
				}
			}
		}
		remake(fieldRequest{})
		for _, name := range names {
			s.renew[name] = remake
		}
	}
	one := func(field string, value func() any) func() map[string]any {
		return func() map[string]any { return map[string]any{field: value()} }
	}
	task := func(more map[string]any) map[string]any {
		body := map[string]any{"title": unique("Work item %d"), "allowDuplicate": true}
		for k, v := range more {
			body[k] = v
		}
		return s.make(p+"/tasks", body)
	}
	var me struct{ User struct{ ID string } }
	w.get(t, "/api/auth/me", &me)

	// Names that must be unique.
	w.ids["create-project issuePrefix"] = "IQF"
	// Each of these changes something, so that it causes an event.
	w.ids["update-membership status"], w.ids["assign-issue assignee"], w.ids["update-deliverable title"] = "SUSPENDED", "me", "The new title"
	set([]string{"create-project"}, one("prefix", func() any { return unique("ZQ%d") }))
	s.renew["create-project"] = func(fieldRequest) {
		w.ids["create-project prefix"], w.ids["create-project issuePrefix"] = unique("ZQ%d"), unique("IQ%d")
	}
	set([]string{"create-user"}, one("email", func() any { return unique("fields%d@northwind.example") }))
	set([]string{"create-tenant"}, one("slug", func() any { return unique("fields-%d") }))
	w.ids["create-tenant adminEmail"] = "admin@fields.example"
	set([]string{"create-organisation", "create-role", "create-custom-field"}, one("name", func() any { return unique("Fields %d") }))
	set([]string{"bind-repo"}, one("path", func() any { return unique("/srv/fields/%d") }))
	w.ids["create-custom-field type"] = "TEXT"
	set([]string{"delete-page"}, one("path", func() any {
		path := unique("fields/%d")
		w.putPage(s.tb, path)
		return path
	}))
	// By id: requests of other operations rename the field.
	w.ids["set-custom-field-values values"] = []any{map[string]any{"field": w.ids["fieldId"], "value": "red"}}
	w.ids["create-task title"], w.ids["create-task allowDuplicate"] = "Do it", true

	// Records whose state a request changes.
	set([]string{"claim-next-ready"}, func() map[string]any { task(nil); return nil })
	set([]string{"keep-claim", "release-claim"}, func() map[string]any {
		task(nil)
		claimed := s.make(p+"/claim-next-ready", map[string]any{"leaseSeconds": 600})
		held, _ := claimed["task"].(map[string]any)
		lease, _ := claimed["lease"].(map[string]any)
		return map[string]any{"task": held["key"], "leaseId": lease["id"]}
	})
	createDecision := func() map[string]any {
		k := task(map[string]any{"status": "IN_PROGRESS", "assignee": me.User.ID})["key"]
		r := s.make(fmt.Sprintf("%s/tasks/%s/decision-requests", p, k), map[string]any{"question": "Left?", "options": []string{"Yes", "No"}})
		return map[string]any{"task": k, "requestId": r["id"], "chosenOptionIndex": 1}
	}
	set([]string{"answer-decision", "cancel-decision"}, createDecision)
	delete(w.ids, "cancel-decision chosenOptionIndex")
	set([]string{"wait-decision"}, func() map[string]any {
		ids := createDecision()
		s.make(fmt.Sprintf("%s/tasks/%s/decision-requests/%s/answer", p, ids["task"], ids["requestId"]), map[string]any{"chosenOptionIndex": 1})
		return ids
	})
	project := func() any {
		return s.make("/api/projects", map[string]any{"name": unique("Project %d"), "startDate": "2027-01-01"})["id"]
	}
	// A project has at most 100 stages.
	staged, stages := project(), 0
	stage := func() map[string]any {
		if stages++; stages%40 == 0 {
			staged = project()
		}
		id := s.make(fmt.Sprintf("/api/projects/%s/stages", staged), map[string]any{"name": unique("Stage %d")})["id"]
		return map[string]any{"projectId": staged, "stageId": id}
	}
	set([]string{"start-stage", "delete-stage", "create-gate", "create-stage", "update-stage"}, stage)
	set([]string{"complete-stage"}, func() map[string]any {
		ids := stage()
		s.make(fmt.Sprintf("/api/projects/%s/stages/%s/start", ids["projectId"], ids["stageId"]), nil)
		return ids
	})
	set([]string{"delete-gate", "review-gate"}, func() map[string]any {
		ids := stage()
		ids["gateId"] = s.make(fmt.Sprintf("/api/projects/%s/gates", ids["projectId"]), map[string]any{"name": unique("Gate %d"), "stageId": ids["stageId"], "criteria": []string{"It holds."}})["id"]
		return ids
	})
	deliverable := func(steps ...string) func() map[string]any {
		return func() map[string]any {
			d := s.make(p+"/deliverables", map[string]any{"title": unique("Deliverable %d"), "criteria": []string{"It holds."}})
			for _, step := range steps {
				s.make(fmt.Sprintf("%s/deliverables/%s/%s", p, d["id"], step), nil)
			}
			var list struct{ Items []struct{ ID string } }
			w.get(s.tb, fmt.Sprintf("%s/criteria?deliverableId=%s", p, d["id"]), &list)
			ids := map[string]any{"deliverableId": d["id"]}
			if len(list.Items) > 0 {
				ids["criterionId"], ids["failedCriteria"] = list.Items[0].ID, []any{list.Items[0].ID}
			}
			return ids
		}
	}
	set([]string{"submit-deliverable", "delete-deliverable", "update-deliverable", "update-criterion", "delete-criterion", "create-criterion"}, deliverable())
	set([]string{"start-deliverable-review"}, deliverable("submit"))
	for _, name := range []string{"accept-deliverable", "reject-deliverable", "revise-deliverable"} {
		set([]string{name}, deliverable("submit", "start-review"))
	}
	set([]string{"promote-issue", "delete-issue"}, one("issue", func() any {
		return s.make("/api/issues", map[string]any{"projectId": w.ids["projectId"], "title": unique("Issue %d")})["key"]
	}))
	set([]string{"delete-task"}, one("task", func() any { return task(nil)["key"] }))
	set([]string{"add-dependency"}, func() map[string]any {
		return map[string]any{"task": task(nil)["key"], "dependsOn": task(nil)["key"]}
	})
	set([]string{"remove-dependency"}, func() map[string]any {
		a, b := task(nil), task(nil)
		s.make(fmt.Sprintf("%s/tasks/%s/dependencies", p, a["key"]), map[string]any{"dependsOn": b["key"]})
		return map[string]any{"task": a["key"], "dependsOnId": b["key"]}
	})
	set([]string{"delete-custom-field"}, one("fieldId", func() any {
		return s.make(p+"/custom-fields", map[string]any{"name": unique("Field %d"), "type": "TEXT"})["id"]
	}))
	set([]string{"unbind-repo"}, one("bindingId", func() any {
		return s.make(p+"/repo-paths", map[string]any{"path": unique("/srv/bound/%d")})["id"]
	}))
	set([]string{"delete-comment"}, one("commentId", func() any {
		return s.make("/api/comments", map[string]any{"issueId": w.issueID(s.tb), "body": "Seen."})["id"]
	}))
	set([]string{"delete-time-entry"}, one("timeEntryId", func() any {
		return s.make("/api/time-entries", map[string]any{"projectId": w.ids["projectId"], "date": "2026-01-05", "minutes": 30})["id"]
	}))
	set([]string{"delete-initiative"}, one("initiativeId", func() any {
		return s.make("/api/initiatives", map[string]any{"name": unique("Initiative %d"), "startDate": "2027-01-01"})["id"]
	}))
	set([]string{"delete-project", "update-project"}, one("projectId", project))
	entry := func() any {
		return s.make("/api/catalog/entries", map[string]any{"title": unique("Entry %d"), "nodeId": w.ids["nodeId"]})["id"]
	}
	set([]string{"publish-catalog-entry", "delete-catalog-entry"}, one("entryId", entry))
	set([]string{"get-catalog-embedding"}, one("entryId", func() any {
		id := entry()
		s.ask(s.tb, "PUT", fmt.Sprintf("/api/catalog/entries/%s/embedding", id), w.token, []byte(`{"vector":[0.5,1.5,-2]}`))
		return id
	}))
	set([]string{"archive-catalog-entry"}, one("entryId", func() any {
		id := entry()
		s.make(fmt.Sprintf("/api/catalog/entries/%s/publish", id), nil)
		return id
	}))
	shortlist := func() any { return s.make("/api/catalog/shortlists", map[string]any{"name": unique("List %d")})["id"] }
	set([]string{"archive-shortlist", "delete-shortlist"}, one("shortlistId", shortlist))
	set([]string{"add-shortlist-entry"}, func() map[string]any { return map[string]any{"shortlistId": shortlist(), "entryId": entry()} })
	set([]string{"update-shortlist-entry", "remove-shortlist-entry"}, func() map[string]any {
		list, listed := shortlist(), entry()
		s.make(fmt.Sprintf("/api/catalog/shortlists/%s/entries", list), map[string]any{"entryId": listed})
		return map[string]any{"shortlistId": list, "entryId": listed}
	})
	set([]string{"delete-taxonomy-node"}, one("nodeId", func() any {
		return s.make("/api/catalog/taxonomy", map[string]any{"name": unique("Node %d")})["id"]
	}))

	// Users, roles and tenants.
	user := func() any {
		return s.make("/api/users", map[string]any{"email": unique("person%d@northwind.example"), "displayName": "Person", "roles": []string{"Member"}})["id"]
	}
	set([]string{"update-user", "update-membership"}, one("userId", user))
	set([]string{"delete-user"}, one("userId", func() any {
		return s.make("/api/users", map[string]any{"principalKind": "AGENT", "email": unique("agent+fields%d@northwind.example"), "displayName": "Agent", "roles": []string{"Agent"}})["id"]
	}))
	role := func() any {
		return s.make("/api/roles", map[string]any{"name": unique("Role %d"), "permissions": []string{"tasks.read"}})["id"]
	}
	set([]string{"delete-role", "update-role"}, one("roleId", role))
	w.ids["grant-permission permission"] = "projects.read"
	set([]string{"grant-permission"}, one("roleId", role))
	set([]string{"revoke-permission"}, func() map[string]any { return map[string]any{"roleId": role(), "permission": "tasks.read"} })
	set([]string{"assign-role"}, func() map[string]any { return map[string]any{"roleId": role(), "userId": user()} })
	set([]string{"unassign-role"}, func() map[string]any {
		id := role()
		a := s.make(fmt.Sprintf("/api/roles/%s/assignments", id), map[string]any{"userId": user()})
		return map[string]any{"roleId": id, "assignmentId": a["id"]}
	})
	tenant := func() any {
		made, _ := s.make("/api/tenants", map[string]any{
			"slug": unique("other-%d"), "name": "Other", "organisationName": "Other", "adminEmail": unique("admin%d@other.example"), "adminName": "Admin",
		})["tenant"].(map[string]any)
		return made["id"]
	}
	// again registers a second request that undoes the first.
	again := func(name, format string, id any) {
		w.ids[name] = id
		s.renew[strings.Fields(name)[0]] = func(fieldRequest) { s.make(fmt.Sprintf(format, id), nil) }
	}
	colleague, other := user(), tenant()
	again("suspend-user userId", "/api/users/%s/activate", colleague)
	w.ids["activate-user userId"] = colleague
	again("disable-tenant tenantId", "/api/tenants/%s/enable", other)
	w.ids["enable-tenant tenantId"] = other
	set([]string{"create-membership"}, func() map[string]any {
		return map[string]any{"tenantId": other, "userId": user()}
	})
	// A webhook for events that do not happen, because tests must not send requests.
	webhook := func() any {
		made, _ := s.make("/api/webhooks", map[string]any{"url": "https://receiver.invalid/", "eventTypes": []string{"events.webhook.disabled"}})["webhook"].(map[string]any)
		return made["id"]
	}
	set([]string{"delete-webhook"}, one("webhookId", webhook))
	w.ids["update-webhook webhookId"] = webhook()
	set([]string{"create-webhook"}, func() map[string]any {
		// A tenant has at most 50 webhooks.
		var page struct{ Items []struct{ ID string } }
		w.get(s.tb, "/api/webhooks?limit=200", &page)
		for _, made := range page.Items {
			if made.ID != w.ids["webhookId"] && made.ID != w.ids["delete-webhook webhookId"] && made.ID != w.ids["update-webhook webhookId"] {
				s.ask(s.tb, "DELETE", "/api/webhooks/"+made.ID, w.token, nil)
			}
		}
		return nil
	})
	set([]string{"revoke-key"}, one("keyId", func() any { return s.make("/api/auth/api-keys", map[string]any{"label": "fields"})["id"] }))
	for _, u := range office.Users {
		if u.IntegrationKey != nil {
			w.ids["issue-service-key targetUserId"] = u.ID
		}
	}
	w.ids["issue-key label"], w.ids["issue-service-key label"] = "fields", "fields"
	delegation := func() any {
		until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		w.ids["create-delegation until"] = until
		return s.make("/api/delegations", map[string]any{"delegate": user(), "permissions": []string{"tasks.read"}, "until": until})["id"]
	}
	set([]string{"revoke-delegation", "get-delegation"}, one("delegationId", delegation))
	set([]string{"create-delegation"}, one("delegate", user))
	s.insertRows(t, office)
	s.createSessions(t, office)
}

// make creates a record for the request that is being sent.
func (s *fieldServer) make(path string, body map[string]any) map[string]any {
	return s.world.make(s.tb, path, body)
}

// issueID returns the id of the world's issue.
func (w *parityWorld) issueID(t testing.TB) string {
	t.Helper()
	var issue struct{ ID string }
	w.get(t, fmt.Sprintf("/api/issues/%s", w.ids["issue"]), &issue)
	return issue.ID
}

// insertRows inserts rows that no request creates directly: an agent run and a notification.
func (s *fieldServer) insertRows(t testing.TB, office Tenant) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.info.DirectURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	run, notification := uid.New(), uid.New()
	var admin op.UUID
	for _, u := range office.Users {
		if u.Email == "admin@northwind.example" {
			admin = u.ID
		}
	}
	_, err = conn.Exec(t.Context(), `INSERT INTO projects.agent_runs (tenant_id, id, project_id, task_id, agent_id, created_by, created_at) VALUES ($1, $2, $3, $4, $5, $5, now())`,
		office.ID, run, s.world.ids["projectId"], s.world.ids["epicId"], office.Users[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), `INSERT INTO events.notifications (tenant_id, id, event_id, audience, user_id, type, subject, payload, created_at) VALUES ($1, $2, $2, 'USER', $3, 'test', 'test:1', '{}', now())`,
		office.ID, notification, admin)
	if err != nil {
		t.Fatal(err)
	}
	s.world.ids["runId"], s.world.ids["notificationId"] = run, notification
	s.world.ids["decisionId"] = firstDecision(t, conn, office.ID)
}

// firstDecision returns the id of the tenant's oldest decision. It waits for one, because
// decisions are written asynchronously.
func firstDecision(t testing.TB, conn *pgx.Conn, tenant op.UUID) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var id string
		switch err := conn.QueryRow(t.Context(), `SELECT id FROM audit.decisions WHERE tenant_id = $1 ORDER BY id LIMIT 1`, tenant).Scan(&id); {
		case err == nil:
			return id
		case !errors.Is(err, pgx.ErrNoRows):
			t.Fatal(err)
		}
	}
	t.Fatal("the tenant has no decision in its log")
	return ""
}

// createSessions creates a separate session for each operation that ends its session.
func (s *fieldServer) createSessions(t testing.TB, office Tenant) {
	t.Helper()
	account := func(email string) *User {
		for i, u := range office.Users {
			if u.Email == email {
				return &office.Users[i]
			}
		}
		t.Fatalf("no seeded user %s", email)
		return nil
	}
	s.renew["logout"] = func(fieldRequest) { s.tokens["logout"] = s.login(s.tb, "auditor@northwind.example") }
	s.renew["logout"](fieldRequest{})
	reviewer := account("reviewer@northwind.example")
	s.renew["change-password"] = func(m fieldRequest) {
		if sent := m.json("newPassword"); sent != nil {
			word := sent.(string)
			reviewer.Password = &word
		}
		s.tokens["change-password"] = s.login(s.tb, reviewer.Email)
		s.world.ids["change-password currentPassword"] = *reviewer.Password
		s.world.ids["change-password newPassword"] = string(uid.Random())
	}
	s.renew["change-password"](fieldRequest{})
	s.tokens["change-email"] = s.login(s.tb, "project-manager@northwind.example")
	s.world.ids["change-email email"], s.world.ids["change-email currentPassword"] = "project-manager@northwind.example", *account("project-manager@northwind.example").Password
	s.renew["reset-password"] = func(fieldRequest) {
		s.world.ids["reset-password token"] = s.insertReset(s.tb, office.ID, account("member@northwind.example").ID)
		s.world.ids["reset-password newPassword"] = string(uid.Random())
	}
	s.renew["reset-password"](fieldRequest{})
	s.world.ids["explain-decision operation"], s.world.ids["explain-decision record"] = "get-project", "QFLD"
	s.world.ids["login email"], s.world.ids["login password"] = "guest@northwind.example", *account("guest@northwind.example").Password
}

// insertReset inserts a password reset as the job that sends the link does, and
// returns the token of the link: the tenant, the reset and a secret.
func (s *fieldServer) insertReset(t testing.TB, tenant, user op.UUID) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.info.DirectURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	id, secret := uid.New(), sha256.Sum256([]byte(uid.Random()))
	hash := sha256.Sum256(secret[:])
	_, err = conn.Exec(t.Context(), `INSERT INTO identity.password_resets (tenant_id, id, user_id, authority_digest, secret_hash, created_at, expires_at, sent_at)
		VALUES ($1, $2, $3, $4, $4, now(), now() + interval '10 minutes', now())`, tenant, id, user, hash[:])
	if err != nil {
		t.Fatal(err)
	}
	inTenant, reset := uid.Bytes(tenant), uid.Bytes(id)
	return base64.RawURLEncoding.EncodeToString(slices.Concat(inTenant[:], reset[:], secret[:]))
}
