package cli

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parapet/internal/cli/repo"
)

// createWorkTree creates a git work tree with the given remote.
func createWorkTree(t *testing.T, remote string) string {
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

func findRoute(hint string) string { return "GET /api/projects/find?hint=" + url.QueryEscape(hint) }

const findAnyRoute = "GET /api/projects/find"

// In a bound directory, pt finds the project with one lookup by the URL of the remote. It
// must not send the credential in that URL.
func TestDefaultProject_FromBoundDirectory(t *testing.T) {
	t.Parallel()
	const address = "https://example.org/acme/apollo"
	dir := createWorkTree(t, "https://user:secret@example.org/acme/apollo.git")
	cases := []struct {
		name  string
		dir   string
		args  []string
		bound string
		hints []string
	}{
		{"directory bound by its remote", dir, []string{"list-tasks"}, address + ".git", []string{address + ".git"}},
		{"subdirectory bound by its remote and path", filepath.Join(dir, "services"), []string{"list-tasks"}, address + "/services", []string{address + "/services"}},
		{"directory bound by its path", dir, []string{"list-tasks"}, dir, []string{address + ".git", dir}},
		{"directory as argument", dir, []string{"list-tasks", "./services"}, filepath.Join(dir, "services"), []string{address + "/services", filepath.Join(dir, "services")}},
		{"URL as argument", "", []string{"list-tasks", "https://token@example.org/acme/apollo.git"}, address + ".git", []string{address + ".git"}},
		{"find-project", dir, []string{"find-project", "."}, address + ".git", []string{address + ".git"}},
		{"create-task without project", dir, []string{"create-task", "--title", "t"}, address + ".git", []string{address + ".git"}},
		{"get-task by ID", dir, []string{"get-task", taskID}, address + ".git", []string{address + ".git"}},
		{"get-task by key", dir, []string{"get-task", "APOLLO-17"}, "APOLLO", nil},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			all := routes()
			all[findAnyRoute] = errorReply(404, "NOT_FOUND", "There is no such project.", "")
			all[findRoute(tc.bound)] = okReply(projectJSON)
			all["GET "+projectPath+"/tasks/"+taskID] = okReply(taskJSON)
			s := serve(t, all)
			got := invoke(t, s, environment{dir: tc.dir}, tc.args...)
			if got.code != ExitDone {
				t.Fatalf("got %+v and requests %v, want exit %d", got, s.requests, ExitDone)
			}
			for i, hint := range tc.hints {
				if i >= len(s.requests) || s.requests[i] != findRoute(hint) {
					t.Errorf("requests: got %v, want %s at index %d", s.requests, findRoute(hint), i)
				}
			}
			if strings.Contains(strings.Join(s.requests, " "), "secret") || strings.Contains(strings.Join(s.requests, " "), "token") {
				t.Errorf("requests: got %v, want no credential in them", s.requests)
			}
		})
	}
}

func TestDefaultProject_FromUnboundDirectoryIsNotFound(t *testing.T) {
	t.Parallel()
	all := routes()
	all[findAnyRoute] = errorReply(404, "NOT_FOUND", "There is no such project.", "")
	s := serve(t, all)
	got := invoke(t, s, environment{dir: t.TempDir()}, "list-tasks")
	if got.code != ExitNotFound || !strings.Contains(got.err, "is not bound to a project") || !strings.Contains(got.err, "pt bind-repo") || len(s.requests) != 1 {
		t.Fatalf("unbound directory: got %+v and requests %v, want exit %d, the hint \"pt bind-repo\" and one request", got, s.requests, ExitNotFound)
	}
	// PT_PROJECT takes precedence over the directory. Destructive commands use neither.
	s = serve(t, routes())
	if got := invoke(t, s, environment{dir: t.TempDir(), env: map[string]string{"PT_PROJECT": apollo}}, "list-tasks"); got.code != ExitDone || len(s.requests) != 1 {
		t.Fatalf("PT_PROJECT in an unbound directory: got %+v and requests %v, want exit %d and one request", got, s.requests, ExitDone)
	}
	s = serve(t, routes())
	if got := invoke(t, s, environment{dir: createWorkTree(t, "https://example.org/a/b"), env: map[string]string{"PT_PROJECT": apollo}}, "delete-task", taskID, "--yes"); got.code != ExitUsage || len(s.requests) != 0 {
		t.Fatalf("delete-task without a project: got %+v and requests %v, want exit %d and no request", got, s.requests, ExitUsage)
	}
}

// A task key names its project, so PT_PROJECT does not apply.
func TestTaskKey_IdentifiesProject(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"get-task", "APOLLO-17"}, {"delete-task", "APOLLO-17", "--yes"}, {"list-dependencies", "APOLLO-17"}, {"remove-dependency", "APOLLO-17", "APOLLO-3"}} {
		s := serve(t, routes())
		got := invoke(t, s, environment{env: map[string]string{"PT_PROJECT": taskID}}, args...)
		if len(s.requests) == 0 || strings.Contains(strings.Join(s.requests, " "), taskID) || !strings.Contains(s.requests[0], "APOLLO") {
			t.Errorf("%v: got %+v and requests %v, want requests for the project APOLLO", args, got, s.requests)
		}
	}
}

// bind-repo must store the hint that other commands in the directory look up first.
func TestBindRepo_DefaultsToRepositoryOfDirectory(t *testing.T) {
	t.Parallel()
	dir := createWorkTree(t, "git@example.org:acme/apollo.git")
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
		got := invoke(t, s, environment{dir: tc.dir}, append([]string{"bind-repo", apollo}, tc.args...)...)
		if want := `POST ` + projectPath + `/repo-paths {"path":"` + tc.want + `"}`; got.code != ExitDone || s.requests[0] != want {
			t.Errorf("got %+v, %v, want %s", got, s.requests, want)
		}
	}
}
