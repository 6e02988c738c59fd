package cli

import (
	"strings"
	"testing"
)

func TestWhy_ExitCodeIsThatOfDecision(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"allowed":          {[]string{"update-task", "APOLLO-17"}, ExitDone, "may update the task APOLLO-17."},
		"allowed as JSON":  {[]string{"update-task", "APOLLO-17", "--json"}, ExitDone, `"allow":true`},
		"denied":           {[]string{"delete-task", "APOLLO-17"}, ExitForbidden, "may not delete the task APOLLO-17."},
		"denied as JSON":   {[]string{"delete-task", "APOLLO-17", "--json"}, ExitForbidden, `"allow":false`},
		"denied with --jq": {[]string{"delete-task", "APOLLO-17", "--jq", ".data.allow"}, ExitForbidden, "false\n"},
		"hidden":           {[]string{"get-task", "APOLLO-18"}, ExitForbidden, "sees no such record"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, routes())
			got := invoke(t, s, environment{}, append(append([]string{"why"}, tc.args...), "--as", "lin@acme.example")...)
			if got.code != tc.code || !strings.Contains(got.out, tc.want) || got.err != "" {
				t.Errorf("got %+v, want exit %d, the output %q and no error output", got, tc.code, tc.want)
			}
		})
	}
}

func TestWhy_OmitsRolesThatCallerMayNotRead(t *testing.T) {
	t.Parallel()
	all := routes()
	all["GET /api/users/"+lin+"/access"] = reply{status: 403, body: `{"error":{"code":"FORBIDDEN","message":"You may not read roles."}}`}
	got := invoke(t, serve(t, all), environment{}, "why", "update-task", "APOLLO-17", "--as", "lin@acme.example")
	if got.code != ExitDone || !strings.Contains(got.out, "- Permission: task.update") || strings.Contains(got.out, "Granted by") || got.err != "" {
		t.Errorf("got %+v, want exit %d and the permission without roles", got, ExitDone)
	}
}

func TestWhy_CompletesOperation(t *testing.T) {
	t.Parallel()
	got := invoke(t, serve(t, nil), environment{}, "__complete", "why", "update-ta")
	if !strings.HasPrefix(got.out, "update-task\t") {
		t.Errorf("got %q, want the suggestion update-task", got.out)
	}
	// For each of these operations, one of several permissions is enough.
	for _, name := range []string{"list-audit-entries", "cancel-decision"} {
		if got := invoke(t, serve(t, nil), environment{}, "__complete", "why", name); strings.Contains(got.out, name) {
			t.Errorf("got %q, want no suggestion %s", got.out, name)
		}
	}
}
