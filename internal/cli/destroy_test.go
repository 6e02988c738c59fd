package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// What can't be undone is asked about on a terminal, by a question that no name
// can forge, and refused where nobody can be asked.
func TestWhatDestroysAsks(t *testing.T) {
	t.Parallel()
	asked := map[string]bool{}
	for _, tc := range goldenCases() {
		i := slices.Index(tc.args, "--yes")
		if i < 0 {
			continue
		}
		args := slices.Delete(slices.Clone(tc.args), i, i+1)
		asked[args[0]] = true
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, routes())
			if got := invoke(t, s, tc.w, args...); got.code != ExitUsage || !strings.Contains(got.err, "--yes") || len(s.requests) > 0 {
				t.Errorf("without a terminal: %+v after %v", got, s.requests)
			}
			w := tc.w
			w.terminal, w.stdin = true, "n\n"
			got := invoke(t, s, w, args...)
			if slices.ContainsFunc(s.requests, func(r string) bool { return strings.HasPrefix(r, "DELETE") }) {
				t.Fatalf("done although the answer was no: %v", s.requests)
			}
			if got.code == ExitUsage {
				return // it names nothing that is there
			}
			if got.code != ExitCancelled || !strings.Contains(got.err, "? [y/N] ") || strings.ContainsAny(got.err, "\x1b\x07\u202e\u200b") {
				t.Errorf("with the answer no: %+v", got)
			}
		})
	}
	walk(testRoot(), func(c *cobra.Command) {
		if c.Flags().Lookup("yes") != nil && !asked[c.Name()] {
			t.Errorf("%s takes --yes and is not asked about here", c.CommandPath())
		}
	})
}
