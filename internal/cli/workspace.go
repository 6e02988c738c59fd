package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
)

func newWorkspaceCmd(inv *invocation) *cobra.Command {
	return newRecordCmd(inv, tracker.GetWorkspace, commandForm[tracker.WorkspaceIn]{
		example: `  pt workspace
  pt workspace --json --jq '.data.projects[].inProgress[]?.key'`,
	}, showWorkspace)
}

func showWorkspace(d *markdown.Doc, w *tracker.Workspace) {
	d.Heading(1, firstNonEmpty(w.User.DisplayName, w.User.Email, string(w.User.ID)))
	d.Field("User", strings.TrimSpace(string(w.User.ID)+" "+w.User.Email))
	d.Field("Kind", w.User.PrincipalKind)
	d.Field("Tenant", string(w.User.TenantID))
	d.Field("Organisation", recordName(w.User.Organisation, w.User.OrganisationID))
	d.Heading(2, "Initiatives")
	initiativeTable.write(d, w.Initiatives)
	d.Heading(2, "Projects")
	projects := make([]tracker.ProjectSummary, 0, len(w.Projects))
	var tasks []tracker.TaskSummary
	for _, p := range w.Projects {
		projects = append(projects, p.ProjectSummary)
		tasks = append(tasks, p.InProgress...)
	}
	projectTable.write(d, projects)
	d.Heading(2, "In progress")
	taskTable.write(d, tasks)
	if len(w.Withheld) > 0 {
		d.Line("Omitted because you lack a permission: " + strings.Join(w.Withheld, ", ") + ".")
	}
	if len(w.Cut) > 0 {
		d.Line("Limited to " + strconv.Itoa(tracker.WorkspaceItems) + " items: " + strings.Join(w.Cut, ", ") + ".")
	}
}

func newOverviewCmd(inv *invocation) *cobra.Command {
	return newRecordCmd(inv, tracker.GetProjectOverview, commandForm[tracker.GetProjectIn]{
		long: `Show the stages, statuses, story-point scale and counts of a project. If you may not
read the whole project, you get its name, scale and stages.

Only users who may list projects can use the name or prefix of a project; others need
its ID.`,
		example: `  pt get-project-overview APOLLO
  pt get-project-overview APOLLO --json --jq .data.stats.tasks.byStatus`,
	}, showOverview)
}

func showOverview(d *markdown.Doc, o *tracker.ProjectOverview) {
	title := o.Name
	if o.Project != nil {
		title = o.Project.Prefix + " " + o.Name
	}
	d.Heading(1, title)
	d.Field("ID", string(o.ID))
	if p := o.Project; p != nil {
		d.Field("Status", p.Status)
		d.Field("Classification", p.Classification)
		d.Field("Start", string(p.StartDate))
		d.Field("End", string(p.EndDate))
		d.Field("Initiative", recordName(p.Initiative, p.InitiativeID))
	}
	d.Field("Story-point scale", formatScale(o.StoryPointScale))
	if o.Reduced {
		d.Field("Reduced", "yes: you may not read the whole project")
	}
	if o.Stats != nil {
		writeStats(d, o.Stats)
	}
	d.Quote(o.Description)
	d.Heading(2, "Stages")
	if o.StagesOmitted {
		d.Line("Omitted because you lack the permission stages.read.")
	} else {
		stageTable.write(d, o.Stages)
	}
	if o.Stats != nil && o.Stats.Tasks != nil {
		d.Heading(2, "Statuses")
		statusTable.write(d, o.Stats.Tasks.ByStatus)
		return
	}
	showStatuses(d, o.CustomStatuses)
}

func writeStats(d *markdown.Doc, s *tracker.ProjectStats) {
	if s.Tasks != nil {
		d.Field("Tasks", strconv.Itoa(s.Tasks.Total))
		var parts []string
		for _, c := range s.Tasks.ByCategory {
			parts = append(parts, strconv.Itoa(c.Count)+" "+c.Category)
		}
		d.Field("By category", strings.Join(parts, ", "))
		d.Field("Overdue", strconv.Itoa(s.Tasks.Overdue))
	}
	if s.Issues != nil {
		d.Field("Open issues", strconv.Itoa(s.Issues.Open))
	}
}

var statusTable = table[tracker.StatusCount]{
	emptyText: "No statuses.",
	columns: []column[tracker.StatusCount]{
		{name: "Status", value: func(s *tracker.StatusCount) string { return s.Status }},
		{name: "Category", value: func(s *tracker.StatusCount) string { return s.Category }},
		{name: "Tasks", value: func(s *tracker.StatusCount) string { return strconv.Itoa(s.Count) }},
	},
}
