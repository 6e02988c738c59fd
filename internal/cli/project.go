package cli

import (
	"context"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// keyPattern matches a task key; its group is the prefix of the project.
var keyPattern = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9]{1,9})-[0-9]+$`)

func newProjectCmds(inv *invocation) []*cobra.Command {
	var newStatuses, replacedStatuses, renamings []string
	return []*cobra.Command{
		newListCmd(inv, tracker.ListProjects, commandForm[tracker.ListProjectsIn]{
			example: `  pt list-projects
  pt list-projects --status ACTIVE --search apollo
  pt list-projects --all --json --fields id,prefix`,
			flags: []string{"search", "status", "initiativeId:initiative"},
		}, projectTable),
		newFindProjectCmd(inv),
		newRecordCmd(inv, tracker.CreateProject, commandForm[tracker.CreateProjectIn]{
			example: `  pt create-project --name "Lunar lander" --start 2027-01-04 --prefix LUNA
  pt create-project --name Billing --start 2027-01-04 --story-point-scale 1,2,3,5,8 --description - < billing.md`,
			flags: []string{
				"name", "startDate:start", "endDate:end", "prefix", "issuePrefix",
				"description", "classification", "organisationId:organisation", "ownerId:owner", "initiativeId:initiative", "storyPointScale",
			},
			setup: func(cmd *cobra.Command, _ *tracker.CreateProjectIn) { bindStatuses(cmd, &newStatuses) },
			prepareInput: func(in *tracker.CreateProjectIn) (err error) {
				in.CustomStatuses, err = parseStatuses(newStatuses)
				return err
			},
		}, showProject),
		newRecordCmd(inv, tracker.UpdateProject, commandForm[tracker.UpdateProjectIn]{
			long: `Update the fields that have a flag; other fields do not change. An empty value clears
an optional field.`,
			example: `  pt update-project LUNA --status COMPLETED
  pt update-project LUNA --end "" --name "Lunar lander 2"
  pt update-project LUNA --initiative "Moon 2030"
  pt update-project LUNA --rename-status "TODO=PLANNED"`,
			flags: []string{
				"name", "status", "description", "startDate:start", "endDate:end", "prefix",
				"issuePrefix", "classification", "organisationId:organisation", "ownerId:owner", "initiativeId:initiative", "storyPointScale",
			},
			setup: func(cmd *cobra.Command, _ *tracker.UpdateProjectIn) {
				bindStatuses(cmd, &replacedStatuses)
				cmd.Flags().StringArrayVar(&renamings, "rename-status", nil, "Rename a status, as `OLD=NEW`, also in the tasks that have it")
			},
			prepareInput: func(in *tracker.UpdateProjectIn) error {
				for _, text := range renamings {
					from, to, ok := strings.Cut(text, "=")
					if !ok {
						return usagef("--rename-status %q must have the form OLD=NEW", text)
					}
					in.RenameStatuses = append(in.RenameStatuses, tracker.StatusRename{From: strings.TrimSpace(from), To: strings.TrimSpace(to)})
				}
				statuses, err := parseStatuses(replacedStatuses)
				if statuses != nil {
					in.CustomStatuses = op.Some(statuses)
				}
				return err
			},
		}, showProject),
		newDeleteCmd(inv, tracker.DeleteProject, "project", commandForm[tracker.DeleteProjectIn]{
			long: `Delete a project permanently, with its tasks, issues, stages, comments and time
entries. The command asks for confirmation on a terminal; without a terminal it requires
--yes. You must name the project: PT_PROJECT and the current directory are not used.`,
			example: `  pt delete-project LUNA
  pt delete-project LUNA --yes`,
			question: "Delete the project %s and all its records permanently?",
			recordName: func(ctx context.Context, c *client.Client, in *tracker.DeleteProjectIn) (string, error) {
				p, err := callOperation(ctx, c, tracker.GetProject, &tracker.GetProjectIn{ProjectID: in.ProjectID})
				if err != nil {
					return "", err
				}
				return p.Name + " (" + p.Prefix + ")", nil
			},
		}),
	}
}

var projectTable = table[tracker.ProjectSummary]{
	emptyText: "No projects.", flex: 1,
	columns: []column[tracker.ProjectSummary]{
		{name: "Prefix", value: func(p *tracker.ProjectSummary) string { return p.Prefix }},
		{name: "Name", value: func(p *tracker.ProjectSummary) string { return p.Name }},
		{name: "Status", value: func(p *tracker.ProjectSummary) string { return p.Status }},
		{name: "Start", value: func(p *tracker.ProjectSummary) string { return string(p.StartDate) }},
		{name: "End", value: func(p *tracker.ProjectSummary) string { return string(p.EndDate) }},
		{name: "ID", value: func(p *tracker.ProjectSummary) string { return string(p.ID) }},
	},
}

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
		return inv.show(ctx, view{data: p, markdown: func(d *markdown.Doc) { showProject(d, p) }})
	})
}

// countChanges returns the number of fields that are set in the input of an update.
func countChanges(in any) int {
	v := reflect.ValueOf(in).Elem()
	n := 0
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Struct:
			if f.FieldByName("Set").Bool() {
				n++
			}
		case reflect.Slice:
			n += f.Len()
		}
	}
	return n
}

func bindStatuses(cmd *cobra.Command, statuses *[]string) {
	cmd.Flags().StringSliceVar(statuses, "custom-statuses", nil,
		"Statuses of the tasks in order, each as `NAME=CATEGORY`; categories: TODO, IN_PROGRESS, REVIEW, DONE, CANCELLED")
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

func showProject(d *markdown.Doc, p *tracker.Project) {
	d.Heading(1, p.Prefix+" "+p.Name)
	d.Field("ID", string(p.ID))
	d.Field("Status", p.Status)
	d.Field("Classification", p.Classification)
	d.Field("Start", string(p.StartDate))
	d.Field("End", string(p.EndDate))
	d.Field("Initiative", recordName(p.Initiative, p.InitiativeID))
	d.Field("Organisation", recordName(p.Organisation, p.OrganisationID))
	d.Field("Owner", personName(p.Owner, p.OwnerID))
	d.Field("Issue prefix", p.IssuePrefix)
	d.Field("Story-point scale", formatScale(p.StoryPointScale))
	d.Field("Created", formatTime(p.CreatedAt)+" by "+personName(p.CreatedByUser, p.CreatedBy))
	d.Field("Updated", formatTime(p.UpdatedAt))
	for _, r := range p.RepoPaths {
		d.Field("Repository", r.Path+" (binding "+string(r.ID)+")")
	}
	d.Quote(p.Description)
	showStatuses(d, p.CustomStatuses)
}

func showStatuses(d *markdown.Doc, statuses []tracker.Status) {
	if len(statuses) == 0 {
		return
	}
	var rows [][]string
	for _, s := range statuses {
		rows = append(rows, []string{s.Name, s.Category})
	}
	d.Heading(2, "Statuses")
	d.Table([]string{"Status", "Category"}, rows, 0)
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// formatScale formats a story-point scale. A project without a scale has the scale
// UNKNOWN, not a default one.
func formatScale(points []float64) string {
	if len(points) == 0 {
		return "UNKNOWN"
	}
	var texts []string
	for _, p := range points {
		texts = append(texts, formatNumber(p))
	}
	return strings.Join(texts, ", ")
}
