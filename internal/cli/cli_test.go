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
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	path := "GET /api/projects"
	cases := []struct {
		name    string
		reply   reply
		w       environment
		args    []string
		code    int
		wantErr string
	}{
		{name: "empty list", reply: okReply(`{"items":[]}`), code: ExitDone},
		{name: "internal error", reply: errorReply(500, "INTERNAL", "Something went wrong on the server.", ""), code: ExitError, wantErr: requestID},
		{name: "validation error of the service", reply: errorReply(400, "VALIDATION", "The cursor is wrong.", `,"field":"cursor"`), code: ExitError, wantErr: "The cursor is wrong."},
		{name: "not found", reply: errorReply(404, "NOT_FOUND", "There is no such project.", ""), code: ExitNotFound},
		{name: "unauthorized", reply: errorReply(401, "UNAUTHORIZED", "The request needs a valid credential.", `,"reason":"USER_SUSPENDED"`), code: ExitAuthentication, wantErr: "Why: USER_SUSPENDED"},
		{name: "conflict", reply: errorReply(409, "CONFLICT", "Taken.", ""), code: ExitConflict},
		{name: "duplicate task", reply: errorReply(409, "DUPLICATE_TASK", "A similar task exists.", `,"details":{"candidates":[{"key":"A-1","title":"Like it","similarity":0.8}]}`), code: ExitConflict, wantErr: "A-1  Like it  0.8"},
		{name: "forbidden", reply: errorReply(403, "FORBIDDEN", "The permission projects.read is missing.", `,"permission":"projects.read"`), code: ExitForbidden, wantErr: "projects.read"},
		{name: "busy", reply: reply{503, `{"error":{"code":"UNAVAILABLE","message":"Busy.","requestId":"r"}}`, map[string]string{"Retry-After": "3600"}}, code: ExitLater, wantErr: "Repeat the command in 1h0m0s"},
		{name: "unknown outcome", reply: reply{status: 504, body: "slow"}, args: []string{"create-project", "--name", "x", "--start", "2027-01-01"}, code: ExitUnknown, wantErr: "to see the result; the change takes effect only once"},
		{name: "unknown outcome with key", reply: reply{status: 504, body: "slow"}, args: []string{"create-project", "--name", "x", "--start", "2027-01-01", "--idempotency-key", "k1"}, code: ExitUnknown, wantErr: "Repeat the command: with the same --idempotency-key"},
		{name: "wrong tenant", reply: errorReply(403, "FORBIDDEN", "This request is not allowed.", ""), code: ExitForbidden, wantErr: "pt list-orgs"},
		{name: "403 of a proxy", reply: reply{status: 403, body: "<html>"}, code: ExitForbidden, wantErr: "came from a proxy"},
		{name: "no credential", w: environment{env: map[string]string{"PT_AUTH_TOKEN": ""}}, code: ExitAuthentication, wantErr: "pt auth login"},
		{name: "unknown profile", w: environment{env: map[string]string{"PT_AUTH_TOKEN": "", "PT_PROFILE": "ghost"}}, code: ExitUsage, wantErr: "ghost"},
		{name: "unknown command", args: []string{"list-project"}, code: ExitUsage, wantErr: `unknown command "list-project"; did you mean list-projects?`},
		{name: "an unknown command with --help", args: []string{"nosuch", "--help"}, code: ExitUsage, wantErr: `unknown command "nosuch"`},
		{name: "an unknown subcommand with --help", args: []string{"auth", "nosuch", "--help"}, code: ExitUsage, wantErr: `unknown command "nosuch"`},
		{name: "help for an unknown command", args: []string{"help", "nosuch"}, code: ExitUsage, wantErr: `unknown command "nosuch"`},
		{name: "help for an unknown subcommand", args: []string{"help", "auth", "nosuch"}, code: ExitUsage, wantErr: `unknown command "nosuch"`},
		{name: "unknown subcommand of auth", args: []string{"auth", "frobnicate"}, code: ExitUsage},
		{name: "missing argument", args: []string{"find-project"}, code: ExitUsage, wantErr: "missing argument <hint>; usage: pt find-project <hint>"},
		{name: "extra argument", args: []string{"list-projects", "A"}, code: ExitUsage, wantErr: `list-projects takes no arguments, got "A"; usage: pt list-projects`},
		{name: "extra argument of auth login", args: []string{"auth", "login", "me"}, code: ExitUsage, wantErr: `login takes no arguments, got "me"; usage: pt auth login`},
		{name: "unknown flag", args: []string{"list-projects", "--nope"}, code: ExitUsage, wantErr: "unknown flag --nope\nTry: pt list-projects --help"},
		{name: "excluded word", args: []string{"search", "-foo"}, code: ExitUsage, wantErr: "unknown flag -foo; to search for tasks without a word, write -- first: pt search -- -foo"},
		{name: "misspelled flag", args: []string{"list-projects", "--serach", "x"}, code: ExitUsage, wantErr: "unknown flag --serach; did you mean --search?"},
		{name: "misspelled subcommand", args: []string{"auth", "logni"}, code: ExitUsage, wantErr: `unknown command "logni"; did you mean login?`},
		{name: "noun as a command", args: []string{"tasks"}, code: ExitUsage, wantErr: "did you mean list-tasks?"},
		{name: "name as a superfluous argument", args: []string{"create-custom-field", "A", "Crew"}, code: ExitUsage, wantErr: `too many arguments: "Crew"; give the name with --name "Crew"`},
		{name: "title without quotes", args: []string{"create-task", "Do", "it"}, code: ExitUsage, wantErr: `quote it: pt create-task "Do it"`},
		{name: "title twice", args: []string{"create-task", "Do it", "--title", "Do it"}, code: ExitUsage, wantErr: "give the title once"},
		{name: "missing task", args: []string{"get-task"}, code: ExitUsage, wantErr: "missing argument <task>;"},
		{name: "missing task that is deleted", args: []string{"delete-task", "A", "--yes"}, code: ExitUsage, wantErr: "missing argument <task>;"},
		{name: "value out of range", args: []string{"list-projects", "--limit", "201"}, code: ExitUsage, wantErr: "--limit must be 1 to 200"},
		{name: "value not in enum", args: []string{"list-projects", "--status", "DORMANT"}, code: ExitUsage, wantErr: `--status "DORMANT": must be one of`},
		{name: "missing flag", args: []string{"create-project", "--name", "x"}, code: ExitUsage, wantErr: "pt: --start is required\n"},
		{name: "invalid ID", args: []string{"get-task", "A", "A-1", "--decision-request-id", "worker"}, code: ExitUsage, wantErr: "UUID"},
		{name: "invalid date", args: []string{"create-task", "--project", "A", "--title", "t", "--due", "soon"}, code: ExitUsage, wantErr: `--due "soon": must be a date such as 2026-12-31, today`},
		{name: "nothing to change", args: []string{"update-task", "A", "A-1"}, code: ExitUsage, wantErr: "nothing to change"},
		{name: "no project", args: []string{"list-tasks"}, code: ExitUsage, wantErr: "PT_PROJECT"},
		{name: "list-orgs with --org", args: []string{"list-orgs", "--org", org}, code: ExitUsage, wantErr: "--org"},
		{name: "deletion without terminal and --yes", args: []string{"delete-project", "A"}, code: ExitUsage, wantErr: "--yes"},
		{name: "--jq that does not parse", args: []string{"list-projects", "--jq", ".data["}, code: ExitUsage, wantErr: "--jq"},
		{name: "unknown field in --fields", args: []string{"list-projects", "--fields", "nom"}, code: ExitUsage, wantErr: "allowed: id, name"},
		{name: "--jq that fails on the response", reply: okReply(`{"items":[]}`), args: []string{"list-projects", "--jq", ".data.x"}, code: ExitError, wantErr: "--jq"},
		{name: "invalid timeout", args: []string{"list-projects", "--timeout", "soon"}, code: ExitUsage},
		{name: "invalid URL", w: environment{env: map[string]string{"PT_BASE_URL": "localhost"}}, code: ExitUsage, wantErr: "PT_BASE_URL"},
		{name: "api path with another host", args: []string{"api", "GET", "//evil.example/x"}, code: ExitUsage},
		{name: "unknown api method", args: []string{"api", "STEAL", "/x"}, code: ExitUsage},
		{name: "--all with --limit", args: []string{"list-projects", "--all", "--limit", "3"}, code: ExitUsage},
		{name: "unknown shell", args: []string{"completion", "tcsh"}, code: ExitUsage, wantErr: "<bash|zsh|fish>"},
		{name: "invalid decision ID", args: []string{"get-decision", "x"}, code: ExitUsage},
		{name: "label of a key without its owner", args: []string{"revoke-key", "x", "--service-owned", "--yes"}, code: ExitUsage, wantErr: "--service-user"},
		{name: "missing file", args: []string{"import", "A", "/does/not/exist"}, code: ExitUsage},
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
			if got.code != tc.code || !strings.Contains(got.err, tc.wantErr) {
				t.Errorf("got exit code %d, want %d with %q on stderr:\n%s", got.code, tc.code, tc.wantErr, got.err)
			}
			if tc.code != ExitDone && got.out != "" {
				t.Errorf("stdout of a failed command: got %q, want none", got.out)
			}
			if tc.reply.status == 0 && len(s.requests) > 0 {
				t.Errorf("requests of an invalid command line: got %v, want none", s.requests)
			}
			asJSON := invoke(t, s, tc.w, append(append([]string{}, args...), "--json")...)
			if tc.code != ExitDone && (asJSON.code != tc.code || !strings.HasPrefix(asJSON.err, `{"error":{"code":`)) {
				t.Errorf("--json: got exit code %d and %s, want %d and a JSON error", asJSON.code, asJSON.err, tc.code)
			}
		})
	}
}

// If the error names the rule, another organisation would not help.
func TestDenial_HintDoesNotSuggestOtherOrganisation(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]reply{"GET /api/projects": errorReply(403, "FORBIDDEN", "Only the task's current assignee can raise a decision request.", "")})
	got := invoke(t, s, environment{}, "list-projects")
	if got.code != ExitForbidden || !strings.Contains(got.err, "current assignee") || strings.Contains(got.err, "Try:") {
		t.Errorf("denied because of the assignee: got exit %d, want %d, the message and no hint:\n%s", got.code, ExitForbidden, got.err)
	}
}

func TestLogin_RejectedPasswordIsNamedInError(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]reply{"POST /api/auth/login": errorReply(401, "UNAUTHORIZED", "The request needs a valid credential.", "")})
	w := environment{stdin: "wrong\n", env: map[string]string{"PT_AUTH_TOKEN": ""}}
	got := invoke(t, s, w, "auth", "login", "--email", "worker@example.org")
	if got.code != ExitAuthentication || !strings.Contains(got.err, "the password is wrong") || strings.Contains(got.err, "credential") {
		t.Errorf("login with a wrong password: got exit %d, want %d and an error that names the password:\n%s", got.code, ExitAuthentication, got.err)
	}
}

func TestRun_CancelledContextExitsWithCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := serve(t, routes())
	if got := invokeContext(ctx, t, s, environment{}, "list-projects"); got.code != ExitCancelled {
		t.Fatalf("cancelled context: got %+v, want exit %d", got, ExitCancelled)
	}
}

func TestRun_UnreachableServiceExitsWithLater(t *testing.T) {
	t.Parallel()
	got := invoke(t, nil, environment{env: map[string]string{"PT_BASE_URL": "http://127.0.0.1:1"}}, "list-projects", "--timeout", "2s")
	if got.code != ExitLater || !strings.Contains(got.err, "connection refused") {
		t.Fatalf("unreachable service: got %+v, want exit %d and \"connection refused\"", got, ExitLater)
	}
}

func TestDeleteProject_AsksForConfirmation(t *testing.T) {
	t.Parallel()
	for answer, code := range map[string]int{"y\n": ExitDone, "n\n": ExitCancelled, "\n": ExitCancelled} {
		s := serve(t, routes())
		got := invoke(t, s, environment{terminal: true, stdin: answer}, "delete-project", "APOLLO")
		if got.code != code || !strings.Contains(got.err, `Apollo \u202e| lander\x1b[31m (APOLLO)`) {
			t.Errorf("%q: got %+v, want exit %d", answer, got, code)
		}
		deleted := strings.HasPrefix(s.requests[len(s.requests)-1], "DELETE")
		if deleted != (code == ExitDone) {
			t.Errorf("answer %q: got requests %v, want deletion: %v", answer, s.requests, code == ExitDone)
		}
	}
}

func TestOrganisation_FlagBeatsEnvironmentBeatsProfile(t *testing.T) {
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
		got := invoke(t, s, environment{env: env}, append([]string{"list-tasks"}, tc.args...)...)
		if got.code != ExitDone || s.headers[0].Get("X-Act-As-Org") != tc.want {
			t.Errorf("got %+v and org %q, want %q", got, s.headers[0].Get("X-Act-As-Org"), tc.want)
		}
	}
	s := serve(t, routes())
	if got := invoke(t, s, environment{env: map[string]string{"PT_CONFIG_DIR": dir}}, "list-orgs"); got.code != 0 || s.headers[0].Get("X-Act-As-Org") != "" {
		t.Errorf("list-orgs: got headers %+v, want no X-Act-As-Org", s.headers[0])
	}
}

func TestStoredToken_IsSentOnlyToItsBaseURL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := map[string]string{"PT_CONFIG_DIR": dir, "PT_AUTH_TOKEN": ""}
	home := serve(t, routes())
	got := invoke(t, home, environment{env: env, terminal: true, secret: "correct horse"}, "auth", "login", "--email", "worker@example.org", "--profile", "work")
	if got.code != ExitDone || !strings.Contains(got.err, "Password for worker@example.org") {
		t.Fatalf("auth login: got %+v, want exit %d and a prompt for the password", got, ExitDone)
	}
	if info, err := os.Stat(filepath.Join(dir, "credentials.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("credentials.json: got %v, %v, want mode 0600", info, err)
	}
	if got := invoke(t, home, environment{env: env}, "list-projects"); got.code != ExitDone {
		t.Fatalf("list-projects with the stored credential: got %+v, want success", got)
	}
	if a := home.headers[1].Get("Authorization"); a != "Bearer "+token("pt-session+jwt", now.Add(12*time.Hour)) {
		t.Fatalf("Authorization: got %q, want the session token", a)
	}
	other := serve(t, routes())
	if got := invoke(t, other, environment{env: env}, "list-projects"); got.code != ExitAuthentication || len(other.requests) > 0 {
		t.Fatalf("request to another URL: got %+v and requests %v, want exit %d and no request", got, other.requests, ExitAuthentication)
	}
	if got := invoke(t, home, environment{env: env}, "auth", "logout"); got.code != ExitDone || !strings.Contains(got.out, "Logged out") {
		t.Fatalf("auth logout: got %+v, want exit %d and \"Logged out\"", got, ExitDone)
	}
	if last := home.requests[len(home.requests)-1]; last != "POST /api/auth/logout" {
		t.Fatalf("last request of auth logout: got %s, want POST /api/auth/logout", last)
	}
	if got := invoke(t, home, environment{env: env}, "list-projects"); got.code != ExitAuthentication {
		t.Fatalf("list-projects after logout: got %+v, want exit code %d", got, ExitAuthentication)
	}
}

func TestAuthSwitch_SelectsAndListsProfiles(t *testing.T) {
	t.Parallel()
	env := map[string]string{"PT_CONFIG_DIR": t.TempDir(), "PT_AUTH_TOKEN": ""}
	s := serve(t, routes())
	for _, profile := range []string{"one", "two"} {
		if got := invoke(t, s, environment{env: env, stdin: "pw\n"}, "auth", "login", "--email", "worker@example.org", "--profile", profile); got.code != 0 {
			t.Fatalf("auth login --profile %s: got %+v, want exit %d", profile, got, ExitDone)
		}
	}
	got := invoke(t, s, environment{env: env}, "auth", "switch", "--json", "--jq", ".data.current, .data.profiles[]")
	if got.out != "two\none\ntwo\n" {
		t.Fatalf("auth switch: got %+v, want current profile two of one and two", got)
	}
	if got := invoke(t, s, environment{env: env}, "auth", "switch", "one", "--jq", ".data.current"); got.out != "one\n" {
		t.Fatalf("auth switch one: got %+v, want current profile one", got)
	}
	if got := invoke(t, s, environment{env: env}, "auth", "switch", "three"); got.code != ExitUsage {
		t.Fatalf("auth switch to an unknown profile: got %+v, want exit %d", got, ExitUsage)
	}
}

func TestUnknownProfile_EveryCommandFails(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	env := map[string]string{"PT_CONFIG_DIR": t.TempDir()}
	if got := invoke(t, s, environment{env: map[string]string{"PT_CONFIG_DIR": env["PT_CONFIG_DIR"], "PT_AUTH_TOKEN": ""}, stdin: "pw\n"}, "auth", "login", "--email", "worker@example.org", "--profile", "work"); got.code != 0 {
		t.Fatalf("auth login --profile work: got %+v, want exit %d", got, ExitDone)
	}
	sent := len(s.requests)
	tried := 0
	var tryCommands func(path []string, cmd *cobra.Command)
	tryCommands = func(path []string, cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			tryCommands(append(slices.Clone(path), sub.Name()), sub)
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
		got := invoke(t, s, environment{env: env}, append(args, "--profile", "nosuch")...)
		if got.code != ExitUsage || !strings.Contains(got.err, `unknown profile "nosuch" (existing: work)`) || got.out != "" {
			t.Errorf("%v --profile nosuch: got %+v, want exit %d, an error that names the profile and no output", args, got, ExitUsage)
		}
	}
	tryCommands(nil, newRootCmd(&invocation{}, ""))
	if got := invoke(t, s, environment{env: map[string]string{"PT_CONFIG_DIR": env["PT_CONFIG_DIR"], "PT_PROFILE": "nosuch"}}, "list-projects"); got.code != ExitUsage {
		t.Errorf("PT_PROFILE=nosuch: got %+v, want exit %d", got, ExitUsage)
	}
	if len(s.requests) != sent {
		t.Errorf("requests: got %v, want none", s.requests[sent:])
	}
	if tried < 80 {
		t.Errorf("got %d commands, want at least 80", tried)
	}
	t.Logf("%d commands", tried)
}

func TestAuthStatus_ReportsExpiredKey(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]reply{"GET /api/auth/me": errorReply(401, "UNAUTHORIZED", "The request needs a valid credential.", "")})
	w := environment{env: map[string]string{"PT_AUTH_TOKEN": token("pt-api-key+jwt", now.AddDate(0, 0, -1))}}
	if got := invoke(t, s, w, "auth", "status"); got.code != ExitAuthentication || !strings.Contains(got.err, "The credential from PT_AUTH_TOKEN expired 1 day ago, on 2026-11-19.") {
		t.Fatalf("auth status with an expired key: got %+v, want exit %d and the expiry date", got, ExitAuthentication)
	}
	s = serve(t, map[string]reply{"GET /api/auth/me": okReply(meJSON(now.AddDate(0, 0, 60)))})
	if got := invoke(t, s, environment{}, "auth", "status"); got.code != 0 || strings.Contains(got.err, "warning") {
		t.Fatalf("key that expires in 60 days: got %+v, want no warning", got)
	}
}

func TestJQFlag_PrintsResults(t *testing.T) {
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
		if got := invoke(t, s, environment{}, "list-projects", "--jq", expression); got.code != 0 || got.out != want {
			t.Errorf("%s: got %+v, want %q", expression, got, want)
		}
	}
	if got := invoke(t, s, environment{terminal: true}, "list-projects", "--jq", ".data[0].name"); strings.ContainsAny(got.out, "\x1b\u202e") {
		t.Errorf("string on a terminal: got %q, want escaped control characters", got.out)
	}
	if got := invoke(t, s, environment{}, "list-projects", "--jq", ".data[0].name"); !strings.ContainsAny(got.out, "\x1b") {
		t.Errorf("string in a pipe: got %q, want unescaped control characters", got.out)
	}
}

func TestOutput_IsRenderedOnTerminal(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	got := invoke(t, s, environment{terminal: true, width: 60, env: map[string]string{"NO_COLOR": "1"}}, "list-tasks", apollo)
	for line := range strings.SplitSeq(got.out, "\n") {
		if strings.Contains(line, "\x1b") || strings.HasPrefix(line, "|") {
			t.Errorf("with NO_COLOR: got line %q, want no escape sequence and no Markdown table", line)
		}
	}
	got = invoke(t, s, environment{terminal: true, width: 60}, "list-tasks", apollo)
	if !strings.HasPrefix(got.out, "\x1b[1mKey") {
		t.Errorf("got %q, want a bold heading", got.out)
	}
	if got := invoke(t, s, environment{env: map[string]string{"CLICOLOR_FORCE": "1"}}, "list-tasks", apollo); !strings.HasPrefix(got.out, "\x1b[1mKey") {
		t.Errorf("with CLICOLOR_FORCE: got %q, want a bold heading", got.out)
	}
}

func TestRun_PrintsDebugTraceAndVersion(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	got := invoke(t, s, environment{env: map[string]string{"PT_DEBUG": "api"}}, "list-projects", "--search", "private")
	if !strings.Contains(got.err, "api: GET /api/projects 200 0ms request-id=") || strings.Contains(got.err, "private") {
		t.Fatalf("PT_DEBUG=api: got %q, want the route of the request and no query parameter", got.err)
	}
	if s.headers[0].Get("User-Agent") != "pt/1.2.3" {
		t.Fatalf("User-Agent: got %q, want pt/1.2.3", s.headers[0].Get("User-Agent"))
	}
	if got := invoke(t, nil, environment{}, "--version"); got.out != "pt 1.2.3\n" {
		t.Fatalf("--version: got %q, want \"pt 1.2.3\\n\"", got.out)
	}
}
