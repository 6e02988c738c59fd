package dev

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"parapet/internal/op"
	"parapet/internal/uid"
)

// parityWorld is a project with one of every kind of record. Each interface has its own, so
// that their writes are equal and do not affect each other.
type parityWorld struct {
	d     *Dev
	token string
	// tag is part of every name that must be unique.
	tag string
	// ids are the values of fields by field name, or by operation name, a space and the field
	// name.
	ids map[string]any
}

// newParityWorld creates the world. Records that cannot be created are omitted: their
// operations then compare errors, and the test counts the successes.
func newParityWorld(t testing.TB, d *Dev, token, tag string) *parityWorld {
	t.Helper()
	w := &parityWorld{d: d, token: token, tag: tag, ids: map[string]any{}}
	acme := d.info.Tenants[1]
	w.ids["eventType"] = "projects.task.created"
	w.ids["tenantId"], w.ids["organisationId"] = acme.ID, acme.Organisations[0].ID
	var me struct{ User struct{ ID string } }
	w.get(t, "/api/auth/me", &me)
	project := w.make(t, "/api/projects", map[string]any{"name": "Parity " + tag, "prefix": tag, "issuePrefix": "I" + tag, "startDate": "2027-01-01", "storyPointScale": []int{1, 2, 3}})
	w.ids["projectId"] = project["id"]
	p := fmt.Sprintf("/api/projects/%s", project["id"])
	task := func(title string, more map[string]any) map[string]any {
		body := map[string]any{"title": title}
		for k, v := range more {
			body[k] = v
		}
		return w.make(t, p+"/tasks", body)
	}
	first, second := task("The first of all", nil), task("Quite another one", nil)
	w.ids["task"], w.ids["dependsOn"] = first["key"], second["key"]
	w.ids["dependsOnId"] = second["id"]
	epic := task("A large undertaking", map[string]any{"issueType": "EPIC"})
	w.ids["epicId"] = epic["id"]
	task("Part of the undertaking", map[string]any{"epicId": epic["id"]})

	taskWithDecision := task("Whether to go left", map[string]any{"status": "IN_PROGRESS", "assignee": me.User.ID})
	decision := w.make(t, fmt.Sprintf("%s/tasks/%s/decision-requests", p, taskWithDecision["key"]), map[string]any{"question": "Left?", "options": []string{"Yes", "No"}})
	w.ids["requestId"] = decision["id"]
	for _, name := range []string{"mark-awaiting-decision", "list-decision-requests", "answer-decision", "cancel-decision", "wait-decision"} {
		w.ids[name+" task"] = taskWithDecision["key"]
	}
	w.ids["answer-decision chosenOptionIndex"] = 1
	w.ids["wait-decision timeoutSeconds"] = 1

	claimed := w.make(t, p+"/claim-next-ready", map[string]any{"leaseSeconds": 600})
	if lease, ok := claimed["lease"].(map[string]any); ok {
		held, _ := claimed["task"].(map[string]any)
		w.ids["leaseId"] = lease["id"]
		w.ids["keep-claim task"], w.ids["release-claim task"] = held["key"], held["key"]
	}
	w.ids["initiativeId"] = w.make(t, "/api/initiatives", map[string]any{"name": "Initiative " + tag, "startDate": "2027-01-01"})["id"]
	w.ids["stageId"] = w.make(t, p+"/stages", map[string]any{"name": "Build"})["id"]
	w.ids["gateId"] = w.make(t, p+"/gates", map[string]any{"name": "Ready?", "stageId": w.ids["stageId"]})["id"]
	w.ids["create-gate stageId"] = w.make(t, p+"/stages", map[string]any{"name": "Ship"})["id"]
	w.ids["review-gate reason"] = "Seen"
	issue := w.make(t, "/api/issues", map[string]any{"projectId": project["id"], "title": "It leaks"})
	w.ids["issue"] = issue["key"]
	w.ids["commentId"] = w.make(t, "/api/comments", map[string]any{"taskId": first["id"], "body": "Seen."})["id"]
	w.ids["list-comments taskId"], w.ids["create-comment taskId"] = first["id"], first["id"]
	w.ids["timeEntryId"] = w.make(t, "/api/time-entries", map[string]any{"taskId": first["id"], "date": "2026-01-05", "minutes": 30})["id"]
	w.ids["create-time-entry taskId"], w.ids["create-time-entry date"] = first["id"], "2026-01-05"
	deliverable := w.make(t, p+"/deliverables", map[string]any{"title": "The thing"})
	w.ids["deliverableId"] = deliverable["id"]
	for _, name := range []string{"accept-deliverable", "revise-deliverable"} {
		other := w.make(t, p+"/deliverables", map[string]any{"title": "To " + name})
		for _, step := range []string{"submit", "start-review"} {
			w.make(t, fmt.Sprintf("%s/deliverables/%s/%s", p, other["id"], step), nil)
		}
		w.ids[name+" deliverableId"] = other["id"]
	}
	draft := w.make(t, p+"/deliverables", map[string]any{"title": "Not begun"})
	w.ids["create-criterion deliverableId"] = draft["id"]
	kept := w.make(t, p+"/criteria", map[string]any{"deliverableId": draft["id"], "text": "It lasts."})["id"]
	w.ids["update-criterion criterionId"], w.ids["delete-criterion criterionId"] = kept, kept
	w.ids["criterionId"] = w.make(t, p+"/criteria", map[string]any{"deliverableId": deliverable["id"], "text": "It holds."})["id"]
	w.ids["reject-deliverable failedCriteria"] = []any{w.ids["criterionId"]}
	w.ids["fieldId"] = w.make(t, p+"/custom-fields", map[string]any{"name": "Colour", "type": "TEXT"})["id"]
	w.ids["set-custom-field-values values"] = []any{map[string]any{"field": "Colour", "value": "red"}}
	w.ids["bindingId"] = w.make(t, p+"/repo-paths", map[string]any{"path": "/srv/" + strings.ToLower(tag)})["id"]
	w.ids["bind-repo path"] = "/srv/more/" + strings.ToLower(tag)

	user := w.make(t, "/api/users", map[string]any{"email": strings.ToLower(tag) + "@acme.example", "displayName": "Colleague " + tag, "roles": []string{"Member"}})
	w.ids["userId"] = user["id"]
	w.ids["create-user email"], w.ids["create-user roles"] = strings.ToLower(tag)+"2@acme.example", []any{"Member"}
	role := w.make(t, "/api/roles", map[string]any{"name": "Role " + tag, "permissions": []string{"tasks.read"}})
	w.ids["roleId"] = role["id"]
	w.ids["assignmentId"] = w.make(t, fmt.Sprintf("/api/roles/%s/assignments", role["id"]), map[string]any{"userId": user["id"]})["id"]
	w.ids["keyId"] = uid.New()
	delegation := map[string]any{"delegate": user["id"], "permissions": []string{"tasks.read"}, "until": "2027-06-01T00:00:00Z"}
	w.ids["delegationId"] = w.make(t, "/api/delegations", delegation)["id"]
	for name, value := range delegation {
		w.ids["create-delegation "+name] = value
	}
	hook, _ := w.make(t, "/api/webhooks", map[string]any{"url": "https://receiver.invalid/" + tag, "eventTypes": []string{"catalog.*"}})["webhook"].(map[string]any)
	w.ids["webhookId"] = hook["id"]
	w.ids["deliveryId"] = w.make(t, fmt.Sprintf("/api/webhooks/%s/test", hook["id"]), nil)["id"]
	w.ids["create-webhook url"], w.ids["create-webhook eventTypes"] = "https://receiver.invalid/", []any{"catalog.*"}
	root := w.make(t, "/api/catalog/taxonomy", map[string]any{"name": "Node " + tag})["id"]
	w.ids["nodeId"] = w.make(t, "/api/catalog/taxonomy", map[string]any{"name": "Below", "parentId": root})["id"]
	w.ids["create-taxonomy-node parentId"] = root
	w.ids["delete-taxonomy-node nodeId"] = w.make(t, "/api/catalog/taxonomy", map[string]any{"name": "Empty", "parentId": root})["id"]
	entry := func(title string) any {
		return w.make(t, "/api/catalog/entries", map[string]any{"title": title + " " + tag, "nodeId": w.ids["nodeId"]})["id"]
	}
	w.ids["entryId"], w.ids["publish-catalog-entry entryId"] = entry("Entry"), entry("Draft")
	list := w.make(t, "/api/catalog/shortlists", map[string]any{"name": "List " + tag})["id"]
	w.ids["shortlistId"], w.ids["add-shortlist-entry entryId"] = list, w.ids["publish-catalog-entry entryId"]
	for _, name := range []string{"update-shortlist-entry", "remove-shortlist-entry"} {
		w.ids[name+" entryId"] = entry(name)
		w.make(t, fmt.Sprintf("/api/catalog/shortlists/%s/entries", list), map[string]any{"entryId": w.ids[name+" entryId"]})
	}
	for _, name := range []string{"archive-shortlist", "delete-shortlist"} {
		w.ids[name+" shortlistId"] = w.make(t, "/api/catalog/shortlists", map[string]any{"name": name + " " + tag})["id"]
	}
	w.ids["archive-catalog-entry entryId"] = entry("Published")
	w.make(t, fmt.Sprintf("/api/catalog/entries/%s/publish", w.ids["archive-catalog-entry entryId"]), nil)
	w.ids["search-catalog query"], w.ids["set-catalog-embedding vector"] = "Entry "+tag, []any{0.5, 1.5, -2.0}
	w.ids["hint"], w.ids["initiative hint"] = tag, "Initiative "+tag
	w.ids["name"], w.ids["create-project prefix"] = "Another "+tag, "Z"+tag
	w.ids["import-items items"] = []any{map[string]any{"id": "x-1", "title": "From elsewhere"}}
	w.ids["update-task title"], w.ids["update-project description"] = "Changed", "Changed"
	w.ids["update-issue title"], w.ids["update-stage name"], w.ids["update-gate name"] = "Changed", "Changed", "Changed"
	w.ids["transition-issue to"], w.ids["assign-issue assignee"] = "IN_PROGRESS", ""
	w.ids["create-membership roles"] = []any{"Member"}
	w.addPages(t)
	w.ids["create-organisation name"], w.ids["slug"] = "Organisation "+tag, strings.ToLower(tag)
	return w
}

// addPages creates wiki pages.
func (w *parityWorld) addPages(t testing.TB) {
	t.Helper()
	page := "parity/" + w.tag
	w.putPage(t, page)
	w.putPage(t, page+"/gone")
	if r := w.d.ask(t, "DELETE", "/api/pages/by-path/"+page+"/gone", w.token, nil); r.Code != 204 {
		t.Fatalf("DELETE %s/gone: %d %s", page, r.Code, r.Body)
	}
	for _, name := range []string{"get-page", "put-page", "delete-page", "list-page-versions", "diff-page"} {
		w.ids[name+" path"] = page
	}
	w.ids["search-pages search"] = "page"
	w.ids["put-page markdown"], w.ids["restore-page path"] = "# A page\n\nChanged", page+"/gone"
}

func (w *parityWorld) putPage(t testing.TB, path string) {
	t.Helper()
	if r := w.d.ask(t, "PUT", "/api/pages/by-path/"+path, w.token, []byte(`{"markdown":"# A page"}`)); r.Code != 200 {
		t.Fatalf("PUT %s: %d %s", path, r.Code, r.Body)
	}
}

func (w *parityWorld) get(t testing.TB, path string, out any) {
	t.Helper()
	if r := w.d.ask(t, "GET", path, w.token, nil); r.Code != 200 || json.Unmarshal(r.Body.Bytes(), out) != nil {
		t.Fatalf("GET %s: %d %s", path, r.Code, r.Body)
	}
}

// make creates a record and returns its members, or none if it was rejected.
func (w *parityWorld) make(t testing.TB, path string, body map[string]any) map[string]any {
	t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string]any{}
	r := w.d.ask(t, "POST", path, w.token, text)
	if r.Code > 299 || json.Unmarshal(r.Body.Bytes(), &out) != nil {
		t.Logf("POST %s %s: %d %s", path, text, r.Code, r.Body)
		return map[string]any{}
	}
	return out
}

// value returns the value for a field of an operation, if the world has one.
func (w *parityWorld) value(o *op.Operation, f op.Field) (any, bool) {
	if v, ok := w.ids[o.Name+" "+f.Name]; ok {
		return v, v != nil
	}
	v, ok := w.ids[f.Name]
	return v, ok && v != nil && (f.Required || f.Source == op.FromPath)
}

// setPathParam replaces a parameter of a route by its escaped value. A parameter for the rest
// of the path keeps the slashes of its value.
func setPathParam(route, name, value string) string {
	if rest := "{" + name + "...}"; strings.Contains(route, rest) {
		segments := strings.Split(value, "/")
		for i, segment := range segments {
			segments[i] = url.PathEscape(segment)
		}
		return strings.Replace(route, rest, strings.Join(segments, "/"), 1)
	}
	return strings.Replace(route, "{"+name+"}", url.PathEscape(value), 1)
}
