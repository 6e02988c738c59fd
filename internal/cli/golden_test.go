package cli

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parapet/internal/cli/config"
)

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

const (
	apollo = "018f3c5e-0000-7000-8000-000000000001"
	taskID = "018f3c5e-0000-7000-8000-000000000011"
	worker = "018f3c5e-0000-7000-8000-000000000021"
	acme   = "018f3c5e-0000-7000-8000-000000000031"
	org    = "018f3c5e-0000-7000-8000-000000000041"
	keyID  = "018f3c5e-0000-7000-8000-000000000051"

	summaryJSON = `"id":"` + apollo + `","name":"Apollo \u202e| lander\u001b[31m","prefix":"APOLLO","status":"ACTIVE","classification":"INTERNAL","startDate":"2027-01-04","organisationId":"` + org + `","createdBy":"` + worker + `","createdAt":"2026-11-01T08:00:00Z","updatedAt":"2026-11-02T09:30:00.123456Z"`
	projectJSON = `{` + summaryJSON + `,"description":"First line.\nSecond \u200bline.","issuePrefix":"ISS","customStatuses":[{"name":"TODO","category":"TODO"},{"name":"DONE","category":"DONE"}]}`
	taskSummary = `"id":"` + taskID + `","key":"APOLLO-17","projectId":"` + apollo + `","title":"Write the \u001b]0;plan\u0007","status":"IN_PROGRESS","statusCategory":"IN_PROGRESS","issueType":"TASK","priority":"HIGH","progress":40,"assignee":"` + worker + `","dueDate":"2027-03-31","labels":["a|b","flight"],"createdBy":"` + worker + `","createdAt":"2026-11-01T08:00:00Z","updatedAt":"2026-11-02T09:30:00Z"`
	taskJSON    = `{` + taskSummary + `,"epicId":"018f3c5e-0000-7000-8000-000000000099","description":"# Not a heading\n\u009b31m and \ufeffmore","epic":{"id":"018f3c5e-0000-7000-8000-000000000099","key":"REDACTED","title":"REDACTED","isCrossProject":true}}`
	personJSON  = `{"id":"` + worker + `","email":"worker@example.org","displayName":"Worker","principalKind":"HUMAN","status":"ACTIVE","clearance":"SECRET"}`
	keyJSON     = `"id":"` + keyID + `","jti":"` + keyID + `","label":"ci","owner":"` + worker + `","tenantId":"` + acme + `","kind":"SERVICE","expiry":"2027-02-18T12:00:00Z","createdBy":"` + worker + `","createdAt":"2026-11-20T12:00:00Z"`
)

func me(expires time.Time) string {
	return `{"user":` + personJSON + `,"tenantId":"` + acme + `","tenantSlug":"acme","tenantName":"Acme","tenantType":"STANDARD","organisationId":"` + org +
		`","roles":["Admin","Member"],"clearance":"SECRET","tokenKind":"api_key","tokenTenantId":"` + acme + `","tokenId":"` + keyID + `","expiresAt":"` + expires.Format(time.RFC3339) + `"}`
}

// routes are the answers that the fake service gives to all.
func routes() map[string]reply {
	all := map[string]reply{
		"GET /api/projects":                                        ok(`{"items":[{` + summaryJSON + `}],"nextCursor":"bmV4dA"}`),
		"GET /api/projects?cursor=bmV4dA&limit=200":                ok(`{"items":[{` + summaryJSON + `}]}`),
		"GET /api/projects?limit=50&search=nothing":                ok(`{"items":[]}`),
		"GET /api/projects/find":                                   ok(projectJSON),
		"GET /api/projects/find?hint=lunar":                        refuse(409, "CONFLICT", "The hint fits more than one project.", `,"details":{"candidates":[{"id":"`+apollo+`","name":"Lunar \u001b[2J","prefix":"LUNA"},{"id":"`+taskID+`","name":"Lunar 2","prefix":"LUNB"}]}`),
		"GET /api/projects/find?hint=ghost":                        refuse(404, "NOT_FOUND", "There is no such project.", ""),
		"POST /api/projects":                                       {status: 201, body: projectJSON},
		"PATCH /api/projects/" + apollo:                            ok(projectJSON),
		"GET /api/projects/" + apollo:                              ok(projectJSON),
		"DELETE /api/projects/" + apollo:                           {status: 204},
		"GET /api/projects/" + apollo + "/tasks":                   ok(`{"items":[{` + taskSummary + `}]}`),
		"GET /api/projects/" + apollo + "/tasks?limit=50&status=X": ok(`{"items":[]}`),
		"POST /api/projects/" + apollo + "/tasks":                  {status: 201, body: taskJSON},
		"GET /api/projects/" + apollo + "/tasks/APOLLO-17":         ok(taskJSON),
		"PATCH /api/projects/" + apollo + "/tasks/APOLLO-17":       ok(taskJSON),
		"PATCH /api/projects/" + apollo + "/tasks/APOLLO-18": refuse(403, "FORBIDDEN", "The permission task.update is held, but not in the scope of this record.",
			`,"permission":"task.update","reasons":[{"code":"out_of_scope","message":"The permission task.update is held, but not in the scope of this record.","remedy":"Ask for a role in this project."}]`),
		"DELETE /api/projects/" + apollo + "/tasks/APOLLO-17": {status: 204},
		"GET /api/auth/organisations":                         ok(`{"items":[{"organisationId":"` + org + `","name":"Acme\u0007 Works","tenantId":"` + acme + `","tenantSlug":"acme","tenantName":"Acme","default":true},{"tenantId":"` + taskID + `","name":"","tenantSlug":"globex","tenantName":"Globex","default":false}],"degraded":true}`),
		"GET /api/auth/permissions":                           ok(`{"tenantId":"` + acme + `","permissions":[{"name":"task.update","description":"Change tasks.","tenant":false,"organisations":[],"projects":["` + apollo + `"]},{"name":"tasks.read","description":"Read tasks.","tenant":true,"organisations":[],"projects":[]}]}`),
		"GET /api/auth/me":                                    ok(me(now.AddDate(0, 0, 10))),
		"POST /api/auth/password-reset":                       {status: 204},
		"POST /api/auth/password-reset-request":               {status: 202, body: "{}"},
		"POST /api/auth/login":                                ok(`{"token":"` + token("pt-session+jwt", now.Add(12*time.Hour)) + `","expiresAt":"2026-11-21T00:00:00Z","tenantId":"` + acme + `","user":` + personJSON + `}`),
		"POST /api/auth/logout":                               {status: 204},
		"POST /api/auth/api-keys":                             {status: 201, body: `{"token":"the.new.token",` + keyJSON + `}`},
		"POST /api/auth/api-keys/service":                     {status: 201, body: `{"token":"the.new.token",` + keyJSON + `}`},
		"GET /api/auth/api-keys":                              ok(`{"items":[{` + keyJSON + `,"revokedAt":"2026-11-20T12:00:00Z"}]}`),
		"DELETE /api/auth/api-keys/" + keyID:                  ok(`{` + keyJSON + `,"revokedAt":"2026-11-20T12:00:00Z","revokedBy":"` + worker + `","revokeReason":"replaced"}`),
		"GET /healthz":                                        {status: 200, body: "ok \x1b[31m\n", header: map[string]string{"Content-Type": "text/plain"}},
	}
	for _, s := range stories() {
		for route, answer := range s.routes {
			if _, twice := all[route]; twice {
				panic("two answers to " + route)
			}
			all[route] = answer
		}
	}
	return all
}

// goldenCase is a command line whose outputs are kept.
type goldenCase struct {
	name string
	args []string
	w    world
}

// story is what the golden tests of one noun need.
type story struct {
	routes map[string]reply
	cases  []goldenCase
}

func stories() []story {
	return []story{
		issueStory(), commentStory(), timeEntryStory(), stageStory(), initiativeStory(), workspaceStory(),
		decisionStory(), dependencyStory(), claimStory(), bindStory(), exportStory(), peopleStory(), taskStory(), otherStory(),
		deliverableStory(), customFieldStory(), delegationStory(), auditStory(), runStory(),
	}
}

func goldenCases() []goldenCase {
	cases := []goldenCase{
		{"list-projects", []string{"list-projects"}, world{}},
		{"list-projects-all", []string{"list-projects", "--all", "--fields", "prefix,endDate"}, world{}},
		{"list-projects-empty", []string{"list-projects", "--search", "nothing"}, world{}},
		{"find-project", []string{"find-project", "APOLLO"}, world{}},
		{"find-project-ambiguous", []string{"find-project", "lunar"}, world{}},
		{"find-project-none", []string{"find-project", "ghost"}, world{}},
		{"create-project", []string{"create-project", "--name", "Apollo", "--start", "2027-01-04", "--prefix", "APOLLO", "--custom-statuses", "OPEN=TODO,SHUT=done", "--story-point-scale", "1,2,3.5", "--description", "-"}, world{stdin: "From the\ninput.\n"}},
		{"update-project", []string{"update-project", apollo, "--status", "completed", "--end", "", "--name", "New"}, world{}},
		{"delete-project", []string{"delete-project", apollo, "--yes", "--idempotency-key", "k"}, world{}},
		{"list-tasks", []string{"list-tasks", "APOLLO"}, world{}},
		{"list-tasks-empty", []string{"list-tasks", apollo, "--status", "X"}, world{}},
		{"get-task", []string{"get-task", "APOLLO", "APOLLO-17"}, world{}},
		{"get-task-by-key", []string{"get-task", "APOLLO-17"}, world{}},
		{"create-task", []string{"create-task", "--project", apollo, "--title", "Write", "--due", "2027-03-31", "--assignee", worker, "--labels", "a,b", "--labels", "c", "--estimate-points", "2.5"}, world{}},
		{"update-task", []string{"update-task", apollo, "APOLLO-17", "--progress", "0", "--assignee", "", "--due", "", "--status", "IN_PROGRESS", "--labels", ""}, world{}},
		{"update-task-forbidden", []string{"update-task", apollo, "APOLLO-18", "--progress", "50"}, world{}},
		{"delete-task", []string{"delete-task", "APOLLO", "APOLLO-17", "--yes"}, world{}},
		{"list-orgs", []string{"list-orgs"}, world{env: map[string]string{"PT_ORG": org}}},
		{"permissions", []string{"permissions"}, world{}},
		{"auth-status", []string{"auth", "status"}, world{}},
		{"auth-login-email", []string{"auth", "login", "--email", "worker@example.org"}, world{stdin: "correct horse\n", env: map[string]string{"PT_AUTH_TOKEN": ""}}},
		{"auth-login-token", []string{"auth", "login", "--with-token", "--profile", "ci"}, world{stdin: token("pt-api-key+jwt", now.AddDate(0, 0, 10)) + "\n", env: map[string]string{"PT_AUTH_TOKEN": ""}}},
		{"auth-request-reset", []string{"auth", "request-reset", "--email", "worker@example.org"}, world{}},
		{"auth-reset-password", []string{"auth", "reset-password"}, world{stdin: "abc\ncorrect horse battery\n"}},
		{"auth-switch", []string{"auth", "switch"}, world{}},
		{"auth-logout-none", []string{"auth", "logout"}, world{}},
		{"issue-key", []string{"issue-key", "--label", "ci", "--expires-in-days", "7"}, world{}},
		{"issue-service-key", []string{"issue-service-key", "--label", "ci", "--user", worker}, world{}},
		{"list-keys", []string{"list-keys", "--service-user", worker}, world{}},
		{"revoke-key", []string{"revoke-key", keyID, "--service-owned", "--reason", "replaced", "--yes"}, world{}},
		{"api", []string{"api", "get", "/api/projects?limit=1"}, world{}},
		{"api-text", []string{"api", "GET", "/healthz"}, world{}},
		{"api-write", []string{"api", "POST", "/api/auth/api-keys", "--field", "label=x=y", "--field", "expiresInDays:=7"}, world{}},
		{"version", []string{"version"}, world{}},
		{"help-environment", []string{"help", "environment"}, world{}},
		{"help-exit-codes", []string{"help", "exit-codes"}, world{}},
		{"help-formatting", []string{"help", "formatting"}, world{}},
		{"help-names", []string{"help", "names"}, world{}},
	}
	for _, s := range stories() {
		cases = append(cases, s.cases...)
	}
	return cases
}

// Every command's output, as Markdown and as JSON, with the requests it makes.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, tc := range goldenCases() {
		for form, flags := range map[string][]string{"md": nil, "json": {"--json"}} {
			t.Run(tc.name+"."+form, func(t *testing.T) {
				t.Parallel()
				s := serve(t, routes())
				args := append(append([]string{}, tc.args...), flags...)
				got := invoke(t, s, tc.w, args...)
				golden(t, "golden/"+tc.name+"."+form, transcript(args, s, got))
				if i := strings.IndexFunc(got.out+got.err, func(r rune) bool {
					return r < ' ' && r != '\n' || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == 0x202e || r == 0x200b || r == 0xfeff
				}); i >= 0 && tc.name != "api-text" {
					t.Errorf("a control character at %d of %q", i, got.out+got.err)
				}
			})
		}
	}
}

// A command without a golden file could print anything.
func TestEveryCommandHasAGoldenFile(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]string{
		"pt": "its help", "pt auth": "its help", "pt completion": "TestCompletion", "pt mcp": "the tests of package mcp", "pt import": "import_test.go",
	}
	covered := map[string]bool{}
	for _, tc := range goldenCases() {
		cmd, _, err := testRoot().Find(tc.args)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		covered[cmd.CommandPath()] = true
	}
	walk(testRoot(), func(c *cobra.Command) {
		if name := c.CommandPath(); !covered[name] && elsewhere[name] == "" && !c.IsAdditionalHelpTopicCommand() {
			t.Errorf("%s has no golden file", name)
		}
	})
}

// walk visits every command.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		walk(c, visit)
	}
}

func testRoot() *cobra.Command {
	return newRootCmd(&invocation{store: config.NewStore("")}, "")
}

// The names by which a family is found are those of the commands that it makes.
func TestFamiliesKnowTheirNames(t *testing.T) {
	t.Parallel()
	for _, n := range nouns() {
		if n.names == nil {
			continue
		}
		var made []string
		for _, c := range n.build(&invocation{}) {
			made = append(made, c.Name())
		}
		if !slices.Equal(made, n.names) {
			t.Errorf("made %v, named %v", made, n.names)
		}
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	n := 0
	walk(testRoot(), func(c *cobra.Command) {
		if c.IsAdditionalHelpTopicCommand() {
			if c.Long == "" {
				t.Errorf("%s: a topic without text", c.CommandPath())
			}
			return
		}
		n++
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short help %q", c.CommandPath(), c.Short)
		}
		if !strings.Contains(c.Example, "  pt ") {
			t.Errorf("%s has no example", c.CommandPath())
		}
		if c.Args == nil && c.RunE != nil {
			t.Errorf("%s takes any arguments", c.CommandPath())
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s has no help", c.CommandPath(), f.Name)
			}
		})
	})
	if n < 20 {
		t.Fatalf("%d commands only", n)
	}
}

// A command's help speaks of its flags, not of the fields and the null of JSON.
func TestHelpSpeaksOfFlags(t *testing.T) {
	t.Parallel()
	json := regexp.MustCompile(`\bnull\b|\b[a-z]+[A-Z][A-Za-z]*\b`)
	// What JSON gives back, and the flag of another command.
	known := []string{"nextCursor", "isCrossProject", "estimatePoints"}
	walk(testRoot(), func(c *cobra.Command) {
		check := func(what, text string) {
			for _, word := range json.FindAllString(text, -1) {
				if !slices.Contains(known, word) {
					t.Errorf("%s: %s speaks of %s: %s", c.CommandPath(), what, word, text)
				}
			}
		}
		if !c.IsAdditionalHelpTopicCommand() {
			check("its text", c.Long)
			c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { check("--"+f.Name, f.Usage) })
		}
	})
}

// What an example names must be there: a command and its flags.
func TestExamplesAreTrue(t *testing.T) {
	t.Parallel()
	walk(testRoot(), func(c *cobra.Command) {
		for line := range strings.SplitSeq(c.Example, "\n") {
			_, rest, found := strings.Cut(line, "pt ")
			if !found {
				continue
			}
			words := strings.Fields(strings.Split(rest, "<")[0])
			target, _, err := testRoot().Find(words)
			if err != nil {
				t.Errorf("%q: %v", line, err)
				continue
			}
			for _, w := range words {
				name, isFlag := strings.CutPrefix(w, "--")
				name, _, _ = strings.Cut(name, "=")
				if isFlag && target.Flags().Lookup(name) == nil && target.InheritedFlags().Lookup(name) == nil {
					t.Errorf("%q: %s has no flag %s", line, target.CommandPath(), w)
				}
			}
		}
	})
}
