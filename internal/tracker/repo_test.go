package tracker_test

import (
	"fmt"
	"strings"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func (w *world) bindRepo(p op.UUID, path string) *contract.RepoPath {
	w.t.Helper()
	return do[contract.RepoPath](w, w.manager, "bind-repo", fields{"projectId": p, "path": path})
}

func repoRequests(s scene) map[string]fields {
	return map[string]fields{
		"bind-repo":   {"projectId": s.project, "path": "/src/new"},
		"unbind-repo": {"projectId": s.project, "bindingId": s.repo},
	}
}

func TestBindRepo_NormalizesPath(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	for form, want := range map[string]string{
		"/home/work//lander/./src/../":                  "/home/work/lander",
		"file:///home/work/other/":                      "/home/work/other",
		`c:\work\lander\`:                               "C:/work/lander",
		"git@github.com:Acme/Lander.git":                "github.com/Acme/Lander",
		"ssh://git@GitHub.com:22/Acme/Lander.git":       "github.com/Acme/Lander",
		"https://github.com/Acme/Lander":                "github.com/Acme/Lander",
		"https://user:secret@github.com/Acme/Lander/":   "github.com/Acme/Lander",
		"git+ssh://git@github.com/Acme/Lander.git":      "github.com/Acme/Lander",
		"github.com/Acme/Lander":                        "github.com/Acme/Lander",
		"https://git.acme.example:8443/a/b/c.git?x=1#y": "git.acme.example/a/b/c",
	} {
		if got := w.bindRepo(p.ID, form); got.Path != want {
			t.Errorf("bind-repo %q: got %q, want %q", form, got.Path, want)
		}
	}
	for _, path := range []string{
		"/", "///", "relative/path", "./x", "~/x", "lander", "c:\\", "https://github.com", "https://github.com/", "gopher://x.example/y", "git@:x",
		"https://x.example/%00", "https://x.example/%ff", "/a\x1bb", "/" + strings.Repeat("é", 600), "http://[", "..//x", "",
	} {
		if f := w.wantError(fault.CodeValidation, w.manager, "bind-repo", fields{"projectId": p.ID, "path": path}); f.Field != "path" {
			t.Errorf("%q: got an error for field %q, want path", path, f.Field)
		}
	}
}

func TestBindRepo_PathIsUniqueInTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.createProject("Apollo"), w.createProject("Gemini")
	first := w.bindRepo(p.ID, "/src/lander")
	w.wantAuditAndEvents(1, "project.updated", contract.EventProjectUpdated, p.ID)
	if again := w.bindRepo(p.ID, "/src/lander/"); again.ID != first.ID {
		t.Errorf("binding the path again: got ids %s and %s, want the same", first.ID, again.ID)
	}
	w.wantAuditAndEvents(1, "project.updated", contract.EventProjectUpdated, p.ID)
	f := w.wantError(fault.CodeConflict, w.manager, "bind-repo", fields{"projectId": other.ID, "path": "/src/lander"})
	if strings.Contains(f.Message, "Apollo") {
		t.Errorf("path that another project has: got the message %q, want it without the name of the project", f.Message)
	}
	// Another tenant can bind the same path.
	otherTenantUser := w.addPerson(person{tenant: w.globex, roles: []string{"Project Manager"}})
	foreignProject := do[contract.Project](w, otherTenantUser, "create-project", fields{"name": "x", "startDate": "2027-01-04"})
	do[contract.RepoPath](w, otherTenantUser, "bind-repo", fields{"projectId": foreignProject.ID, "path": "/src/lander"})
	if got := do[contract.Project](w, w.manager, "get-project", fields{"projectId": p.ID}); len(got.RepoPaths) != 1 || got.RepoPaths[0] != *first {
		t.Errorf("paths after another tenant bound the same path: got %+v, want only the first binding", got.RepoPaths)
	}
	w.wantError(fault.CodeNotFound, w.manager, "unbind-repo", fields{"projectId": other.ID, "bindingId": first.ID})
	do[op.None](w, w.manager, "unbind-repo", fields{"projectId": p.ID, "bindingId": first.ID})
	w.wantAuditAndEvents(2, "project.updated", contract.EventProjectUpdated, p.ID)
	w.wantError(fault.CodeNotFound, w.manager, "unbind-repo", fields{"projectId": p.ID, "bindingId": first.ID})
	w.bindRepo(other.ID, "/src/lander")
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE changes::text LIKE '%lander%'`); n != 0 {
		t.Errorf("audit entries with the path, which is user-generated text: got %d, want 0", n)
	}
	for i := range contract.MaxRepoPaths {
		w.bindRepo(p.ID, fmt.Sprint("/src/", i))
	}
	w.wantError(fault.CodeConflict, w.manager, "bind-repo", fields{"projectId": p.ID, "path": "/src/more"})
	do[op.None](w, w.manager, "delete-project", fields{"projectId": p.ID})
	if n := w.count(`SELECT count(*) FROM projects.repo_paths WHERE project_id = $1`, p.ID); n != 0 {
		t.Errorf("%d paths left, want 0", n)
	}
}

func TestFindProject_ByRepositoryPath(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mono, part := w.createProject("Mono"), w.createProject("Part")
	secret := w.createProject("Secret", fields{"classification": "SECRET"})
	named := w.createProject("A/B testing")
	w.bindRepo(mono.ID, "/src/mono")
	w.bindRepo(mono.ID, "git@github.com:acme/mono.git")
	w.bindRepo(part.ID, "/src/mono/part")
	w.bindRepo(secret.ID, "/src/mono/part/secret")
	reader := w.addPerson(person{roles: []string{"Member"}})
	for hint, want := range map[string]op.UUID{
		"/src/mono": mono.ID, "/src/mono/": mono.ID, "/src/mono/lib/x.go": mono.ID, "/src/mono/part": part.ID, "/src/mono/part/a/b": part.ID,
		"/src/mono/particle": mono.ID, "https://github.com/acme/mono": mono.ID, "ssh://git@github.com/acme/mono.git": mono.ID, "github.com/acme/mono/sub": mono.ID,
		// A longer path of a hidden project is ignored.
		"/src/mono/part/secret/x": part.ID,
		// A hint that matches no path can still match a name.
		"A/B": named.ID, string(mono.ID): mono.ID,
	} {
		if got := do[contract.Project](w, reader, "find-project", fields{"hint": hint}); got.ID != want {
			t.Errorf("hint %q: got %s, want %s", hint, got.ID, want)
		}
	}
	if got := do[contract.Project](w, w.manager, "find-project", fields{"hint": "/src/mono/part/secret"}); got.ID != secret.ID {
		t.Errorf("find-project by the manager: got %s, want the project with the longest bound path", got.Name)
	}
	for _, hint := range []string{"/src/mon", "/src", "github.com/acme", "https://github.com/acme/monolith", "/elsewhere", "/src/" + strings.Repeat("x/", 490)} {
		w.wantError(fault.CodeNotFound, reader, "find-project", fields{"hint": hint})
	}
	otherTenantUser := w.addPerson(person{tenant: w.globex, roles: []string{"Project Manager"}})
	w.wantError(fault.CodeNotFound, otherTenantUser, "find-project", fields{"hint": "/src/mono"})
}
