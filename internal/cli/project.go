package cli

import (
	"context"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
)

func newFindProjectCmd(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "find-project <hint>",
		Short: "Find a project by name, prefix, ID or repository",
		Long: `Find a project by its ID, its task-key prefix, its name, a part of its name, or the
path of a repository that is bound to it. If the hint matches several projects, the
error lists them.`,
		Example: `  pt find-project APOLLO
  pt find-project .
  pt find-project "lunar lander" --json --jq .data.id`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: inv.completeProject,
	}
	return inv.setRun(cmd, reflect.TypeFor[tracker.Project](), func(ctx context.Context, args []string) error {
		c, _, err := inv.connect()
		if err != nil {
			return err
		}
		p, err := inv.findProject(ctx, c, args[0])
		if err != nil {
			return err
		}
		return inv.show(ctx, view{data: p, markdown: func(d *markdown.Doc) { writeOne(d, 1, p) }})
	})
}

// parseStatuses parses statuses of the form NAME=CATEGORY.
func parseStatuses(texts []string) ([]tracker.Status, error) {
	var statuses []tracker.Status
	for _, text := range texts {
		name, category, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usagef("status %q must have the form NAME=CATEGORY", text)
		}
		statuses = append(statuses, tracker.Status{Name: strings.TrimSpace(name), Category: strings.ToUpper(strings.TrimSpace(category))})
	}
	return statuses, nil
}
