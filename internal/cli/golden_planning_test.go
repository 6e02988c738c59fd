package cli

import (
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

func exampleGate() tracker.Gate {
	return tracker.Gate{
		ID: gateID, ProjectID: apollo, StageID: stageID, Name: "Design review", Criteria: []string{"Reviewed by two", hostileText}, Status: "PASSED", DecidedAt: &updatedTime,
		CreatedBy: worker, CreatedAt: createdTime, UpdatedAt: updatedTime,
		Reviews: []tracker.GateReview{{ID: entryID, Reviewer: worker, Vote: "PASS", Reason: hostileText, Criteria: []tracker.GateFinding{{Criterion: "Reviewed by two", Met: true}, {Criterion: hostileText}}, ReviewedAt: updatedTime}},
	}
}

func stages() []tracker.Stage {
	g := exampleGate()
	return []tracker.Stage{
		{ID: stageID, ProjectID: apollo, Position: 1, Name: "Design", Description: body, Status: "completed", StartDate: "2027-01-04", StartedAt: &createdTime, CompletedAt: &updatedTime, CreatedBy: worker, CreatedAt: createdTime, UpdatedAt: updatedTime, Gate: &g},
		{ID: leaseID, ProjectID: apollo, Position: 2, Name: hostileText, Status: "in-progress", StartedAt: &updatedTime, CreatedBy: worker, CreatedAt: createdTime, UpdatedAt: updatedTime},
		{ID: keyID, ProjectID: apollo, Position: 3, Name: "Design of the rest", Status: "planned", CreatedBy: worker, CreatedAt: createdTime, UpdatedAt: updatedTime},
	}
}

func stageGoldens() goldenGroup {
	one, gate := jsonReply(stages()[0]), jsonReply(exampleGate())
	path, gates := projectPath+"/stages/"+stageID, projectPath+"/gates"
	next := stages()[1]
	return goldenGroup{
		routes: map[string]reply{
			"GET " + projectPath + "/stages":                jsonReply(tracker.Pipeline{ProjectID: apollo, Stages: stages()}),
			"GET /api/projects/" + initiativeID + "/stages": jsonReply(tracker.Pipeline{ProjectID: initiativeID, Stages: []tracker.Stage{}}),
			"POST " + projectPath + "/stages":               one, "PATCH " + path: one, "DELETE " + path: {status: 204}, "POST " + path + "/start": one, "POST " + path + "/complete": one,
			"POST " + gates: gate, "PATCH " + gates + "/" + gateID: gate, "DELETE " + gates + "/" + gateID: {status: 204},
			"POST " + gates + "/" + gateID + "/reviews": jsonReply(tracker.GateReviewOutcome{Gate: exampleGate(), Progressed: &next}),
		},
		cases: []goldenCase{
			{"list-stages", []string{"list-stages", "APOLLO"}, environment{}},
			{"list-stages-empty", []string{"list-stages", initiativeID}, environment{}},
			{"create-stage", []string{"create-stage", apollo, "--name", "Design", "--position", "1", "--start", "2027-01-04", "--description", "-"}, environment{stdin: "Draw it.\n"}},
			{"update-stage", []string{"update-stage", apollo, "design", "--name", "Drawing", "--position", "2", "--end", ""}, environment{}},
			{"start-stage", []string{"start-stage", apollo, "1"}, environment{}},
			{"start-stage-ambiguous", []string{"start-stage", apollo, "des"}, environment{}},
			{"start-stage-none", []string{"start-stage", apollo, "ghost"}, environment{}},
			{"complete-stage", []string{"complete-stage", apollo, stageID}, environment{}},
			{"delete-stage", []string{"delete-stage", apollo, stageID, "--yes"}, environment{}},
			{"create-gate", []string{"create-gate", apollo, "--stage", "Design", "--name", "Design review", "--criterion", "Reviewed by two, at least", "--criterion", "Costs known"}, environment{}},
			{"update-gate", []string{"update-gate", apollo, gateID, "--criterion", ""}, environment{}},
			{"review-gate", []string{"review-gate", apollo, "design", "--vote", "pass", "--reason", "Fine", "--met", "Reviewed by two", "--not-met", "Costs known"}, environment{}},
			{"delete-gate", []string{"delete-gate", apollo, "Design review", "--yes"}, environment{}},
		},
	}
}

func exampleInitiative() tracker.Initiative {
	return tracker.Initiative{
		ID: initiativeID, Name: "Moon \u202e2030", Description: body, Status: "ACTIVE", StartDate: "2027-01-04", Classification: "INTERNAL", OrganisationID: org, Progress: 42,
		CreatedBy: worker, CreatedAt: createdTime, UpdatedAt: updatedTime,
	}
}

func initiativeGoldens() goldenGroup {
	one := jsonReply(exampleInitiative())
	detail := jsonReply(tracker.InitiativeDetail{Initiative: exampleInitiative(), Projects: []tracker.ProjectSummary{exampleProject()}, MoreProjects: true})
	path := "/api/initiatives/" + initiativeID
	return goldenGroup{
		routes: map[string]reply{
			"GET /api/initiatives": jsonReply(op.Page[tracker.Initiative]{Items: []tracker.Initiative{exampleInitiative()}}), "POST /api/initiatives": one,
			"GET /api/initiatives?limit=50&search=nothing": okReply(`{"items":[]}`),
			"GET /api/initiatives/find":                    detail,
			"GET /api/initiatives/find?hint=m":             errorReply(409, "CONFLICT", "The hint fits more than one initiative.", `,"details":{"candidates":[{"id":"`+initiativeID+`","name":"Moon"},{"id":"`+apollo+`","name":"Mars \u001b[2J"}]}`),
			"GET " + path:                                  detail, "PATCH " + path: one, "DELETE " + path: {status: 204},
		},
		cases: []goldenCase{
			{"initiative", []string{"initiative", "moon"}, environment{}},
			{"initiative-ambiguous", []string{"initiative", "m"}, environment{}},
			{"list-initiatives", []string{"list-initiatives", "--status", "active", "--search", "moon"}, environment{}},
			{"list-initiatives-empty", []string{"list-initiatives", "--search", "nothing"}, environment{}},
			{"create-initiative", []string{"create-initiative", "--name", "Moon 2030", "--start", "2027-01-04", "--end", "2030-12-31", "--description", "Go"}, environment{}},
			{"update-initiative", []string{"update-initiative", "moon", "--status", "ON_HOLD", "--name", "Moon", "--description", "", "--start", "2027-02-01", "--end", ""}, environment{}},
			{"delete-initiative", []string{"delete-initiative", initiativeID, "--yes"}, environment{}},
			{"create-project-initiative", []string{"create-project", "--name", "Apollo", "--start", "2027-01-04", "--initiative", "moon"}, environment{}},
			{"update-project-initiative", []string{"update-project", apollo, "--initiative", ""}, environment{}},
			{"update-project-rename", []string{"update-project", apollo, "--rename-status", "TODO=PLANNED", "--issue-prefix", "LUN", "--prefix", "LUNA"}, environment{}},
		},
	}
}

func workspaceGoldens() goldenGroup {
	p := exampleProject()
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
	return goldenGroup{
		routes: map[string]reply{
			"GET /api/workspace": jsonReply(tracker.Workspace{
				User:        tracker.WorkspaceUser{ID: worker, DisplayName: hostileText, Email: "worker@acme.example", PrincipalKind: "HUMAN", TenantID: acme, OrganisationID: org},
				Initiatives: []tracker.Initiative{}, Projects: []tracker.WorkspaceProject{{ProjectSummary: p, InProgress: []tracker.TaskSummary{exampleTask()}}},
				Withheld: []string{"initiatives"}, Cut: []string{"projects"},
			}),
			"GET " + projectPath + "/overview":             jsonReply(overview),
			"GET /api/projects/" + taskID + "/overview":    jsonReply(reduced),
			"GET /api/projects/" + bindingID + "/overview": jsonReply(noStages),
			"GET /api/projects/" + stageID + "/overview":   errorReply(404, "NOT_FOUND", "There is no such project.", ""),
		},
		cases: []goldenCase{
			{"workspace", []string{"workspace"}, environment{}},
			{"get-project-overview", []string{"get-project-overview", "APOLLO"}, environment{}},
			{"get-project-overview-reduced", []string{"get-project-overview", taskID}, environment{}},
			{"get-project-overview-no-stages", []string{"get-project-overview", bindingID}, environment{}},
			{"get-project-overview-none", []string{"get-project-overview", stageID}, environment{}},
		},
	}
}

func bindGoldens() goldenGroup {
	bound := tracker.Project{ProjectSummary: exampleProject(), IssuePrefix: "ISS", RepoPaths: []tracker.RepoPath{{ID: bindingID, Path: "example.org/acme/apollo"}, {ID: keyID, Path: "/src/\x1b[2Japollo"}}}
	path := projectPath + "/repo-paths"
	return goldenGroup{
		routes: map[string]reply{
			"GET /api/projects/find?hint=BOUND": jsonReply(bound),
			"POST " + path:                      jsonReply(bound.RepoPaths[0]), "DELETE " + path + "/" + bindingID: {status: 204}, "DELETE " + path + "/" + keyID: {status: 204},
		},
		cases: []goldenCase{
			{"bind-repo", []string{"bind-repo", apollo, "https://token@example.org/acme/apollo.git"}, environment{}},
			{"find-project-bound", []string{"find-project", "BOUND"}, environment{}},
			{"unbind-repo", []string{"unbind-repo", "BOUND", "git@example.org:acme/apollo.git", "--yes"}, environment{}},
			{"unbind-repo-binding", []string{"unbind-repo", "BOUND", keyID, "--yes"}, environment{}},
			{"unbind-repo-none", []string{"unbind-repo", "BOUND", "/elsewhere", "--yes"}, environment{}},
		},
	}
}

func exportGoldens() goldenGroup {
	urgent := 0
	items := []tracker.ImportItem{
		{ID: "a-1", Title: hostileText, Description: body, Status: "open", Priority: &urgent, IssueType: "task", Labels: []string{"x"}, CreatedAt: &createdTime, Dependencies: []tracker.ImportDependency{{DependsOnID: "a-2", Type: "blocks"}}},
		{ID: "a-2", Title: "Second", Status: "closed", ClosedAt: &updatedTime},
	}
	path := "GET " + projectPath + "/export?"
	return goldenGroup{
		routes: map[string]reply{
			path + "limit=200":               jsonReply(op.Page[tracker.ImportItem]{Items: items[:1], NextCursor: "bmV4dA"}),
			path + "cursor=bmV4dA&limit=200": jsonReply(op.Page[tracker.ImportItem]{Items: items[1:]}),
		},
		cases: []goldenCase{{"export", []string{"export", "APOLLO"}, environment{}}},
	}
}

func otherGoldens() goldenGroup {
	return goldenGroup{cases: []goldenCase{
		{"prime", []string{"prime"}, environment{}},
		{"man", []string{"man", "auth", "status"}, environment{}},
		{"help-auth-status", []string{"auth", "status", "--help"}, environment{}},
	}}
}
