package cli

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parapet/internal/cli/repo"
)

// clone makes a work tree whose remote is the given one.
func clone(t *testing.T, remote string) string {
	t.Helper()
	dir := repo.Absolute(t.TempDir())
	if err := os.MkdirAll(filepath.Join(dir, "services", "lander"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": "[remote \"origin\"]\n\turl = " + remote + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, ".git", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func find(hint string) string { return "GET /api/projects/find?hint=" + url.QueryEscape(hint) }

const noProject = "GET /api/projects/find"

// In a bound folder the project need not be named: one look-up, by the address
// of the repository, without the credential that stands in it.
func TestFolderFindsTheProject(t *testing.T) {
	t.Parallel()
	const address = "https://example.org/acme/apollo"
	dir := clone(t, "https://user:secret@example.org/acme/apollo.git")
	cases := []struct {
		name  string
		dir   string
		args  []string
		bound string
		asked []string
	}{
		{"by its remote", dir, []string{"list-tasks"}, address + ".git", []string{address + ".git"}},
		{"below the top", filepath.Join(dir, "services"), []string{"list-tasks"}, address + "/services", []string{address + "/services"}},
		{"by its path", dir, []string{"list-tasks"}, dir, []string{address + ".git", dir}},
		{"a folder that is named", dir, []string{"list-tasks", "./services"}, filepath.Join(dir, "services"), []string{address + "/services", filepath.Join(dir, "services")}},
		{"an address that is named", "", []string{"list-tasks", "https://token@example.org/acme/apollo.git"}, address + ".git", []string{address + ".git"}},
		{"find-project", dir, []string{"find-project", "."}, address + ".git", []string{address + ".git"}},
		{"a new task", dir, []string{"create-task", "--title", "t"}, address + ".git", []string{address + ".git"}},
		{"a task by its id", dir, []string{"get-task", taskID}, address + ".git", []string{address + ".git"}},
		{"a task by its key", dir, []string{"get-task", "APOLLO-17"}, "APOLLO", []string{"APOLLO"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			all := routes()
			all[noProject] = refuse(404, "NOT_FOUND", "There is no such project.", "")
			all[find(tc.bound)] = ok(projectJSON)
			all["GET "+project+"/tasks/"+taskID] = ok(taskJSON)
			s := serve(t, all)
			got := invoke(t, s, world{dir: tc.dir}, tc.args...)
			if got.code != ExitDone {
				t.Fatalf("got %+v after %v", got, s.requests)
			}
			for i, hint := range tc.asked {
				if i >= len(s.requests) || s.requests[i] != find(hint) {
					t.Errorf("requests %v, want %s as number %d", s.requests, find(hint), i)
				}
			}
			if strings.Contains(strings.Join(s.requests, " "), "secret") || strings.Contains(strings.Join(s.requests, " "), "token") {
				t.Errorf("a credential was sent: %v", s.requests)
			}
		})
	}
}

func TestFolderThatIsBoundToNothing(t *testing.T) {
	t.Parallel()
	all := routes()
	all[noProject] = refuse(404, "NOT_FOUND", "There is no such project.", "")
	s := serve(t, all)
	got := invoke(t, s, world{dir: t.TempDir()}, "list-tasks")
	if got.code != ExitNotFound || !strings.Contains(got.err, "bound to no project") || !strings.Contains(got.err, "pt bind-repo") || len(s.requests) != 1 {
		t.Fatalf("got %+v after %v", got, s.requests)
	}
	// PT_PROJECT beats the folder, and what destroys asks for a name.
	s = serve(t, routes())
	if got := invoke(t, s, world{dir: t.TempDir(), env: map[string]string{"PT_PROJECT": apollo}}, "list-tasks"); got.code != ExitDone || len(s.requests) != 1 {
		t.Fatalf("got %+v after %v", got, s.requests)
	}
	s = serve(t, routes())
	if got := invoke(t, s, world{dir: clone(t, "https://example.org/a/b")}, "delete-task", "APOLLO-17", "--yes"); got.code != ExitUsage || len(s.requests) != 0 {
		t.Fatalf("got %+v after %v", got, s.requests)
	}
}

// What bind-repo binds is what a command in the folder asks by first.
func TestBindRepoOfTheFolder(t *testing.T) {
	t.Parallel()
	dir := clone(t, "git@example.org:acme/apollo.git")
	plain := repo.Absolute(t.TempDir())
	for _, tc := range []struct {
		dir  string
		args []string
		want string
	}{
		{dir, nil, "git@example.org:acme/apollo.git"},
		{filepath.Join(dir, "services"), nil, "git@example.org:acme/apollo.git"},
		{dir, []string{"services/lander"}, filepath.Join(dir, "services", "lander")},
		{plain, nil, plain},
		{plain, []string{"https://token@example.org/x/y"}, "https://example.org/x/y"},
	} {
		s := serve(t, routes())
		got := invoke(t, s, world{dir: tc.dir}, append([]string{"bind-repo", apollo}, tc.args...)...)
		if want := `POST ` + project + `/repo-paths {"path":"` + tc.want + `"}`; got.code != ExitDone || s.requests[0] != want {
			t.Errorf("got %+v, %v, want %s", got, s.requests, want)
		}
	}
}
