package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parapet/internal/contract/identity"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	path := "GET /api/projects"
	cases := []struct {
		name  string
		reply reply
		w     world
		args  []string
		code  int
		says  string
	}{
		{name: "an empty list", reply: ok(`{"items":[]}`), code: ExitDone},
		{name: "a server's fault", reply: refuse(500, "INTERNAL", "Something went wrong on the server.", ""), code: ExitError, says: requestID},
		{name: "a value that the service refuses", reply: refuse(400, "VALIDATION", "The cursor is wrong.", `,"field":"cursor"`), code: ExitError, says: "The cursor is wrong."},
		{name: "not found", reply: refuse(404, "NOT_FOUND", "There is no such project.", ""), code: ExitNotFound},
		{name: "unauthorized", reply: refuse(401, "UNAUTHORIZED", "The request needs a valid credential.", `,"reason":"USER_SUSPENDED"`), code: ExitAuthentication, says: "Why: USER_SUSPENDED"},
		{name: "conflict", reply: refuse(409, "CONFLICT", "Taken.", ""), code: ExitConflict},
		{name: "a double", reply: refuse(409, "DUPLICATE_TASK", "A task like it is there.", `,"details":{"candidates":[{"key":"A-1","title":"Like it","similarity":0.8}]}`), code: ExitConflict, says: "A-1  Like it  0.8"},
		{name: "forbidden", reply: refuse(403, "FORBIDDEN", "The permission projects.read is missing.", `,"permission":"projects.read"`), code: ExitForbidden, says: "projects.read"},
		{name: "busy", reply: reply{503, `{"error":{"code":"UNAVAILABLE","message":"Busy.","requestId":"r"}}`, map[string]string{"Retry-After": "3600"}}, code: ExitLater, says: "again in 1h0m0s"},
		{name: "an unknown outcome", reply: reply{status: 504, body: "slow"}, args: []string{"create-project", "--name", "x", "--start", "2027-01-01"}, code: ExitUnknown, says: "carries the change out once"},
		{name: "an unknown outcome with a key", reply: reply{status: 504, body: "slow"}, args: []string{"create-project", "--name", "x", "--start", "2027-01-01", "--idempotency-key", "k1"}, code: ExitUnknown, says: "The same command again"},
		{name: "a wrong tenant", reply: refuse(403, "FORBIDDEN", "This request is not allowed.", ""), code: ExitForbidden, says: "pt list-orgs"},
		{name: "a proxy's 403", reply: reply{status: 403, body: "<html>"}, code: ExitForbidden, says: "came from a proxy"},
		{name: "no credential", w: world{env: map[string]string{"PT_AUTH_TOKEN": ""}}, code: ExitAuthentication, says: "pt auth login"},
		{name: "no such profile", w: world{env: map[string]string{"PT_AUTH_TOKEN": "", "PT_PROFILE": "ghost"}}, code: ExitUsage, says: "ghost"},
		{name: "an unknown command", args: []string{"list-project"}, code: ExitUsage, says: "list-projects"},
		{name: "an unknown command below auth", args: []string{"auth", "frobnicate"}, code: ExitUsage},
		{name: "an argument too few", args: []string{"find-project"}, code: ExitUsage, says: "(0 given); usage: pt find-project <hint>"},
		{name: "an argument too many", args: []string{"list-projects", "A"}, code: ExitUsage, says: "(1 given); usage: pt list-projects [flags]"},
		{name: "an argument too many below auth", args: []string{"auth", "login", "me"}, code: ExitUsage, says: "pt auth login [flags]"},
		{name: "an unknown flag", args: []string{"list-projects", "--nope"}, code: ExitUsage},
		{name: "a value out of bounds", args: []string{"list-projects", "--limit", "201"}, code: ExitUsage, says: "1 to 200"},
		{name: "a value that is none of the known", args: []string{"list-projects", "--status", "DORMANT"}, code: ExitUsage, says: "ACTIVE"},
		{name: "a missing flag", args: []string{"create-project", "--name", "x"}, code: ExitUsage, says: "start"},
		{name: "an id that is none", args: []string{"list-tasks", "A", "--assignee", "worker"}, code: ExitUsage, says: "UUID"},
		{name: "a date that is none", args: []string{"create-task", "--project", "A", "--title", "t", "--due", "tomorrow"}, code: ExitUsage, says: "date"},
		{name: "nothing to change", args: []string{"update-task", "A", "A-1"}, code: ExitUsage, says: "nothing to change"},
		{name: "no project", args: []string{"list-tasks"}, code: ExitUsage, says: "PT_PROJECT"},
		{name: "--org of list-orgs", args: []string{"list-orgs", "--org", org}, code: ExitUsage, says: "--org"},
		{name: "deletion that nobody can be asked about", args: []string{"delete-project", "A"}, code: ExitUsage, says: "--yes"},
		{name: "a broken --jq", args: []string{"list-projects", "--jq", ".data["}, code: ExitUsage, says: "--jq"},
		{name: "an unknown --fields", args: []string{"list-projects", "--fields", "nom"}, code: ExitUsage, says: "known: id, name"},
		{name: "a --jq that fails", reply: ok(`{"items":[]}`), args: []string{"list-projects", "--jq", ".data.x"}, code: ExitError, says: "--jq"},
		{name: "a broken time limit", args: []string{"list-projects", "--timeout", "soon"}, code: ExitUsage},
		{name: "a broken address", w: world{env: map[string]string{"PT_BASE_URL": "localhost"}}, code: ExitUsage, says: "PT_BASE_URL"},
		{name: "another host's path", args: []string{"api", "GET", "//evil.example/x"}, code: ExitUsage},
		{name: "a method that is none", args: []string{"api", "STEAL", "/x"}, code: ExitUsage},
		{name: "--all and --limit", args: []string{"list-projects", "--all", "--limit", "3"}, code: ExitUsage},
		{name: "a shell that is none", args: []string{"completion", "tcsh"}, code: ExitUsage, says: "<bash|zsh|fish>"},
		{name: "a key that is none", args: []string{"revoke-key", "x", "--yes"}, code: ExitUsage},
		{name: "a file that is not there", args: []string{"import", "A", "/does/not/exist"}, code: ExitUsage},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, map[string]reply{path: tc.reply, "POST /api/projects": tc.reply})
			args := tc.args
			if args == nil {
				args = []string{"list-projects"}
			}
			got := invoke(t, s, tc.w, args...)
			if got.code != tc.code || !strings.Contains(got.err, tc.says) {
				t.Errorf("exit %d, want %d saying %q:\n%s", got.code, tc.code, tc.says, got.err)
			}
			if tc.code != ExitDone && got.out != "" {
				t.Errorf("an error on the output stream: %q", got.out)
			}
			if tc.reply.status == 0 && len(s.requests) > 0 {
				t.Errorf("a request for a command line that can't be carried out: %v", s.requests)
			}
			asJSON := invoke(t, s, tc.w, append(append([]string{}, args...), "--json")...)
			if tc.code != ExitDone && (asJSON.code != tc.code || !strings.HasPrefix(asJSON.err, `{"error":{"code":`)) {
				t.Errorf("--json: exit %d, %s", asJSON.code, asJSON.err)
			}
		})
	}
}

// A refusal that names its rule sends nobody to other organisations.
func TestDenial_HintDoesNotBlameTheOrganisation(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]reply{"GET /api/projects": refuse(403, "FORBIDDEN", "Only the task's current assignee may raise a decision request.", "")})
	got := invoke(t, s, world{}, "list-projects")
	if got.code != ExitForbidden || !strings.Contains(got.err, "current assignee") || strings.Contains(got.err, "Try:") {
		t.Errorf("exit %d:\n%s", got.code, got.err)
	}
}

// A wrong password is told as that, not as a credential to be renewed.
func TestRejectedLogin_HintNamesThePassword(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]reply{"POST /api/auth/login": refuse(401, "UNAUTHORIZED", "The request needs a valid credential.", "")})
	w := world{stdin: "wrong\n", env: map[string]string{"PT_AUTH_TOKEN": ""}}
	got := invoke(t, s, w, "auth", "login", "--email", "worker@example.org")
	if got.code != ExitAuthentication || !strings.Contains(got.err, "this password") || strings.Contains(got.err, "credential") {
		t.Errorf("exit %d:\n%s", got.code, got.err)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := serve(t, routes())
	if got := invokeContext(ctx, t, s, world{}, "list-projects"); got.code != ExitCancelled {
		t.Fatalf("got %+v", got)
	}
}

func TestUnreachableServer_ExitCodeSaysTryLater(t *testing.T) {
	t.Parallel()
	got := invoke(t, nil, world{env: map[string]string{"PT_BASE_URL": "http://127.0.0.1:1"}}, "list-projects", "--timeout", "2s")
	if got.code != ExitLater || !strings.Contains(got.err, "connection refused") {
		t.Fatalf("got %+v", got)
	}
}

func TestDeletionAsks(t *testing.T) {
	t.Parallel()
	for answer, code := range map[string]int{"y\n": ExitDone, "n\n": ExitCancelled, "\n": ExitCancelled} {
		s := serve(t, routes())
		got := invoke(t, s, world{terminal: true, stdin: answer}, "delete-project", "APOLLO")
		if got.code != code || !strings.Contains(got.err, `Apollo \u202e| lander\x1b[31m (APOLLO)`) {
			t.Errorf("%q: got %+v, want exit %d", answer, got, code)
		}
		deleted := strings.HasPrefix(s.requests[len(s.requests)-1], "DELETE")
		if deleted != (code == ExitDone) {
			t.Errorf("%q: requests %v", answer, s.requests)
		}
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := `{"version":1,"current":"work","profiles":{"work":{"baseUrl":"http://unused.invalid","org":"from-profile","project":"` + apollo + `"}}}`
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		env  map[string]string
		args []string
		want string
	}{
		{nil, nil, "from-profile"},
		{map[string]string{"PT_ORG": "from-environment"}, nil, "from-environment"},
		{map[string]string{"PT_ORG": "from-environment"}, []string{"--org", "from-flag"}, "from-flag"},
	}
	for _, tc := range cases {
		s := serve(t, routes())
		env := map[string]string{"PT_CONFIG_DIR": dir}
		for k, v := range tc.env {
			env[k] = v
		}
		got := invoke(t, s, world{env: env}, append([]string{"list-tasks"}, tc.args...)...)
		if got.code != ExitDone || s.headers[0].Get("X-Act-As-Org") != tc.want {
			t.Errorf("got %+v and org %q, want %q", got, s.headers[0].Get("X-Act-As-Org"), tc.want)
		}
	}
	s := serve(t, routes())
	if got := invoke(t, s, world{env: map[string]string{"PT_CONFIG_DIR": dir}}, "list-orgs"); got.code != 0 || s.headers[0].Get("X-Act-As-Org") != "" {
		t.Errorf("list-orgs sent an organisation: %+v", s.headers[0])
	}
}

// A token is kept with its address and never sent to another.
func TestStoredToken_IsSentToItsBaseURLOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := map[string]string{"PT_CONFIG_DIR": dir, "PT_AUTH_TOKEN": ""}
	home := serve(t, routes())
	got := invoke(t, home, world{env: env, terminal: true, secret: "correct horse"}, "auth", "login", "--email", "worker@example.org", "--profile", "work")
	if got.code != ExitDone || !strings.Contains(got.err, "Password of worker@example.org") {
		t.Fatalf("got %+v", got)
	}
	if info, err := os.Stat(filepath.Join(dir, "credentials.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("credentials: %v %v", info, err)
	}
	if got := invoke(t, home, world{env: env}, "list-projects"); got.code != ExitDone {
		t.Fatalf("the kept credential does not work: %+v", got)
	}
	if a := home.headers[1].Get("Authorization"); a != "Bearer "+token("pt-session+jwt", now.Add(12*time.Hour)) {
		t.Fatalf("Authorization %q", a)
	}
	other := serve(t, routes())
	if got := invoke(t, other, world{env: env}, "list-projects"); got.code != ExitAuthentication || len(other.requests) > 0 {
		t.Fatalf("the token went to another address: %+v %v", got, other.requests)
	}
	if got := invoke(t, home, world{env: env}, "auth", "logout"); got.code != ExitDone || !strings.Contains(got.out, "Logged out") {
		t.Fatalf("got %+v", got)
	}
	if last := home.requests[len(home.requests)-1]; last != "POST /api/auth/logout" {
		t.Fatalf("the session was not ended: %s", last)
	}
	if got := invoke(t, home, world{env: env}, "list-projects"); got.code != ExitAuthentication {
		t.Fatalf("after the logout: %+v", got)
	}
}

func TestSwitch(t *testing.T) {
	t.Parallel()
	env := map[string]string{"PT_CONFIG_DIR": t.TempDir(), "PT_AUTH_TOKEN": ""}
	s := serve(t, routes())
	for _, profile := range []string{"one", "two"} {
		if got := invoke(t, s, world{env: env, stdin: "pw\n"}, "auth", "login", "--email", "worker@example.org", "--profile", profile); got.code != 0 {
			t.Fatalf("got %+v", got)
		}
	}
	got := invoke(t, s, world{env: env}, "auth", "switch", "--json", "--jq", ".data.current, .data.profiles[]")
	if got.out != "two\none\ntwo\n" {
		t.Fatalf("got %+v", got)
	}
	if got := invoke(t, s, world{env: env}, "auth", "switch", "one", "--jq", ".data.current"); got.out != "one\n" {
		t.Fatalf("got %+v", got)
	}
	if got := invoke(t, s, world{env: env}, "auth", "switch", "three"); got.code != ExitUsage {
		t.Fatalf("got %+v", got)
	}
}

func TestUnknownProfile_EveryCommandFails(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	env := map[string]string{"PT_CONFIG_DIR": t.TempDir()}
	if got := invoke(t, s, world{env: map[string]string{"PT_CONFIG_DIR": env["PT_CONFIG_DIR"], "PT_AUTH_TOKEN": ""}, stdin: "pw\n"}, "auth", "login", "--email", "worker@example.org", "--profile", "work"); got.code != 0 {
		t.Fatalf("got %+v", got)
	}
	sent := len(s.requests)
	tried := 0
	var walk func(path []string, cmd *cobra.Command)
	walk = func(path []string, cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(append(slices.Clone(path), sub.Name()), sub)
		}
		if !cmd.Runnable() || len(path) == 0 || cmd.Annotations[createsProfile] != "" {
			return
		}
		args := slices.Clone(path)
		args = append(args, cmd.ValidArgs...)[:min(len(args)+len(cmd.ValidArgs), len(args)+1)]
		for cmd.Args != nil && cmd.Args(cmd, args[len(path):]) != nil && len(args) < len(path)+5 {
			args = append(args, "x")
		}
		tried++
		got := invoke(t, s, world{env: env}, append(args, "--profile", "nosuch")...)
		if got.code != ExitUsage || !strings.Contains(got.err, `there is no profile "nosuch" (known: work)`) || got.out != "" {
			t.Errorf("%v: got %+v", args, got)
		}
	}
	walk(nil, newRootCmd(&invocation{}, ""))
	if got := invoke(t, s, world{env: map[string]string{"PT_CONFIG_DIR": env["PT_CONFIG_DIR"], "PT_PROFILE": "nosuch"}}, "list-projects"); got.code != ExitUsage {
		t.Errorf("PT_PROFILE: got %+v", got)
	}
	if len(s.requests) != sent {
		t.Errorf("requests were sent: %v", s.requests[sent:])
	}
	if tried < 80 {
		t.Errorf("only %d commands were tried", tried)
	}
	t.Logf("%d commands", tried)
}

func TestStatusOfAnExpiredKey(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]reply{"GET /api/auth/me": refuse(401, "UNAUTHORIZED", "The request needs a valid credential.", "")})
	w := world{env: map[string]string{"PT_AUTH_TOKEN": token("pt-api-key+jwt", now.AddDate(0, 0, -1))}}
	if got := invoke(t, s, w, "auth", "status"); got.code != ExitAuthentication || !strings.Contains(got.err, "expired at 2026-11-19") {
		t.Fatalf("got %+v", got)
	}
	s = serve(t, map[string]reply{"GET /api/auth/me": ok(me(now.AddDate(0, 0, 60)))})
	if got := invoke(t, s, world{}, "auth", "status"); got.code != 0 || strings.Contains(got.err, "warning") {
		t.Fatalf("a key of 60 days: %+v", got)
	}
}

func TestJQ(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	for expression, want := range map[string]string{
		".data[0].prefix":                "APOLLO\n",
		".data[0].name | length":         "21\n",
		".data[] | {prefix}":             `{"prefix":"APOLLO"}` + "\n",
		".nextCursor, .schemaVersion":    "bmV4dA\n1\n",
		"[.data[] | .name]":              `["Apollo \u202e| lander\u001b[31m"]` + "\n",
		"empty":                          "",
		"$ENV.PT_AUTH_TOKEN // \"none\"": "none\n",
	} {
		if got := invoke(t, s, world{}, "list-projects", "--jq", expression); got.code != 0 || got.out != want {
			t.Errorf("%s: got %+v, want %q", expression, got, want)
		}
	}
	if got := invoke(t, s, world{terminal: true}, "list-projects", "--jq", ".data[0].name"); strings.ContainsAny(got.out, "\x1b\u202e") {
		t.Errorf("on a terminal: %q", got.out)
	}
	if got := invoke(t, s, world{}, "list-projects", "--jq", ".data[0].name"); !strings.ContainsAny(got.out, "\x1b") {
		t.Errorf("in a pipe a text is data: %q", got.out)
	}
}

func TestTerminalIsRendered(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	got := invoke(t, s, world{terminal: true, width: 60, env: map[string]string{"NO_COLOR": "1"}}, "list-tasks", apollo)
	for line := range strings.SplitSeq(got.out, "\n") {
		if strings.Contains(line, "\x1b") || strings.HasPrefix(line, "|") {
			t.Errorf("line %q", line)
		}
	}
	got = invoke(t, s, world{terminal: true, width: 60}, "list-tasks", apollo)
	if !strings.HasPrefix(got.out, "\x1b[1mKey") {
		t.Errorf("no colours: %q", got.out)
	}
	if got := invoke(t, s, world{env: map[string]string{"CLICOLOR_FORCE": "1"}}, "list-tasks", apollo); !strings.HasPrefix(got.out, "\x1b[1mKey") {
		t.Errorf("CLICOLOR_FORCE: %q", got.out)
	}
}

func TestDebugTraceAndVersion(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	got := invoke(t, s, world{env: map[string]string{"PT_DEBUG": "api"}}, "list-projects", "--search", "private")
	if !strings.Contains(got.err, "api: GET /api/projects 200 0ms request-id=") || strings.Contains(got.err, "private") {
		t.Fatalf("got %q", got.err)
	}
	if s.headers[0].Get("User-Agent") != "pt/1.2.3" {
		t.Fatalf("user agent %q", s.headers[0].Get("User-Agent"))
	}
	if got := invoke(t, nil, world{}, "--version"); got.out != "pt 1.2.3\n" {
		t.Fatalf("got %q", got.out)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"__complete", "list-tasks", ""}, "APOLLO\tApollo"},
		{[]string{"__complete", "create-task", "--project", ""}, "APOLLO\tApollo"},
		{[]string{"__complete", "update-task", "APOLLO-17", "--status", ""}, "TODO\nDONE"},
		{[]string{"__complete", "list-projects", "--status", ""}, "ACTIVE\nON_HOLD"},
	} {
		if got := invoke(t, s, world{}, tc.args...); !strings.Contains(got.out, tc.want) {
			t.Errorf("%v: got %+v", tc.args, got)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if got := invoke(t, nil, world{}, "completion", shell); got.code != 0 || len(got.out) < 1000 {
			t.Errorf("%s: exit %d, %d bytes", shell, got.code, len(got.out))
		}
	}
}

// Every field of an operation that has a command is a flag of it, or stands
// here with its reason: two lists that must agree.
func TestEveryFieldHasAFlag(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]string{
		"hint": "an argument", "dependsOn": "an argument", "path": "an argument",
		"items": "the lines of the file", "email": "--email of auth login", "password": "asked for", "tenantId": "--tenant",
	}
	renamed := map[string]string{
		"startDate": "start", "endDate": "end", "dueDate": "due", "issueType": "type", "epicId": "epic", "parentTaskId": "parent",
		"initiativeId": "initiative", "taskId": "task", "issueId": "issue", "stageId": "stage", "projectId": "project", "userId": "user",
		"leaseSeconds": "lease", "deliverableId": "deliverable", "timeoutSeconds": "timeout", "values": "value", "criteria": "criterion", "renameStatuses": "rename-status",
		"actorId": "actor", "correlationId": "request", "requestId": "request", "credentialId": "credential",
		"organisationId": "organisation", "ownerId": "owner", "targetUserId": "user", "serviceUserId": "service-user",
	}
	commands := map[string]bool{}
	for _, o := range append(tracker.Operations(), identity.IssueKey.Operation, identity.IssueServiceKey.Operation,
		identity.ListKeys.Operation, identity.RevokeKey.Operation, identity.ListOrgs.Operation, identity.Permissions.Operation, identity.ListAuditEntries.Operation,
		identity.ListDecisions.Operation, identity.GetDecision.Operation) {
		name := map[string]string{
			"import-items": "import", "export-items": "export", "get-project": "find-project", "get-initiative": "initiative",
		}[o.Name]
		if name == "" {
			name = o.Name
		}
		cmd, _, err := testRoot().Find([]string{name})
		if err != nil || cmd.Name() != name {
			t.Errorf("the operation %s has no command", o.Name)
			continue
		}
		commands[name] = true
		for _, f := range o.Fields {
			flag := renamed[f.Name]
			if flag == "" {
				flag = toKebabCase(f.Name)
			}
			if f.Name == "criteria" && o.Name == "create-deliverable" {
				flag = "criterion"
			}
			// review-gate tells what was met by two flags.
			if o.Name == "review-gate" && f.Name == "criteria" {
				flag = "met"
			}
			if o.Name == "export-items" && (f.Name == "limit" || f.Name == "cursor") {
				continue // an export is whole
			}
			argument := f.Source == op.FromPath && strings.Contains(cmd.Use, "<")
			if !argument && elsewhere[f.Name] == "" && cmd.Flags().Lookup(flag) == nil {
				t.Errorf("%s has no flag for the field %s", name, f.Name)
			}
		}
		if key := cmd.Flags().Lookup("idempotency-key"); (key != nil) != (o.Effect.Changes() && !o.Secret) {
			t.Errorf("%s: --idempotency-key belongs to changes that can be repeated", name)
		}
		if all := cmd.Flags().Lookup("all"); (all != nil) != (cmd.Flags().Lookup("cursor") != nil) {
			t.Errorf("%s: a list has --all and --cursor", name)
		}
		if o.Effect == op.Destroy && cmd.Flags().Lookup("yes") == nil {
			t.Errorf("%s destroys and has no --yes", name)
		}
	}
	if len(commands) < 15 {
		t.Fatalf("%d commands only", len(commands))
	}
	for _, global := range []string{"json", "jq", "fields", "org", "profile", "timeout"} {
		if testRoot().PersistentFlags().Lookup(global) == (*pflag.Flag)(nil) {
			t.Errorf("there is no --%s", global)
		}
	}
}
