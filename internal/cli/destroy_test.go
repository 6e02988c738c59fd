package cli

import (
	"slices"
	"strings"
	"testing"

	"parapet/internal/op"
)

// Without --yes, a destructive command asks for confirmation on a terminal and fails
// without a terminal. Control characters in names must not change the question.
func TestDestructiveCommands_AskForConfirmation(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{}
	root := testRoot()
	for _, tc := range goldenCases() {
		i := slices.Index(tc.args, "--yes")
		if i < 0 {
			continue
		}
		args := slices.Delete(slices.Clone(tc.args), i, i+1)
		cmd, _, err := root.Find(args)
		if err != nil {
			t.Fatal(err)
		}
		tested[cmd.CommandPath()] = true
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, routes())
			if got := invoke(t, s, tc.w, args...); got.code != ExitUsage || !strings.Contains(got.err, "--yes") || len(s.requests) > 0 {
				t.Errorf("without a terminal: got %+v with requests %v, want a usage error without requests", got, s.requests)
			}
			w := tc.w
			w.terminal, w.stdin = true, "n\n"
			got := invoke(t, s, w, args...)
			if slices.ContainsFunc(s.requests, func(r string) bool { return strings.HasPrefix(r, "DELETE") }) {
				t.Fatalf("answer \"n\" to the confirmation: got requests %v, want no DELETE", s.requests)
			}
			if slices.Contains([]int{ExitUsage, ExitNotFound, ExitConflict}, got.code) {
				return // the case names a record that does not exist
			}
			if got.code != ExitCancelled || !strings.Contains(got.err, "?") || !strings.Contains(got.err, " [y/N] ") || strings.ContainsAny(got.err, "\x1b\x07\u202e\u200b") {
				t.Errorf("answer no: got %+v, want exit code %d and a question", got, ExitCancelled)
			}
		})
	}
	for _, o := range operationForms() {
		for _, path := range o.paths {
			if o.Effect == op.Destroy && !tested["pt "+path] {
				t.Errorf("pt %s deletes and has no golden case with --yes", path)
			}
		}
	}
}
