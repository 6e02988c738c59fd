package tracker_test

import (
	"strings"
	"testing"

	"parapet/internal/fault"
	"parapet/internal/op"
)

// A FORBIDDEN error has the reason that actually caused it, with a remedy.
func TestDenial_NamesItsCause(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	apollo, gemini := w.createProject("Apollo"), w.createProject("Gemini")
	task := w.createTask(apollo, "Land")
	at := fields{"projectId": apollo.ID, "task": task.Key}
	for _, c := range []struct {
		name   string
		who    person
		reason string
	}{
		{"user without role", person{}, "permission_missing"},
		{"role in another project", person{roles: []string{"Project Manager"}, projects: []op.UUID{gemini.ID}}, "out_of_scope"},
		{"task of another user", person{roles: []string{"Member"}}, "not_own"},
		{"read-only token", person{roles: []string{"Project Manager"}, caveats: []string{"read-only"}}, "caveat_effect"},
		{"token for another module", person{roles: []string{"Project Manager"}, caveats: []string{"module:wiki"}}, "caveat_module"},
		{"token for another project", person{roles: []string{"Project Manager"}, caveats: []string{"project:" + string(gemini.ID)}}, "caveat_project"},
		{"token with unknown caveat", person{roles: []string{"Project Manager"}, caveats: []string{"weekdays"}}, "caveat_unknown"},
	} {
		f := w.wantError(fault.CodeForbidden, w.addPerson(c.who), "delete-task", at)
		if len(f.Reasons) != 1 || f.Reasons[0].Code != c.reason || f.Message != f.Reasons[0].Message || f.Reasons[0].Remedy == "" || f.Permission != "task.delete" {
			t.Errorf("%s: got %+v, want reason %s", c.name, f, c.reason)
		}
		if strings.Contains(f.Message+f.Reasons[0].Remedy, "{") {
			t.Errorf("%s: got the reasons %+v, want every placeholder replaced", c.name, f.Reasons)
		}
	}
	secret := w.createProject("Secret", fields{"classification": "SECRET"})
	hidden := fields{"projectId": secret.ID, "task": w.createTask(secret, "Orbit").Key}
	for _, in := range []fields{hidden, {"projectId": secret.ID, "task": "SECR-77"}} {
		f := w.wantError(fault.CodeNotFound, w.addPerson(person{roles: []string{"Project Manager"}}), "delete-task", in)
		if f.Message != "There is no such task." || len(f.Reasons) > 0 || f.Permission != "" {
			t.Errorf("hidden record: got %+v, want the error of a missing record", f)
		}
	}
}
