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

	workerJSON  = `{"id":"` + worker + `","name":"Wor\u001b[2Jker | One","email":"worker@example.org"}`
	summaryJSON = `"id":"` + apollo + `","name":"Apollo \u202e| lander\u001b[31m","prefix":"APOLLO","status":"ACTIVE","classification":"INTERNAL","startDate":"2027-01-04","organisationId":"` + org + `","organisation":{"id":"` + org + `","name":"REDACTED"},"createdBy":"` + worker + `","createdByUser":` + workerJSON + `,"createdAt":"2026-11-01T08:00:00Z","updatedAt":"2026-11-02T09:30:00.123456Z"`
	projectJSON = `{` + summaryJSON + `,"description":"First line.\nSecond \u200bline.","issuePrefix":"ISS","customStatuses":[{"name":"TODO","category":"TODO"},{"name":"DONE","category":"DONE"}]}`
	taskSummary = `"id":"` + taskID + `","key":"APOLLO-17","projectId":"` + apollo + `","project":{"id":"` + apollo + `","key":"APOLLO","name":"Apollo"},"title":"Write the \u001b]0;plan\u0007","status":"IN_PROGRESS","statusCategory":"IN_PROGRESS","issueType":"TASK","priority":"HIGH","progress":40,"assignee":"` + worker + `","assigneeUser":` + workerJSON + `,"dueDate":"2027-03-31","labels":["a|b","flight"],"createdBy":"` + worker + `","createdByUser":` + workerJSON + `,"createdAt":"2026-11-01T08:00:00Z","updatedAt":"2026-11-02T09:30:00Z"`
	taskJSON    = `{` + taskSummary + `,"epicId":"018f3c5e-0000-7000-8000-000000000099","description":"# Not a heading\n\u009b31m and \ufeffmore","epic":{"id":"018f3c5e-0000-7000-8000-000000000099","key":"REDACTED","title":"REDACTED","isCrossProject":true}}`
	personJSON  = `{"id":"` + worker + `","email":"worker@example.org","displayName":"Worker","principalKind":"HUMAN","status":"ACTIVE","clearance":"SECRET"}`
	keyJSON     = `"id":"` + keyID + `","jti":"` + keyID + `","label":"ci","owner":"` + worker + `","tenantId":"` + acme + `","kind":"SERVICE","expiry":"2027-02-18T12:00:00Z","createdBy":"` + worker + `","createdAt":"2026-11-20T12:00:00Z"`
)

func meJSON(expires time.Time) string {
	return `{"user":` + personJSON + `,"tenantId":"` + acme + `","tenantSlug":"acme","tenantName":"Acme","tenantType":"STANDARD","organisationId":"` + org +
		`","roles":["Admin","Member"],"clearance":"SECRET","tokenKind":"api_key","tokenTenantId":"` + acme + `","tokenId":"` + keyID + `","expiresAt":"` + expires.Format(time.RFC3339) + `"}`
}

// routes returns the replies of the fake service that all golden tests share.
func routes() map[string]reply {
	all := map[string]reply{
		"GET /api/projects":                                        okReply(`{"items":[{` + summaryJSON + `}],"nextCursor":"bmV4dA"}`),
		"GET /api/projects?cursor=bmV4dA&limit=200":                okReply(`{"items":[{` + summaryJSON + `}]}`),
		"GET /api/projects?limit=50&search=nothing":                okReply(`{"items":[]}`),
		"GET /api/projects/find":                                   okReply(projectJSON),
		"GET /api/projects/find?hint=lunar":                        errorReply(409, "CONFLICT", "The hint fits more than one project.", `,"details":{"candidates":[{"id":"`+apollo+`","name":"Lunar \u001b[2J","prefix":"LUNA"},{"id":"`+taskID+`","name":"Lunar 2","prefix":"LUNB"}]}`),
		"GET /api/projects/find?hint=ghost":                        errorReply(404, "NOT_FOUND", "There is no such project.", ""),
		"POST /api/projects":                                       {status: 201, body: projectJSON},
		"PATCH /api/projects/" + apollo:                            okReply(projectJSON),
		"GET /api/projects/" + apollo:                              okReply(projectJSON),
		"DELETE /api/projects/" + apollo:                           {status: 204},
		"GET /api/projects/" + apollo + "/tasks":                   okReply(`{"items":[{` + taskSummary + `}]}`),
		"GET /api/projects/" + apollo + "/tasks?limit=50&status=X": okReply(`{"items":[]}`),
		"POST /api/projects/" + apollo + "/tasks":                  {status: 201, body: taskJSON},
		"GET /api/projects/" + apollo + "/tasks/APOLLO-17":         okReply(taskJSON),
		"PATCH /api/projects/" + apollo + "/tasks/APOLLO-17":       okReply(taskJSON),
		"PATCH /api/projects/" + apollo + "/tasks/APOLLO-18": errorReply(403, "FORBIDDEN", "The user has task.update, but not in the scope of this record.",
			`,"permission":"task.update","reasons":[{"code":"out_of_scope","message":"The user has task.update, but not in the scope of this record.","remedy":"Ask for a role in this project."}]`),
		"DELETE /api/projects/" + apollo + "/tasks/APOLLO-17": {status: 204},
		"GET /api/auth/organisations":                         okReply(`{"items":[{"organisationId":"` + org + `","name":"Acme\u0007 Works","tenantId":"` + acme + `","tenantSlug":"acme","tenantName":"Acme","default":true},{"tenantId":"` + taskID + `","name":"","tenantSlug":"globex","tenantName":"Globex","default":false}],"degraded":true}`),
		"GET /api/auth/permissions":                           okReply(`{"tenantId":"` + acme + `","permissions":[{"name":"task.update","description":"Change tasks.","tenant":false,"organisations":["` + acme + `"],"projects":["` + apollo + `"],"projectRecords":[{"id":"` + apollo + `","key":"APOLLO","name":"Apollo"}]},{"name":"tasks.read","description":"Read tasks.","tenant":true,"organisations":[],"projects":[]}]}`),
		"GET /api/auth/me":                                    okReply(meJSON(now.AddDate(0, 0, 10))),
		"POST /api/auth/password-reset":                       {status: 204},
		"POST /api/auth/password-reset-request":               {status: 202, body: "{}"},
		"POST /api/auth/login":                                okReply(`{"token":"` + token("pt-session+jwt", now.Add(12*time.Hour)) + `","expiresAt":"2026-11-21T00:00:00Z","tenantId":"` + acme + `","user":` + personJSON + `}`),
		"POST /api/auth/logout":                               {status: 204},
		"POST /api/auth/api-keys":                             {status: 201, body: `{"token":"the.new.token",` + keyJSON + `}`},
		"POST /api/auth/api-keys/service":                     {status: 201, body: `{"token":"the.new.token",` + keyJSON + `}`},
		"GET /api/auth/api-keys":                              okReply(`{"items":[{` + keyJSON + `,"revokedAt":"2026-11-20T12:00:00Z"}]}`),
		"DELETE /api/auth/api-keys/" + keyID:                  okReply(`{` + keyJSON + `,"revokedAt":"2026-11-20T12:00:00Z","revokedBy":"` + worker + `","revokeReason":"replaced"}`),
		"GET /healthz":                                        {status: 200, body: "ok \x1b[31m\n", header: map[string]string{"Content-Type": "text/plain"}},
	}
	for _, s := range goldenGroups() {
		for route, r := range s.routes {
			if _, duplicate := all[route]; duplicate {
				panic("duplicate reply for " + route)
			}
			all[route] = r
		}
	}
	for route, r := range derivedGoldens().routes {
		if _, has := all[route]; !has {
			all[route] = r
		}
	}
	return all
}

// goldenCase is a command line whose output is compared with golden files.
type goldenCase struct {
	name string
	args []string
	w    environment
}

// goldenGroup has the golden cases of one command family and the replies that they need.
type goldenGroup struct {
	routes map[string]reply
	cases  []goldenCase
}

func goldenGroups() []goldenGroup {
	return []goldenGroup{
		issueGoldens(), commentGoldens(), timeEntryGoldens(), stageGoldens(), initiativeGoldens(), workspaceGoldens(),
		decisionGoldens(), dependencyGoldens(), claimGoldens(), bindGoldens(), exportGoldens(), peopleGoldens(), taskGoldens(), otherGoldens(),
		dailyGoldens(), deliverableGoldens(), customFieldGoldens(), delegationGoldens(), auditGoldens(), runGoldens(), adminGoldens(), wikiGoldens(),
	}
}

func goldenCases() []goldenCase {
	cases := []goldenCase{
		{"list-projects", []string{"list-projects"}, environment{}},
		{"list-projects-all", []string{"list-projects", "--all", "--fields", "prefix,endDate"}, environment{}},
		{"list-projects-empty", []string{"list-projects", "--search", "nothing"}, environment{}},
		{"find-project", []string{"find-project", "APOLLO"}, environment{}},
		{"find-project-ambiguous", []string{"find-project", "lunar"}, environment{}},
		{"find-project-none", []string{"find-project", "ghost"}, environment{}},
		{"create-project", []string{"create-project", "--name", "Apollo", "--start", "2027-01-04", "--prefix", "APOLLO", "--custom-statuses", "OPEN=TODO,SHUT=done", "--story-point-scale", "1,2,3.5", "--description", "-"}, environment{stdin: "From the\ninput.\n"}},
		{"update-project", []string{"update-project", apollo, "--status", "completed", "--end", "", "--name", "New"}, environment{}},
		{"delete-project", []string{"delete-project", apollo, "--yes", "--idempotency-key", "k"}, environment{}},
		{"list-tasks", []string{"list-tasks", "APOLLO"}, environment{}},
		{"list-tasks-empty", []string{"list-tasks", apollo, "--status", "X"}, environment{}},
		{"get-task", []string{"get-task", "APOLLO", "APOLLO-17"}, environment{}},
		{"get-task-by-key", []string{"get-task", "APOLLO-17"}, environment{}},
		{"create-task", []string{"create-task", "--project", apollo, "--title", "Write", "--due", "2027-03-31", "--assignee", worker, "--labels", "a,b", "--labels", "c", "--estimate-points", "2.5"}, environment{}},
		{"update-task", []string{"update-task", apollo, "APOLLO-17", "--progress", "0", "--assignee", "", "--due", "", "--status", "IN_PROGRESS", "--labels", ""}, environment{}},
		{"update-task-forbidden", []string{"update-task", apollo, "APOLLO-18", "--progress", "50"}, environment{}},
		{"delete-task", []string{"delete-task", "APOLLO", "APOLLO-17", "--yes"}, environment{}},
		{"list-orgs", []string{"list-orgs"}, environment{env: map[string]string{"PT_ORG": org}}},
		{"permissions", []string{"permissions"}, environment{}},
		{"auth-status", []string{"auth", "status"}, environment{}},
		{"auth-login-email", []string{"auth", "login", "--email", "worker@example.org"}, environment{stdin: "correct horse\n", env: map[string]string{"PT_AUTH_TOKEN": ""}}},
		{"auth-login-token", []string{"auth", "login", "--with-token", "--profile", "ci"}, environment{stdin: token("pt-api-key+jwt", now.AddDate(0, 0, 10)) + "\n", env: map[string]string{"PT_AUTH_TOKEN": ""}}},
		{"auth-request-reset", []string{"auth", "request-reset", "--email", "worker@example.org"}, environment{}},
		{"auth-reset-password", []string{"auth", "reset-password"}, environment{stdin: "abc\ncorrect horse battery\n"}},
		{"auth-switch", []string{"auth", "switch"}, environment{}},
		{"auth-logout-none", []string{"auth", "logout"}, environment{}},
		{"issue-key", []string{"issue-key", "--label", "ci", "--expires-in-days", "7"}, environment{}},
		{"issue-service-key", []string{"issue-service-key", "--label", "ci", "--user", worker}, environment{}},
		{"list-keys", []string{"list-keys", "--service-user", worker}, environment{}},
		{"revoke-key", []string{"revoke-key", keyID, "--service-owned", "--reason", "replaced", "--yes"}, environment{}},
		{"api", []string{"api", "get", "/api/projects?limit=1"}, environment{}},
		{"api-text", []string{"api", "GET", "/healthz"}, environment{}},
		{"api-write", []string{"api", "POST", "/api/auth/api-keys", "--field", "label=x=y", "--field", "expiresInDays:=7"}, environment{}},
		{"version", []string{"version"}, environment{}},
		{"help-environment", []string{"help", "environment"}, environment{}},
		{"help-exit-codes", []string{"help", "exit-codes"}, environment{}},
		{"help-formatting", []string{"help", "formatting"}, environment{}},
		{"help-names", []string{"help", "names"}, environment{}},
	}
	for _, s := range goldenGroups() {
		cases = append(cases, s.cases...)
	}
	return append(cases, derivedGoldens().cases...)
}

// TestCommands_OutputMatchesGoldenFiles compares requests, exit code and output of each
// case, as Markdown and as JSON.
func TestCommands_OutputMatchesGoldenFiles(t *testing.T) {
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
					t.Errorf("control character at byte %d of the output %q", i, got.out+got.err)
				}
			})
		}
	}
}

func TestCommands_EachHasGoldenFile(t *testing.T) {
	t.Parallel()
	excluded := map[string]string{
		"pt": "its help", "pt auth": "its help", "pt completion": "completion_test.go", "pt mcp": "the tests of package mcp", "pt import": "import_test.go",
	}
	covered := map[string]bool{}
	root := testRoot()
	for _, tc := range goldenCases() {
		cmd, _, err := root.Find(tc.args)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		covered[cmd.CommandPath()] = true
	}
	walkCommands(root, func(c *cobra.Command) {
		if name := c.CommandPath(); !covered[name] && excluded[name] == "" && !c.IsAdditionalHelpTopicCommand() && !c.HasSubCommands() {
			t.Errorf("%s has no golden file", name)
		}
	})
}

// walkCommands calls visit for cmd and all its subcommands.
func walkCommands(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		walkCommands(c, visit)
	}
}

func testRoot() *cobra.Command {
	return newRootCmd(&invocation{store: config.NewStore("")}, "")
}

func TestSpecialCommands_NamesMatchBuiltCommands(t *testing.T) {
	t.Parallel()
	for _, c := range specialCommands() {
		if built := c.build(&invocation{}).Name(); built != lastWord(c.name) {
			t.Errorf("built command: got %s, want %s", built, c.name)
		}
	}
}

func TestCommands_EachHasHelpAndExample(t *testing.T) {
	t.Parallel()
	n := 0
	walkCommands(testRoot(), func(c *cobra.Command) {
		if c.IsAdditionalHelpTopicCommand() {
			if c.Long == "" {
				t.Errorf("help topic %s has no text", c.CommandPath())
			}
			return
		}
		n++
		// A list of commands shows the short help beside the name, in a terminal of 80 to 100 columns.
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || len(c.Short) > 60 {
			t.Errorf("%s: short help %q must have 1 to 60 characters and no period at its end", c.CommandPath(), c.Short)
		}
		if !strings.Contains(c.Example, "  pt ") {
			t.Errorf("%s has no example", c.CommandPath())
		}
		if c.Args == nil && c.RunE != nil {
			t.Errorf("%s does not validate its arguments", c.CommandPath())
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s has no help", c.CommandPath(), f.Name)
			}
		})
	})
	if n < 20 {
		t.Fatalf("got %d commands, want at least 20", n)
	}
}

func TestHelp_NamesFlagsInsteadOfJSONFields(t *testing.T) {
	t.Parallel()
	json := regexp.MustCompile(`\bnull\b|\b[a-z]+[A-Z][A-Za-z]*\b`)
	// Fields of JSON output, and a flag of another command.
	known := []string{"nextCursor", "isCrossProject", "estimatePoints"}
	walkCommands(testRoot(), func(c *cobra.Command) {
		check := func(what, text string) {
			for _, word := range json.FindAllString(text, -1) {
				if !slices.Contains(known, word) {
					t.Errorf("%s: %s contains the JSON term %s: %s", c.CommandPath(), what, word, text)
				}
			}
		}
		if !c.IsAdditionalHelpTopicCommand() {
			check("help", c.Long)
			c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { check("--"+f.Name, f.Usage) })
		}
	})
}

func TestExamples_NameExistingCommandsAndFlags(t *testing.T) {
	t.Parallel()
	root := testRoot()
	walkCommands(root, func(c *cobra.Command) {
		for line := range strings.SplitSeq(c.Example, "\n") {
			_, rest, found := strings.Cut(line, "pt ")
			if !found {
				continue
			}
			words := strings.Fields(strings.Split(rest, "<")[0])
			target, _, err := root.Find(words)
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
