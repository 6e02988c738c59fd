package cli

import (
	"strconv"
	"strings"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
)

// writeWorkspace writes the page of pt workspace.
func writeWorkspace(d *markdown.Doc, level int, w *tracker.Workspace) {
	d.Heading(level, firstNonEmpty(w.User.DisplayName, w.User.Email, string(w.User.ID)))
	d.Field("User", strings.TrimSpace(string(w.User.ID)+" "+w.User.Email))
	d.Field("Kind", w.User.PrincipalKind)
	d.Field("Tenant", string(w.User.TenantID))
	d.Field("Organisation", recordName(w.User.Organisation, w.User.OrganisationID))
	d.Heading(level+1, "Initiatives")
	writeItems(d, w.Initiatives, "initiatives")
	d.Heading(level+1, "Projects")
	projects := make([]tracker.ProjectSummary, 0, len(w.Projects))
	var tasks []tracker.TaskSummary
	for _, p := range w.Projects {
		projects = append(projects, p.ProjectSummary)
		tasks = append(tasks, p.InProgress...)
	}
	writeItems(d, projects, "projects")
	d.Heading(level+1, "In progress")
	writeItems(d, tasks, "tasks")
	if len(w.Withheld) > 0 {
		d.Line("Omitted because you lack a permission: " + strings.Join(w.Withheld, ", ") + ".")
	}
	if len(w.Cut) > 0 {
		d.Line("Limited to " + strconv.Itoa(tracker.WorkspaceItems) + " items: " + strings.Join(w.Cut, ", ") + ".")
	}
}

// writeOverview writes the page of pt get-project-overview.
func writeOverview(d *markdown.Doc, level int, o *tracker.ProjectOverview) {
	title := o.Name
	if o.Project != nil {
		title = o.Project.Prefix + " " + o.Name
	}
	d.Heading(level, title)
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
	d.Prose(o.Description)
	d.Heading(level+1, "Stages")
	if o.StagesOmitted {
		d.Line("Omitted because you lack the permission stages.read.")
	} else {
		writeItems(d, o.Stages, "stages")
	}
	if o.Stats != nil && o.Stats.Tasks != nil {
		d.Heading(level+1, "Statuses")
		writeItems(d, o.Stats.Tasks.ByStatus, "statuses")
		return
	}
	if len(o.CustomStatuses) > 0 {
		d.Heading(level+1, "Statuses")
		writeItems(d, o.CustomStatuses, "statuses")
	}
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
