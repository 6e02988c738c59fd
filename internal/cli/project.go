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

// projectHelp ends the help of every command that takes a project.
const projectHelp = `A project is named by its id, its task-key prefix, its name or a part of its
name that fits no other. PT_PROJECT names the one that is meant where none is given.`

// resolve gives the id of the project that a hint means. An id costs no request.
func resolve(ctx context.Context, c *client.Client, hint string) (op.UUID, error) {
	if id, err := op.ParseUUID(hint); err == nil {
		return id, nil
	}
	p, err := do(ctx, c, tracker.FindProject, &tracker.FindProjectIn{Hint: hint})
	if err != nil {
		return "", err
	}
	return p.ID, nil
}

// projectArgs takes the project off the arguments of a command that takes want
// more: where it is not there PT_PROJECT is meant, or the prefix of a task's key.
func projectArgs(args []string, want int, s settings) (string, []string, error) {
	if len(args) == want+1 {
		return args[0], args[1:], nil
	}
	if s.project != "" {
		return s.project, args, nil
	}
	if want == 1 {
		if m := keyPattern.FindStringSubmatch(args[0]); m != nil {
			return m[1], args, nil
		}
	}
	return "", nil, usagef("name a project, or set PT_PROJECT")
}

var keyPattern = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9]{1,9})-[0-9]+$`)

type listProjectsOptions struct {
	inv *invocation
	in  tracker.ListProjectsIn
	listFlags
}

func newListProjectsCmd(inv *invocation) *cobra.Command {
	o := &listProjectsOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "list-projects",
		Short: "List the projects of the organisation",
		Example: `  pt list-projects
  pt list-projects --status ACTIVE --search apollo
  pt list-projects --all --json --fields id,prefix`,
		Args: cobra.NoArgs,
	}
	bind(cmd, tracker.ListProjects.Operation, &o.in, "search", "status", "limit", "cursor")
	o.bind(cmd)
	return inv.runs(cmd, reflect.TypeFor[tracker.ProjectSummary](), o.run)
}

func (o *listProjectsOptions) run(ctx context.Context, _ []string) error {
	c, _, err := o.inv.connect()
	if err != nil {
		return err
	}
	page, err := list(ctx, o.inv, c, tracker.ListProjects, &o.in, o.listFlags, &o.in.Limit, &o.in.Cursor)
	if err != nil {
		return err
	}
	return o.inv.show(ctx, view{data: page.Items, next: page.NextCursor, markdown: func(d *markdown.Doc) {
		if len(page.Items) == 0 {
			d.Line("No projects.")
			return
		}
		var rows [][]string
		for _, p := range page.Items {
			rows = append(rows, []string{p.Prefix, p.Name, p.Status, string(p.StartDate), string(p.EndDate), string(p.ID)})
		}
		d.Table([]string{"Prefix", "Name", "Status", "Start", "End", "ID"}, rows, 1)
	}})
}

func newFindProjectCmd(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "find-project <hint>",
		Short: "Find the one project that a hint means",
		Long: `Finds the one project that a hint means: its id, its task-key prefix, its name,
or a part of its name. A hint that fits more than one is an error that lists them.`,
		Example: `  pt find-project APOLLO
  pt find-project "lunar lander" --json --jq .data.id`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: inv.completeProject,
	}
	return inv.runs(cmd, reflect.TypeFor[tracker.Project](), func(ctx context.Context, args []string) error {
		c, _, err := inv.connect()
		if err != nil {
			return err
		}
		p, err := do(ctx, c, tracker.FindProject, &tracker.FindProjectIn{Hint: args[0]})
		if err != nil {
			return err
		}
		return inv.showProject(ctx, p)
	})
}

type createProjectOptions struct {
	inv      *invocation
	in       tracker.CreateProjectIn
	statuses []string
	writeFlags
}

func newCreateProjectCmd(inv *invocation) *cobra.Command {
	o := &createProjectOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "create-project",
		Short: "Create a project",
		Example: `  pt create-project --name "Lunar lander" --start 2027-01-04 --prefix LUNA
  pt create-project --name Billing --start 2027-01-04 --story-point-scale 1,2,3,5,8 --description - < billing.md`,
		Args: cobra.NoArgs,
	}
	bind(cmd, tracker.CreateProject.Operation, &o.in, "name", "startDate:start", "endDate:end", "prefix", "issuePrefix",
		"description", "classification", "organisationId:organisation", "ownerId:owner", "storyPointScale")
	bindStatuses(cmd, &o.statuses)
	o.bind(cmd)
	return inv.runs(cmd, reflect.TypeFor[tracker.Project](), o.run)
}

func (o *createProjectOptions) run(ctx context.Context, _ []string) error {
	var err error
	if o.in.Description, err = o.inv.stdinFor(o.in.Description); err != nil {
		return err
	}
	if o.in.CustomStatuses, err = parseStatuses(o.statuses); err != nil {
		return err
	}
	c, _, err := o.inv.connect()
	if err != nil {
		return err
	}
	p, err := do(ctx, c, tracker.CreateProject, &o.in, o.options()...)
	if err != nil {
		return err
	}
	return o.inv.showProject(ctx, p)
}

type updateProjectOptions struct {
	inv      *invocation
	in       tracker.UpdateProjectIn
	statuses []string
	writeFlags
}

func newUpdateProjectCmd(inv *invocation) *cobra.Command {
	o := &updateProjectOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "update-project <project>",
		Short: "Change a project",
		Long: `Changes what the flags name and leaves the rest. An empty value clears a field
that can be empty.

` + projectHelp,
		Example: `  pt update-project LUNA --status COMPLETED
  pt update-project LUNA --end "" --name "Lunar lander 2"`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: inv.completeProject,
	}
	bind(cmd, tracker.UpdateProject.Operation, &o.in, "name", "status", "description", "startDate:start", "endDate:end", "prefix",
		"issuePrefix", "classification", "organisationId:organisation", "ownerId:owner", "storyPointScale")
	bindStatuses(cmd, &o.statuses)
	o.bind(cmd)
	return inv.runs(cmd, reflect.TypeFor[tracker.Project](), o.run)
}

func (o *updateProjectOptions) run(ctx context.Context, args []string) error {
	if err := o.inv.fillOpt(&o.in.Description); err != nil {
		return err
	}
	statuses, err := parseStatuses(o.statuses)
	if err != nil {
		return err
	}
	if statuses != nil {
		o.in.CustomStatuses = op.Some(statuses)
	}
	if changes(&o.in) == 0 {
		return usagef("nothing to change: name a flag such as --status")
	}
	c, s, err := o.inv.connect()
	if err != nil {
		return err
	}
	hint, _, err := projectArgs(args, 0, s)
	if err != nil {
		return err
	}
	if o.in.ProjectID, err = resolve(ctx, c, hint); err != nil {
		return err
	}
	p, err := do(ctx, c, tracker.UpdateProject, &o.in, o.options()...)
	if err != nil {
		return err
	}
	return o.inv.showProject(ctx, p)
}

// changes counts the fields of an update that are set.
func changes(in any) int {
	v := reflect.ValueOf(in).Elem()
	n := 0
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Struct && f.FieldByName("Set").Bool() {
			n++
		}
	}
	return n
}

// fillOpt reads a text from the input where the flag was "-".
func (inv *invocation) fillOpt(o *op.Opt[string]) error {
	text, err := inv.stdinFor(o.Value)
	o.Value = text
	return err
}

func bindStatuses(cmd *cobra.Command, statuses *[]string) {
	cmd.Flags().StringSliceVar(statuses, "custom-statuses", nil,
		"The statuses of its tasks in their order, each as `NAME=CATEGORY`; categories: TODO, IN_PROGRESS, REVIEW, DONE, CANCELLED")
}

// parseStatuses reads NAME=CATEGORY.
func parseStatuses(texts []string) ([]tracker.Status, error) {
	var statuses []tracker.Status
	for _, text := range texts {
		name, category, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usagef("the status %q is not NAME=CATEGORY", text)
		}
		statuses = append(statuses, tracker.Status{Name: strings.TrimSpace(name), Category: strings.ToUpper(strings.TrimSpace(category))})
	}
	return statuses, nil
}

type deleteProjectOptions struct {
	inv *invocation
	yes bool
	writeFlags
}

// deletedProject is what is told of a project that is gone.
type deletedProject struct {
	ID      op.UUID `json:"id"`
	Deleted bool    `json:"deleted"`
}

func newDeleteProjectCmd(inv *invocation) *cobra.Command {
	o := &deleteProjectOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "delete-project <project>",
		Short: "Delete a project for good",
		Long: `Deletes a project for good, with its tasks, issues, stages, comments and time
entries. It asks on a terminal; without one it needs --yes. The project must be
named: PT_PROJECT does not count here.`,
		Example: `  pt delete-project LUNA
  pt delete-project LUNA --yes`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: inv.completeProject,
	}
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	o.bind(cmd)
	return inv.runs(cmd, reflect.TypeFor[deletedProject](), o.run)
}

func (o *deleteProjectOptions) run(ctx context.Context, args []string) error {
	if err := o.inv.mayDestroy(o.yes); err != nil {
		return err
	}
	c, _, err := o.inv.connect()
	if err != nil {
		return err
	}
	id, err := op.ParseUUID(args[0])
	name := args[0]
	if err != nil || !o.yes {
		p, ferr := do(ctx, c, tracker.FindProject, &tracker.FindProjectIn{Hint: args[0]})
		if ferr != nil {
			return ferr
		}
		id, name = p.ID, p.Name+" ("+p.Prefix+")"
	}
	if !o.yes {
		if err := o.inv.confirm(ctx, "Delete the project %s with all that is in it, for good?", name); err != nil {
			return err
		}
	}
	if _, err := do(ctx, c, tracker.DeleteProject, &tracker.DeleteProjectIn{ProjectID: id}, o.options()...); err != nil {
		return err
	}
	return o.inv.show(ctx, view{data: deletedProject{id, true}, markdown: func(d *markdown.Doc) {
		d.Line("Deleted the project " + name + ".")
	}})
}

// showProject shows a project in full.
func (inv *invocation) showProject(ctx context.Context, p *tracker.Project) error {
	return inv.show(ctx, view{data: p, markdown: func(d *markdown.Doc) {
		d.Heading(1, p.Prefix+" "+p.Name)
		d.Field("ID", string(p.ID))
		d.Field("Status", p.Status)
		d.Field("Classification", p.Classification)
		d.Field("Start", string(p.StartDate))
		d.Field("End", string(p.EndDate))
		d.Field("Initiative", string(p.InitiativeID))
		d.Field("Organisation", string(p.OrganisationID))
		d.Field("Owner", string(p.OwnerID))
		d.Field("Issue prefix", p.IssuePrefix)
		d.Field("Story-point scale", scale(p.StoryPointScale))
		d.Field("Created", moment(p.CreatedAt)+" by "+string(p.CreatedBy))
		d.Field("Updated", moment(p.UpdatedAt))
		d.Quote(p.Description)
		if len(p.CustomStatuses) == 0 {
			return
		}
		var rows [][]string
		for _, s := range p.CustomStatuses {
			rows = append(rows, []string{s.Name, s.Category})
		}
		d.Heading(2, "Statuses")
		d.Table([]string{"Status", "Category"}, rows, 0)
	}})
}

// scale shows a story-point scale; no scale is UNKNOWN, never a default.
func scale(points []float64) string {
	if len(points) == 0 {
		return "UNKNOWN"
	}
	var texts []string
	for _, p := range points {
		texts = append(texts, strconv.FormatFloat(p, 'g', -1, 64))
	}
	return strings.Join(texts, ", ")
}
