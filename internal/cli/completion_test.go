package cli

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"parapet/internal/contract/tracker"
)

// TestCompletion_SuggestsRecordsWithOneRequest calls Cobra's protocol as the shells do.
func TestCompletion_SuggestsRecordsWithOneRequest(t *testing.T) {
	t.Parallel()
	const (
		done   = `{"key":"APOLLO-9","title":"Done","statusCategory":"DONE"}`
		open   = `{"key":"APOLLO-8","title":"Open \u001b[31mred\ttab","statusCategory":"TODO"}`
		danger = `{"items":[{"name":"--yes"},{"name":"Tab\tname"},{"name":"Esc\u001b[2J"},{"name":"_activeHelp_ x"},{"name":""},{"name":"It's $(id)","status":"ACTIVE"}]}`
	)
	routes := map[string]reply{
		"GET /api/projects":                                             okReply(`{"items":[{"prefix":"APOLLO","name":"Apollo"}]}`),
		"GET /api/projects/find?hint=APOLLO":                            okReply(`{"customStatuses":[{"name":"TODO"},{"name":"Done"}]}`),
		"GET /api/projects/" + apollo + "/tasks?limit=200&sort=updated": okReply(`{"items":[` + done + `,` + open + `]}`),
		"GET /api/tasks?limit=200&open=true&sort=updated":               okReply(`{"items":[` + open + `]}`),
		"GET /api/people?limit=200":                                     okReply(`{"items":[{"email":"lin@acme.example","emailVerified":true,"displayName":"Lin"}]}`),
		"GET /api/people?limit=200&search=lin%40":                       okReply(`{"items":[{"email":"lin@acme.example","emailVerified":true,"displayName":"Lin"},{"email":"x@acme.example","emailVerified":true,"displayName":"Lin@"}]}`),
		"GET /api/users?limit=200":                                      okReply(`{"items":[{"email":"old@acme.example","emailVerified":true,"displayName":"Old"},{"id":"018f3c5e-0000-7000-8000-0000000000a4","email":"taken@acme.example","displayName":"Taken"}]}`),
		"GET /api/users?limit=200&principalKind=SERVICE":                okReply(`{"items":[{"email":"ci@acme.invalid","integrationKey":"ci","displayName":"CI"}]}`),
		"GET /api/issues?limit=200":                                     okReply(`{"items":[{"key":"ISS-2","title":"Fixed","status":"RESOLVED"},{"key":"ISS-1","title":"Leak","status":"OPEN"}]}`),
		"GET /api/initiatives?limit=200":                                okReply(danger),
		"GET /api/roles?limit=200":                                      okReply(`{"items":[{"name":"Project Manager","description":"Plans."}]}`),
		"GET /api/permissions":                                          okReply(`{"items":[{"name":"task.update"},{"name":"task.create"},{"name":"user.read"}]}`),
		"GET /api/organisations?limit=200":                              okReply(`{"items":[{"name":"Acme","type":"CUSTOMER"}]}`),
		"GET /api/tenants?limit=200":                                    okReply(`{"items":[{"slug":"acme","name":"Acme"}]}`),
		"GET /api/auth/organisations":                                   okReply(`{"items":[{"organisationId":"` + org + `","name":"Works","tenantName":"Acme"}]}`),
		"GET /api/projects/" + apollo + "/stages":                       okReply(`{"stages":[{"name":"Design","position":1,"gate":{"name":"Review"}}]}`),
		"GET /api/projects/" + apollo + "/deliverables?limit=200":       okReply(`{"items":[{"title":"Plan","status":"DRAFT"}]}`),
		"GET /api/projects/" + apollo + "/custom-fields?limit=200":      okReply(`{"items":[{"name":"Crew"}]}`),
	}
	project := environment{env: map[string]string{"PT_PROJECT": "APOLLO"}}
	const tasks = "APOLLO-8\tOpen \\x1b[31mred\\ttab\nAPOLLO-9\tDone\n"
	for _, tc := range []struct {
		name string
		w    environment
		args []string
		want string
	}{
		{"task of named project, open first", environment{}, []string{"get-task", "APOLLO", ""}, tasks},
		{"task of default project", project, []string{"get-task", ""}, tasks},
		{"task of typed key", environment{}, []string{"update-task", "apollo-9"}, "APOLLO-9\tDone\n"},
		{"task without a project", environment{}, []string{"get-task", ""}, "APOLLO-8\tOpen \\x1b[31mred\\ttab\n"},
		{"other task of the first task's project", environment{}, []string{"add-dependency", "APOLLO-8", ""}, tasks},
		{"task flag with project flag", environment{}, []string{"create-task", "--project", "APOLLO", "--epic", ""}, tasks},
		{"project argument", environment{}, []string{"list-tasks", ""}, "APOLLO\tApollo\n"},
		{"project flag", environment{}, []string{"create-task", "--project="}, "APOLLO\tApollo\n"},
		{"project of a special command", environment{}, []string{"find-project", "ap"}, "APOLLO\tApollo\n"},
		{"project of export", environment{}, []string{"export", ""}, "APOLLO\tApollo\n"},
		{"status of the key's project", environment{}, []string{"update-task", "APOLLO-8", "--status", "d"}, "Done\n"},
		{"status without a project", environment{}, []string{"list-tasks", "--status", ""}, ""},
		{"enum in lower case", environment{}, []string{"list-tasks", "--priority", "u"}, "URGENT\n"},
		{"person", environment{}, []string{"list-tasks", "--assignee", ""}, "me\tyou\nlin@acme.example\tLin\n"},
		{"person by part", environment{}, []string{"list-tasks", "--assignee", "lin@"}, "lin@acme.example\tLin\n"},
		{"user of an administration command", environment{}, []string{"users", "activate", ""}, "old@acme.example\tOld\n018f3c5e-0000-7000-8000-0000000000a4\tTaken\n"},
		{"service principal", environment{}, []string{"issue-service-key", "--user", ""}, "ci\tCI\n"},
		{"user of a flag that is no field", environment{}, []string{"grants", "revoke", "Member", "--user", ""}, "old@acme.example\tOld\n018f3c5e-0000-7000-8000-0000000000a4\tTaken\n"},
		{"issue", environment{}, []string{"get-issue", ""}, "ISS-1\tLeak\nISS-2\tFixed\n"},
		{"initiative with unsafe names", environment{}, []string{"create-task", "--initiative", ""}, "It's $(id)\tACTIVE\n"},
		{"initiative by the argument hint", environment{}, []string{"update-initiative", "it"}, "It's $(id)\tACTIVE\n"},
		{"role", environment{}, []string{"grants", "list", "--role", "pro"}, "Project Manager\tPlans.\n"},
		{"permission argument", environment{}, []string{"roles", "grant", "Admin", "u"}, "user.read\n"},
		{"permission in a list", environment{}, []string{"create-delegation", "--permissions", "task.create,task"}, "task.create,task.update\n"},
		{"organisation", environment{}, []string{"orgs", "get", ""}, "Acme\tCUSTOMER\n"},
		{"tenant", environment{}, []string{"tenants", "get", ""}, "acme\tAcme\n"},
		{"scope", environment{}, []string{"grants", "assign", "Admin", "--scope", "project", "--scope-id", ""}, "APOLLO\tApollo\n"},
		{"stage", environment{}, []string{"update-stage", "APOLLO", ""}, "Design\n"},
		{"stage of the default project", project, []string{"update-stage", ""}, "Design\n"},
		{"gate", environment{}, []string{"update-gate", "APOLLO", ""}, "Review\n"},
		{"deliverable", environment{}, []string{"get-deliverable", "APOLLO", ""}, "Plan\tDRAFT\n"},
		{"custom field", environment{}, []string{"update-custom-field", "APOLLO", ""}, "Crew\n"},
		{"fields of the output", environment{}, []string{"list-tasks", "--fields", "id,tit"}, "id,title\n"},
		{"organisation to act in", environment{}, []string{"list-tasks", "--org", ""}, org + "\tWorks (Acme)\n"},
		{"no further argument", environment{}, []string{"list-tasks", "APOLLO", ""}, ""},
		{"free text", environment{}, []string{"create-task", "--title", ""}, ""},
		{"not logged in", environment{env: map[string]string{"PT_AUTH_TOKEN": ""}}, []string{"get-task", ""}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, routes)
			got := invoke(t, s, tc.w, append([]string{"__complete"}, tc.args...)...)
			// The last line is the directive.
			end := strings.LastIndex("\n"+got.out, "\n:")
			if end < 0 || got.out[:end] != tc.want {
				t.Errorf("suggestions: got %q, want %q (requests %v)", got.out, tc.want, s.requests)
			}
			if len(s.requests) > 1 {
				t.Errorf("requests: got %v, want at most one", s.requests)
			}
		})
	}
}

// TestCompletion_BashReplacesOnlyThePartAfterItsWordBreak runs the script in Bash with a pt
// that prints fixed suggestions. A probe prints what follows the kept part of the word.
func TestCompletion_BashReplacesOnlyThePartAfterItsWordBreak(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	const script = `. completion/pt.bash
pt() { printf "$suggestions\n:4\n"; }
probe() {
  COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _pt
  printf '%s|' "${COMPREPLY[@]}"
}
`
	for _, tc := range []struct{ name, suggestions, probe, want string }{
		{"address", `lin@acme.example\tLin`, `'pt get lin@ac' pt get lin @ac`, "@acme.example|"},
		{"address in another case", `lin@acme.example\tLin`, `'pt get LIN@' pt get LIN @`, "@acme.example|"},
		{"address of a flag", `lin@acme.example`, `'pt get --assignee=lin@ac' pt get --assignee = lin @ac`, "@acme.example|"},
		{"value of a flag", `in_progress`, `'pt get --status=IN' pt get --status = IN`, "in_progress|"},
		{"quoted address", `lin@acme.example`, `'pt get "lin@ac' pt get '"lin@ac'`, "lin@acme.example|"},
		{"escaped colon", `a:b`, `'pt get a\:' pt get 'a\:'`, "a:b|"},
		{"unescaped colon", `a:b`, `'pt get a:' pt get a :`, "b|"},
		{"no word breaks", `lin@acme.example`, `'pt get --assignee=lin@ac' pt get --assignee=lin@ac`, "--assignee=lin@acme.example|"},
		{"equal values", `Plan\tDRAFT\nPlan\tDONE`, `'pt get ' pt get ''`, "Plan|"},
		{"equal values and another", `Plan\tDRAFT\nPlans\tDONE\nPlan\tDONE`, `'pt get ' pt get ''`, "Plan  (DRAFT)|Plans  (DONE)|"},
	} {
		breaks := `COMP_WORDBREAKS=$' \t\n"\'@><=;|&(:'` + "\n"
		if tc.name == "no word breaks" {
			breaks = "COMP_WORDBREAKS=' '\n"
		}
		cmd := exec.CommandContext(t.Context(), bash, "--noprofile", "--norc", "-c", script+breaks+"suggestions='"+tc.suggestions+"'\nprobe "+tc.probe)
		if got, err := cmd.CombinedOutput(); err != nil || string(got) != tc.want {
			t.Errorf("%s: got %q and %v, want %q", tc.name, got, err, tc.want)
		}
	}
}

// TestCompletion_CoversNamesAndAllowedValues fails if a field that identifies a record by
// its name, or has a fixed set of values, has no suggestions.
func TestCompletion_CoversNamesAndAllowedValues(t *testing.T) {
	t.Parallel()
	for _, o := range operations() {
		for _, f := range o.Fields {
			if f.Value().Kind().String() == "bool" || (f.Enum == nil && (f.Kind == "" || f.Kind.Names() == "")) {
				continue
			}
			if sourceOf(o, f) == nil {
				t.Errorf("%s: the field %s has no completion", o.Name, f.Name)
			}
		}
	}
	if create := tracker.CreateTask.Operation; sourceOf(create, fieldNamed(create, "title")) != nil {
		t.Error("free text has suggestions, want none")
	}
}

// FuzzSuggestionLine checks that a record cannot add a line or a value to the protocol.
func FuzzSuggestionLine(f *testing.F) {
	f.Add("Moon 2030", "an\ninitiative")
	f.Add("--yes", ":4")
	f.Add("a\tb", "\u202e")
	f.Fuzz(func(t *testing.T, value, about string) {
		line := suggestion{value, about}.line("")
		if !isSafeValue(value) {
			return
		}
		got, rest, _ := strings.Cut(line, "\t")
		if got != value || strings.ContainsFunc(rest, unicode.IsControl) || strings.ContainsFunc(got, unicode.IsControl) || strings.HasPrefix(line, "-") {
			t.Fatalf("line: got %q for %q and %q, want the value and one explanation without control characters", line, value, about)
		}
	})
}
