package tracker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
)

func overviewRequests(s scene) map[string]fields {
	return map[string]fields{"get-project-overview": {"projectId": s.project}}
}

func TestProjectOverview_ReturnsStagesAndCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"storyPointScale": []float64{1, 2}, "description": "Land."})
	stage := w.createStage(p.ID, "Design")
	w.createGateAfter(p.ID, stage.ID, "Review")
	for i, more := range []fields{
		{"dueDate": "2020-01-01"}, {"dueDate": "2020-01-01", "status": "DONE"}, {"dueDate": "2020-01-01", "status": "CANCELLED"},
		{"dueDate": "2999-01-01", "status": "IN_PROGRESS"}, {"status": "BACKLOG"}, {"issueType": "EPIC"},
	} {
		w.createTask(p, fmt.Sprintf("%c%c%c", 'a'+i, 'k'+i, 'p'+i), more)
	}
	for i, status := range []string{"OPEN", "REOPENED", "IN_PROGRESS", "CLOSED"} {
		w.exec(`INSERT INTO projects.issues (tenant_id, id, project_id, prefix, number, title, severity, status, resolved_at, first_response_due_at, resolution_due_at, created_by, created_at, updated_at)
			VALUES ($1, gen_random_uuid(), $2, 'ISS', $3, 'x', 'LOW', $4, CASE WHEN $4 = 'CLOSED' THEN $6::timestamptz END, $6, $6, $5, $6, $6)`, w.acme, p.ID, i+1, status, w.manager.id, time.Now())
	}
	got := do[contract.ProjectOverview](w, w.manager, "get-project-overview", fields{"projectId": p.ID})
	switch {
	case got.Reduced || got.Name != "Apollo" || got.ID != p.ID || got.Project == nil || got.Project.Prefix != p.Prefix || got.Description != "Land.":
		t.Errorf("overview: got %+v, want the complete project Apollo", got)
	case !slices.Equal(got.StoryPointScale, []float64{1, 2}) || !slices.Equal(got.CustomStatuses, contract.DefaultStatuses()):
		t.Errorf("overview: got scale %v and statuses %v, want 1, 2 and the default statuses", got.StoryPointScale, got.CustomStatuses)
	case len(got.Stages) != 1 || got.Stages[0].ID != stage.ID || got.Stages[0].Gate == nil:
		t.Errorf("stages of the overview: got %+v, want one with a gate", got.Stages)
	case got.Stats == nil || got.Stats.Tasks == nil || got.Stats.Tasks.Total != 6 || got.Stats.Tasks.Overdue != 1:
		t.Errorf("task counts of the overview: got %+v, want 6, 1 of them overdue", got.Stats)
	case got.Stats.Issues == nil || got.Stats.Issues.Open != 3:
		t.Errorf("issue counts of the overview: got %+v, want 3 open", got.Stats.Issues)
	}
	if text := fmt.Sprint(got.Stats.Tasks.ByCategory); text != "[{TODO 3} {IN_PROGRESS 1} {REVIEW 0} {DONE 1} {CANCELLED 1}]" {
		t.Errorf("tasks by category: got %s, want TODO 3, IN_PROGRESS 1, REVIEW 0, DONE 1, CANCELLED 1", text)
	}
	if n := len(got.Stats.Tasks.ByStatus); n != 6 || got.Stats.Tasks.ByStatus[0] != (contract.StatusCount{Status: "BACKLOG", Category: "TODO", Count: 1}) {
		t.Errorf("tasks by status: got %v, want 6 statuses, the first BACKLOG with 1 task", got.Stats.Tasks.ByStatus)
	}
	// A project without a scale has no field storyPointScale.
	bare := do[contract.ProjectOverview](w, w.manager, "get-project-overview", fields{"projectId": w.createProject("Bare").ID})
	if text, err := json.Marshal(bare); err != nil || strings.Contains(string(text), "storyPointScale") || strings.Contains(string(text), "reduced") {
		t.Errorf("overview of a project without a scale: got %s (%v), want neither storyPointScale nor reduced", text, err)
	}
	// Counts require the permission to read the counted records.
	guest := w.addPerson(person{roles: []string{"Guest Customer"}})
	if got := do[contract.ProjectOverview](w, guest, "get-project-overview", fields{"projectId": p.ID}); got.Stats.Issues != nil || got.Stats.Tasks == nil {
		t.Errorf("counts for a guest: got %+v, want tasks and no issues", got.Stats)
	}
}

// Delegated permissions for own records must not reveal the number of other records, also in
// a project that the delegator owns.
func TestProjectOverview_OwnPermissionsReturnNoCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	w.createTask(p, "Somebody else's")
	delegate := w.addPerson(person{})
	w.createDelegation(w.manager, delegate, []string{"projects.read", "stages.read", "tasks.read.own", "issues.read.own"})
	got := do[contract.ProjectOverview](w, delegate, "get-project-overview", fields{"projectId": p.ID})
	if got.Stats == nil || got.Stats.Tasks != nil || got.Stats.Issues != nil {
		t.Errorf("got %+v, want no counts", got.Stats)
	}
}

func TestProjectOverview_WithoutProjectsRead_ReturnsReducedOverview(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, secret := w.createProject("Apollo", fields{"storyPointScale": []float64{1, 2}, "description": "Land."}), w.createProject("Secret", fields{"classification": "SECRET"})
	w.createStage(p.ID, "Design")
	watcher := w.addPerson(person{roles: []string{"Stage Watcher"}})
	got := do[contract.ProjectOverview](w, watcher, "get-project-overview", fields{"projectId": p.ID})
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	if !got.Reduced || got.Name != "Apollo" || len(got.Stages) != 1 || !slices.Equal(names, []string{"id", "name", "reduced", "stages", "storyPointScale"}) {
		t.Errorf("overview without projects.read: got %s, want only id, name, reduced, stages and storyPointScale", text)
	}
	// A hidden project is not found.
	w.wantError(fault.CodeNotFound, watcher, "get-project-overview", fields{"projectId": secret.ID})
	// A database error or a cancelled request is not reported as a denial.
	w.exec(`ALTER TABLE projects.stages RENAME TO stages_away`)
	if _, err := w.call(watcher, "get-project-overview", fields{"projectId": p.ID}); err == nil || fault.HasCode(err, fault.CodeForbidden) || fault.HasCode(err, fault.CodeNotFound) {
		t.Errorf("overview with a database error: got %v, want another error than FORBIDDEN or NOT_FOUND", err)
	}
	w.exec(`ALTER TABLE projects.stages_away RENAME TO stages`)
	ctx, cancel := context.WithCancel(w.requestContext(watcher))
	cancel()
	o := w.operations["get-project-overview"]
	if _, err := o.Call(ctx, &contract.GetProjectIn{ProjectID: p.ID}); err == nil || fault.HasCode(err, fault.CodeForbidden) {
		t.Errorf("overview with a cancelled context: got %v, want another error than FORBIDDEN", err)
	}
}

func TestWorkspace_ReturnsPartsTheCallerMayRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.createInitiative("Moon")
	w.createInitiative("Secret", fields{"classification": "SECRET"})
	projects := make([]*contract.Project, 12)
	for i := range projects {
		projects[i] = w.createProject(fmt.Sprintf("%c project", 'a'+i))
	}
	hidden := w.createProject("aa hidden", fields{"classification": "SECRET"})
	w.createTask(hidden, "Hidden", fields{"status": "IN_PROGRESS"})
	p := projects[0]
	hiddenEpic := w.createTask(hidden, "Hidden epic", fields{"issueType": "EPIC"})
	low := w.createTask(p, "Low", fields{"status": "IN_PROGRESS", "priority": "LOW"})
	late := w.createTask(p, "Medium late", fields{"status": "IN_PROGRESS", "dueDate": "2027-09-01"})
	soon := w.createTask(p, "Medium soon", fields{"status": "IN_PROGRESS", "dueDate": "2027-03-01", "epicId": hiddenEpic.ID})
	urgent := w.createTask(p, "Urgent", fields{"status": "IN_PROGRESS", "priority": "URGENT"})
	w.createTask(p, "Waiting", fields{"priority": "URGENT"})
	w.createTask(projects[11], "Too far down", fields{"status": "IN_PROGRESS"})
	member := w.addPerson(person{roles: []string{"Member"}})
	got := do[contract.Workspace](w, member, "workspace", fields{})
	if got.User.ID != member.id || got.User.TenantID != w.acme || got.User.OrganisationID != w.orgA || got.User.PrincipalKind != "HUMAN" {
		t.Errorf("user of the workspace: got %+v, want the caller", got.User)
	}
	if len(got.Initiatives) != 1 || got.Initiatives[0].Name != "Moon" || len(got.Projects) != 12 || len(got.Withheld) != 0 || len(got.Cut) != 0 {
		t.Errorf("workspace: got %+v, want the initiative Moon and 12 projects, nothing withheld or cut", got)
	}
	if k := keys(got.Projects[0].InProgress); k != strings.Join([]string{urgent.Key, soon.Key, late.Key}, " ") {
		t.Errorf("first project: got tasks %s, want the three most urgent, without %s", k, low.Key)
	}
	if s := got.Projects[0].InProgress[1]; s.EpicID == hiddenEpic.ID || s.EpicID == "" || s.ProjectID != p.ID {
		t.Errorf("task with a hidden epic: got %+v, want an opaque epic id", s)
	}
	if got.Projects[11].InProgress != nil {
		t.Errorf("twelfth project: got tasks %v, want none", got.Projects[11].InProgress)
	}
	// Each part requires its own permission.
	for _, c := range []struct {
		who      *person
		withheld []string
		projects int
	}{
		{w.addPerson(person{}), []string{"initiatives", "projects", "tasks"}, 0},
		{w.addPerson(person{roles: []string{"Initiative Reader"}}), []string{"projects", "tasks"}, 0},
		{w.addPerson(person{roles: []string{"Own Reader"}}), []string{"initiatives"}, 12},
		{w.addPerson(person{roles: []string{"Member"}, caveats: []string{"project:" + string(p.ID)}}), []string{}, 1},
		{w.addPerson(person{roles: []string{"Member"}, tenant: w.globex}), []string{}, 0},
	} {
		got := do[contract.Workspace](w, c.who, "workspace", fields{})
		if !slices.Equal(got.Withheld, c.withheld) || len(got.Projects) != c.projects || got.Initiatives == nil || got.Projects == nil {
			t.Errorf("roles %v: got withheld %v and %d projects, want %v and %d", c.who.roles, got.Withheld, len(got.Projects), c.withheld, c.projects)
		}
	}
	w.wantError(fault.CodeForbidden, w.addPerson(person{roles: []string{"Member"}, caveats: []string{"moon-phase:full"}}), "workspace", fields{})
}

func TestWorkspace_LimitsProjectsAndTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addTasks(w.createProject("Apollo"), 10)
	w.exec(`INSERT INTO projects.projects (tenant_id, id, name, start_date, prefix, classification, created_by, created_at, updated_at)
		SELECT $1, gen_random_uuid(), 'More ' || n, '2027-01-04', 'MORE' || n, 'UNCLASSIFIED', $1, now(), now() FROM generate_series(1, 150) n`, w.acme)
	got := do[contract.Workspace](w, w.manager, "workspace", fields{})
	if len(got.Projects) != contract.WorkspaceItems || !slices.Equal(got.Cut, []string{"projects"}) {
		t.Errorf("workspace: got %d projects, cut %v; want %d projects, cut [projects]", len(got.Projects), got.Cut, contract.WorkspaceItems)
	}
	for i, p := range got.Projects {
		if n := len(p.InProgress); n > contract.WorkspaceTasks || (i >= contract.WorkspaceProjects && n > 0) {
			t.Errorf("project %d of the workspace: got %d tasks, want at most %d, and none from project %d on", i, n, contract.WorkspaceTasks, contract.WorkspaceProjects)
		}
	}
}
