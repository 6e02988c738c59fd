package cli

import (
	"slices"
	"strings"
	"testing"
)

// On a terminal, a command that gives access shows the change and asks. It does not ask with
// --yes, without a terminal, and if it gives no further access.
func TestAccessGivingCommands_ShowChangeAndAsk(t *testing.T) {
	t.Parallel()
	cases := []struct {
		args string
		// asks are parts of the question; none means that the command does not ask.
		asks []string
	}{
		{"grants assign Reviewer --user lin@acme.example --organisation Works", []string{`Assign the role Reviewer to lin@acme.example (Lin \x1b[2JChen) in the organisation Works? This adds no permission`}},
		{"grants assign Member --user bob@acme.example", []string{"Assign the role Member to bob@acme.example in the whole tenant? This adds 3 permissions. [y/N]"}},
		{"users activate lin@acme.example", []string{"  Status: SUSPENDED -> ACTIVE\n", "Activate lin@acme.example", "The user holds Member in the whole tenant, Reviewer"}},
		{"users activate bob@acme.example", nil},
		{"users suspend bob@acme.example", []string{"  Status: ACTIVE -> SUSPENDED\n", "Suspend bob@acme.example? The user's sessions end, and the user cannot log in or use keys"}},
		{"users deactivate lin@acme.example", nil},
		{"users update lin@acme.example --clearance SECRET --name Ada", []string{"  Name: Lin \\x1b[2JChen -> Ada\n  Clearance: INTERNAL -> SECRET\n", "Change lin@acme.example"}},
		{"users update bob@acme.example --clearance INTERNAL", []string{"  Clearance: none -> INTERNAL\n"}},
		{"users update lin@acme.example --clearance UNCLASSIFIED", nil},
		{"users update lin@acme.example --name Ada", nil},
		{"memberships update lin@acme.example --clearance SECRET", []string{"  Clearance: INTERNAL -> SECRET\n", "Change the membership of lin@acme.example"}},
		{"memberships update lin@acme.example --status REMOVED", []string{"  Status: ACTIVE -> REMOVED\n"}},
		{"memberships update lin@acme.example --organisation Acme", []string{"  Organisation: none -> Acme\n"}},
		{"memberships update lin@acme.example --status SUSPENDED", nil},
		{"roles grant Member gate.review", []string{"Add the permission gate.review to the role Member? lin@acme.example holds the role. [y/N]"}},
		{"roles grant Member tasks.read", nil},
		{"roles update Member --name Crew --description Flies", []string{"  Name: Member -> Crew\n  Description: ", " -> Flies\nChange the role Member? Tokens that contain the old name lose the role. lin@acme.example holds the role. [y/N]"}},
		{"roles update Member --description Flies", []string{" -> Flies\nChange the role Member? [y/N]"}},
		{"roles update Member --name Member", nil},
		{"tenants enable acme", []string{"Enable the tenant ", "work again"}},
		{"tenants disable acme", []string{"Disable the tenant ", "Nobody can act"}},
	}
	bob := `{"id":"` + worker + `","principalKind":"HUMAN","email":"bob@acme.example","displayName":"bob@acme.example","status":"ACTIVE","membershipStatus":"ACTIVE","roles":[` +
		`{"assignmentId":"` + grantID + `","roleId":"018f3c5e-0000-7000-8000-0000000000a5","role":"Reviewer","scope":"tenant","createdAt":"2026-11-01T08:00:00Z"}],"createdAt":"2026-11-01T08:00:00Z","updatedAt":"2026-11-01T08:00:00Z"}`
	for _, tc := range cases {
		t.Run(tc.args, func(t *testing.T) {
			t.Parallel()
			replies := routes()
			replies["GET /api/users/bob@acme.example"] = okReply(bob)
			for _, route := range []string{"PATCH /api/users/bob@acme.example", "POST /api/users/bob@acme.example/activate", "POST /api/users/bob@acme.example/suspend", "POST /api/users/lin@acme.example/suspend", "POST /api/roles/Reviewer/assignments", "PATCH /api/roles/Member"} {
				replies[route] = okReply(bob)
			}
			run := func(w environment, more ...string) (runResult, *service) {
				s := serve(t, replies)
				return invoke(t, s, w, append(strings.Fields(tc.args), more...)...), s
			}
			changes := func(s *service) int {
				return len(slices.DeleteFunc(slices.Clone(s.requests), func(r string) bool { return strings.HasPrefix(r, "GET ") }))
			}
			got, s := run(environment{terminal: true, stdin: "n\n"})
			if tc.asks == nil {
				if got.code != ExitDone || changes(s) != 1 || strings.Contains(got.err, "[y/N]") {
					t.Errorf("got exit %d, requests %v and %q, want the change without a question", got.code, s.requests, got.err)
				}
				return
			}
			for _, part := range tc.asks {
				if !strings.Contains(got.err, part) {
					t.Errorf("the question lacks %q:\n%s", part, got.err)
				}
			}
			if got.code != ExitCancelled || changes(s) != 0 {
				t.Errorf("answer no: got exit %d and requests %v, want exit %d and no change", got.code, s.requests, ExitCancelled)
			}
			if got, s := run(environment{terminal: true, stdin: "y\n"}); got.code != ExitDone || changes(s) != 1 {
				t.Errorf("answer yes: got exit %d, requests %v and %q, want one change", got.code, s.requests, got.err)
			}
			for name, w := range map[string]environment{"--yes": {terminal: true}, "no terminal": {}} {
				var more []string
				if w.terminal {
					more = []string{"--yes"}
				}
				if got, s := run(w, more...); got.code != ExitDone || len(s.requests) != 1 || strings.Contains(got.err, "[y/N]") {
					t.Errorf("%s: got exit %d, requests %v and %q, want only the change", name, got.code, s.requests, got.err)
				}
			}
		})
	}
}

// The question of a command that deletes or revokes names the record and whom the change
// affects.
func TestConfirmation_NamesRecordAndAffectedPeople(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"revoke-delegation " + delegationID:                                "End the delegation of " + worker + " to " + keyID + " in the project " + apollo + "? " + keyID + " can then no longer use 2 delegated permissions. [y/N]",
		"keys revoke CI --service-user multi-llm-review --reason replaced": "Revoke the key ci of " + worker + " permanently? Programs that use the key lose access. It was never used. [y/N]",
		"roles delete Member":                                              "Delete the role Member permanently? lin@acme.example holds the role. Revoke it first: the service deletes only a role that nobody holds. [y/N]",
		"grants revoke member --user lin@acme.example":                     `Revoke the role Member from lin@acme.example (Lin \x1b[2JChen) in the whole tenant? This removes 3 permissions. [y/N]`,
	} {
		got := invoke(t, serve(t, routes()), environment{terminal: true, stdin: "n\n"}, strings.Fields(args)...)
		if got.code != ExitCancelled || !strings.Contains(got.err, want) {
			t.Errorf("pt %s: got exit %d and %q, want %q", args, got.code, got.err, want)
		}
	}
}

// A caller who may make a change and not read the record still gets a question.
func TestConfirmation_WithoutReadPermissionNamesWhatWasTyped(t *testing.T) {
	t.Parallel()
	replies := routes()
	for _, route := range []string{"GET /api/users/lin@acme.example", "GET /api/roles/Member", "GET /api/roles?limit=200"} {
		replies[route] = errorReply(403, "FORBIDDEN", "The permission user.read is missing.", `,"permission":"user.read"`)
	}
	for args, want := range map[string]string{
		"grants assign Member --user lin@acme.example": "Assign the role Member to lin@acme.example in the whole tenant? [y/N]",
		"users activate lin@acme.example":              "Activate lin@acme.example? The user can log in again",
		"roles grant Member gate.review":               "Add the permission gate.review to the role Member? [y/N]",
	} {
		s := serve(t, replies)
		got := invoke(t, s, environment{terminal: true, stdin: "n\n"}, strings.Fields(args)...)
		if got.code != ExitCancelled || !strings.Contains(got.err, want) {
			t.Errorf("pt %s: got exit %d and %q, want %q", args, got.code, got.err, want)
		}
	}
}

func TestDescribeHolders_StatesNumberAndNames(t *testing.T) {
	t.Parallel()
	for want, names := range map[string]string{
		"Nobody holds the role.":                             "",
		"ada holds the role.":                                "ada",
		"2 users hold the role: ada and bob.":                "ada bob",
		"3 users hold the role: ada, bob and eve.":           "ada bob eve",
		"4 users hold the role: ada, bob, eve and 1 other.":  "ada bob eve lin",
		"5 users hold the role: ada, bob, eve and 2 others.": "ada bob eve lin zoe",
	} {
		if got := describeHolders(strings.Fields(names)); got != want {
			t.Errorf("%q: got %q, want %q", names, got, want)
		}
	}
}
