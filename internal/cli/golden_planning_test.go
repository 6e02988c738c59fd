package cli

import (
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

func aGate() tracker.Gate {
	return tracker.Gate{
		ID: gateID, ProjectID: apollo, StageID: stageID, Name: "Design review", Criteria: []string{"Reviewed by two", hostile}, Status: "PASSED", DecidedAt: &later,
		CreatedBy: worker, CreatedAt: made, UpdatedAt: later,
		Reviews: []tracker.GateReview{{ID: entryID, Reviewer: worker, Vote: "PASS", Reason: hostile, Criteria: []tracker.GateFinding{{Criterion: "Reviewed by two", Met: true}, {Criterion: hostile}}, ReviewedAt: later}},
	}
}

func stages() []tracker.Stage {
	g := aGate()
	return []tracker.Stage{
		{ID: stageID, ProjectID: apollo, Position: 1, Name: "Design", Description: body, Status: "completed", StartDate: "2027-01-04", StartedAt: &made, CompletedAt: &later, CreatedBy: worker, CreatedAt: made, UpdatedAt: later, Gate: &g},
		{ID: leaseID, ProjectID: apollo, Position: 2, Name: hostile, Status: "in-progress", StartedAt: &later, CreatedBy: worker, CreatedAt: made, UpdatedAt: later},
		{ID: keyID, ProjectID: apollo, Position: 3, Name: "Design of the rest", Status: "planned", CreatedBy: worker, CreatedAt: made, UpdatedAt: later},
	}
}

func stageStory() story {
	one, gate := answer(stages()[0]), answer(aGate())
	path, gates := project+"/stages/"+stageID, project+"/gates"
	next := stages()[1]
	return story{
		routes: map[string]reply{
			"GET " + project + "/stages":                    answer(tracker.Pipeline{ProjectID: apollo, Stages: stages()}),
			"GET /api/projects/" + initiativeID + "/stages": answer(tracker.Pipeline{ProjectID: initiativeID, Stages: []tracker.Stage{}}),
			"POST " + project + "/stages":                   one, "PATCH " + path: one, "DELETE " + path: {status: 204}, "POST " + path + "/start": one, "POST " + path + "/complete": one,
			"POST " + gates: gate, "PATCH " + gates + "/" + gateID: gate, "DELETE " + gates + "/" + gateID: {status: 204},
			"POST " + gates + "/" + gateID + "/reviews": answer(tracker.GateReviewOutcome{Gate: aGate(), Progressed: &next}),
		},
		cases: []goldenCase{
			{"list-stages", []string{"list-stages", "APOLLO"}, world{}},
			{"list-stages-empty", []string{"list-stages", initiativeID}, world{}},
			{"create-stage", []string{"create-stage", apollo, "--name", "Design", "--position", "1", "--start", "2027-01-04", "--description", "-"}, world{stdin: "Draw it.\n"}},
			{"update-stage", []string{"update-stage", apollo, "design", "--name", "Drawing", "--position", "2", "--end", ""}, world{}},
			{"start-stage", []string{"start-stage", apollo, "1"}, world{}},
			{"start-stage-ambiguous", []string{"start-stage", apollo, "des"}, world{}},
			{"start-stage-none", []string{"start-stage", apollo, "ghost"}, world{}},
			{"complete-stage", []string{"complete-stage", apollo, stageID}, world{}},
			{"delete-stage", []string{"delete-stage", apollo, stageID, "--yes"}, world{}},
			{"create-gate", []string{"create-gate", apollo, "--stage", "Design", "--name", "Design review", "--criterion", "Reviewed by two, at least", "--criterion", "Costs known"}, world{}},
			{"update-gate", []string{"update-gate", apollo, gateID, "--criterion", ""}, world{}},
			{"review-gate", []string{"review-gate", apollo, "design", "--vote", "pass", "--reason", "Fine", "--met", "Reviewed by two", "--not-met", "Costs known"}, world{}},
			{"delete-gate", []string{"delete-gate", apollo, "Design review", "--yes"}, world{}},
		},
	}
}

func anInitiative() tracker.Initiative {
	return tracker.Initiative{
		ID: initiativeID, Name: "Moon \u202e2030", Description: body, Status: "ACTIVE", StartDate: "2027-01-04", Classification: "INTERNAL", OrganisationID: org, Progress: 42,
		CreatedBy: worker, CreatedAt: made, UpdatedAt: later,
	}
}

func initiativeStory() story {
	one := answer(anInitiative())
	detail := answer(tracker.InitiativeDetail{Initiative: anInitiative(), Projects: []tracker.ProjectSummary{aProject()}, MoreProjects: true})
	path := "/api/initiatives/" + initiativeID
	return story{
		routes: map[string]reply{
			"GET /api/initiatives": answer(op.Page[tracker.Initiative]{Items: []tracker.Initiative{anInitiative()}}), "POST /api/initiatives": one,
			"GET /api/initiatives?limit=50&search=nothing": ok(`{"items":[]}`),
			"GET /api/initiatives/find":                    detail,
			"GET /api/initiatives/find?hint=m":             refuse(409, "CONFLICT", "The hint fits more than one initiative.", `,"details":{"candidates":[{"id":"`+initiativeID+`","name":"Moon"},{"id":"`+apollo+`","name":"Mars \u001b[2J"}]}`),
			"GET " + path:                                  detail, "PATCH " + path: one, "DELETE " + path: {status: 204},
		},
		cases: []goldenCase{
			{"initiative", []string{"initiative", "moon"}, world{}},
			{"initiative-ambiguous", []string{"initiative", "m"}, world{}},
			{"list-initiatives", []string{"list-initiatives", "--status", "active", "--search", "moon"}, world{}},
			{"list-initiatives-empty", []string{"list-initiatives", "--search", "nothing"}, world{}},
			{"create-initiative", []string{"create-initiative", "--name", "Moon 2030", "--start", "2027-01-04", "--end", "2030-12-31", "--description", "Go"}, world{}},
			{"update-initiative", []string{"update-initiative", "moon", "--status", "ON_HOLD", "--name", "Moon", "--description", "", "--start", "2027-02-01", "--end", ""}, world{}},
			{"delete-initiative", []string{"delete-initiative", initiativeID, "--yes"}, world{}},
			{"create-project-initiative", []string{"create-project", "--name", "Apollo", "--start", "2027-01-04", "--initiative", "moon"}, world{}},
			{"update-project-initiative", []string{"update-project", apollo, "--initiative", ""}, world{}},
			{"update-project-rename", []string{"update-project", apollo, "--rename-status", "TODO=PLANNED", "--issue-prefix", "LUN", "--prefix", "LUNA"}, world{}},
		},
	}
}

func workspaceStory() story {
	p := aProject()
	overview := tracker.ProjectOverview{
		ID: apollo, Name: p.Name, StoryPointScale: []float64{1, 2, 3.5}, Stages: stages(), Project: &p, Description: body,
		CustomStatuses: []tracker.Status{{Name: "TODO", Category: "TODO"}},
		Stats: &tracker.ProjectStats{
			Tasks:  &tracker.TaskStats{Total: 3, Overdue: 1, ByCategory: []tracker.CategoryCount{{Category: "TODO", Count: 2}, {Category: "DONE", Count: 1}}, ByStatus: []tracker.StatusCount{{Status: "TODO", Category: "TODO", Count: 2}}},
			Issues: &tracker.IssueStats{Open: 2},
		},
	}
	reduced := tracker.ProjectOverview{ID: taskID, Name: "Hidden", Stages: []tracker.Stage{}, Reduced: true}
	noStages := tracker.ProjectOverview{ID: bindingID, Name: "Apollo", Stages: []tracker.Stage{}, StagesOmitted: true, Project: &p, CustomStatuses: overview.CustomStatuses}
	return story{
		routes: map[string]reply{
			"GET /api/workspace": answer(tracker.Workspace{
				User:        tracker.WorkspaceUser{ID: worker, DisplayName: hostile, Email: "worker@acme.example", PrincipalKind: "HUMAN", TenantID: acme, OrganisationID: org},
				Initiatives: []tracker.Initiative{}, Projects: []tracker.WorkspaceProject{{ProjectSummary: p, InProgress: []tracker.TaskSummary{aTask()}}},
				Withheld: []string{"initiatives"}, Cut: []string{"projects"},
			}),
			"GET " + project + "/overview":                 answer(overview),
			"GET /api/projects/" + taskID + "/overview":    answer(reduced),
			"GET /api/projects/" + bindingID + "/overview": answer(noStages),
			"GET /api/projects/" + stageID + "/overview":   refuse(404, "NOT_FOUND", "There is no such project.", ""),
		},
		cases: []goldenCase{
			{"workspace", []string{"workspace"}, world{}},
			{"get-project-overview", []string{"get-project-overview", "APOLLO"}, world{}},
			{"get-project-overview-reduced", []string{"get-project-overview", taskID}, world{}},
			{"get-project-overview-no-stages", []string{"get-project-overview", bindingID}, world{}},
			{"get-project-overview-none", []string{"get-project-overview", stageID}, world{}},
		},
	}
}

func bindStory() story {
	bound := tracker.Project{ProjectSummary: aProject(), IssuePrefix: "ISS", RepoPaths: []tracker.RepoPath{{ID: bindingID, Path: "example.org/acme/apollo"}, {ID: keyID, Path: "/src/\x1b[2Japollo"}}}
	path := project + "/repo-paths"
	return story{
		routes: map[string]reply{
			"GET /api/projects/find?hint=BOUND": answer(bound),
			"POST " + path:                      answer(bound.RepoPaths[0]), "DELETE " + path + "/" + bindingID: {status: 204}, "DELETE " + path + "/" + keyID: {status: 204},
		},
		cases: []goldenCase{
			{"bind-repo", []string{"bind-repo", apollo, "https://token@example.org/acme/apollo.git"}, world{}},
			{"find-project-bound", []string{"find-project", "BOUND"}, world{}},
			{"unbind-repo", []string{"unbind-repo", "BOUND", "git@example.org:acme/apollo.git", "--yes"}, world{}},
			{"unbind-repo-binding", []string{"unbind-repo", "BOUND", keyID, "--yes"}, world{}},
			{"unbind-repo-none", []string{"unbind-repo", "BOUND", "/elsewhere", "--yes"}, world{}},
		},
	}
}

func exportStory() story {
	urgent := 0
	items := []tracker.ImportItem{
		{ID: "a-1", Title: hostile, Description: body, Status: "open", Priority: &urgent, IssueType: "task", Labels: []string{"x"}, CreatedAt: &made, Dependencies: []tracker.ImportDependency{{DependsOnID: "a-2", Type: "blocks"}}},
		{ID: "a-2", Title: "Second", Status: "closed", ClosedAt: &later},
	}
	path := "GET " + project + "/export?"
	return story{
		routes: map[string]reply{
			path + "limit=200":               answer(op.Page[tracker.ImportItem]{Items: items[:1], NextCursor: "bmV4dA"}),
			path + "cursor=bmV4dA&limit=200": answer(op.Page[tracker.ImportItem]{Items: items[1:]}),
		},
		cases: []goldenCase{{"export", []string{"export", "APOLLO"}, world{}}},
	}
}

func otherStory() story {
	return story{cases: []goldenCase{
		{"prime", []string{"prime"}, world{}},
		{"man", []string{"man", "auth", "status"}, world{}},
		{"help-auth-status", []string{"auth", "status", "--help"}, world{}},
	}}
}
