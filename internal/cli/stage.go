package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
)

func newStageCmds(inv *invocation) []*cobra.Command {
	return []*cobra.Command{
		showRecord(inv, tracker.ListStages, commandForm[tracker.ListStagesIn]{
			example: `  pt list-stages APOLLO
  pt list-stages APOLLO --json --jq '.data.stages[] | {name, status, gate: .gate.status}'`,
		}, showPipeline),
		showRecord(inv, tracker.CreateStage, commandForm[tracker.CreateStageIn]{
			example: `  pt create-stage APOLLO --name Design
  pt create-stage APOLLO --name "Dry run" --position 2 --start 2027-02-01 --end 2027-02-28`,
			flags: []string{"name", "description", "position", "startDate:start", "endDate:end"},
		}, showStage),
		showRecord(inv, tracker.UpdateStage, commandForm[tracker.UpdateStageIn]{
			long: `Changes what the flags name and leaves the rest; an empty value clears a field that
can be empty. start-stage and complete-stage move its status.

A stage is named by its id, its name or its place in the pipeline.`,
			example: `  pt update-stage APOLLO Design --end 2027-03-31
  pt update-stage APOLLO 3 --position 2`,
			flags: []string{"name", "description", "position", "startDate:start", "endDate:end"},
		}, showStage),
		showRecord(inv, tracker.StartStage, commandForm[tracker.StageIn]{
			example: `  pt start-stage APOLLO Design`,
		}, showStage),
		showRecord(inv, tracker.CompleteStage, commandForm[tracker.StageIn]{
			example: `  pt complete-stage APOLLO Design`,
		}, showStage),
		removesRecord(inv, tracker.DeleteStage, "stage", commandForm[tracker.StageIn]{
			example: `  pt delete-stage APOLLO Design --yes`,
		}),
	}
}

// showPipeline shows the stages of a project with their gates.
func showPipeline(d *markdown.Doc, p *tracker.Pipeline) { stageTable.write(d, p.Stages) }

var stageTable = table[tracker.Stage]{
	empty: "No stages.", flex: 1,
	columns: []column[tracker.Stage]{
		{name: "Place", value: func(s *tracker.Stage) string { return strconv.Itoa(s.Position) }},
		{name: "Stage", value: func(s *tracker.Stage) string { return s.Name }},
		{name: "Status", value: func(s *tracker.Stage) string { return s.Status }},
		{name: "Start", value: func(s *tracker.Stage) string { return string(s.StartDate) }, wide: true},
		{name: "End", value: func(s *tracker.Stage) string { return string(s.EndDate) }, wide: true},
		{name: "Gate", value: func(s *tracker.Stage) string { return ofGate(s, func(g *tracker.Gate) string { return g.Name }) }, wide: true},
		{name: "Gate status", value: func(s *tracker.Stage) string { return ofGate(s, func(g *tracker.Gate) string { return g.Status }) }, wide: true},
		{name: "Votes", value: func(s *tracker.Stage) string { return ofGate(s, votes) }, wide: true},
		{name: "Stage ID", value: func(s *tracker.Stage) string { return string(s.ID) }},
		{name: "Gate ID", value: func(s *tracker.Stage) string { return ofGate(s, func(g *tracker.Gate) string { return string(g.ID) }) }, wide: true},
	},
}

func ofGate(s *tracker.Stage, value func(*tracker.Gate) string) string {
	if s.Gate == nil {
		return ""
	}
	return value(s.Gate)
}

// votes counts the votes at a gate by kind.
func votes(g *tracker.Gate) string {
	var parts []string
	for _, vote := range []string{tracker.VotePass, tracker.VoteWaive, tracker.VoteHold, tracker.VoteFail} {
		n := 0
		for _, r := range g.Reviews {
			if r.Vote == vote {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+vote)
		}
	}
	return strings.Join(parts, ", ")
}

func showStage(d *markdown.Doc, s *tracker.Stage) {
	d.Heading(1, s.Name)
	d.Field("ID", string(s.ID))
	d.Field("Project", string(s.ProjectID))
	d.Field("Place", strconv.Itoa(s.Position))
	d.Field("Status", s.Status)
	d.Field("Start", string(s.StartDate))
	d.Field("End", string(s.EndDate))
	d.Field("Started", optionalTime(s.StartedAt))
	d.Field("Completed", optionalTime(s.CompletedAt))
	d.Quote(s.Description)
	if s.Gate != nil {
		writeGate(d, 2, s.Gate)
	}
}

// inPipeline gives the stages of a project, or its gates, to choose from.
func (a *argument) inPipeline(ctx context.Context, c *client.Client) ([]candidate, error) {
	p, err := callOperation(ctx, c, tracker.ListStages, &tracker.ListStagesIn{ProjectID: a.projectID()})
	if err != nil {
		return nil, err
	}
	var all []candidate
	for _, s := range p.Stages {
		switch {
		case a.kind == hintStage:
			all = append(all, candidate{s.ID, s.Name, strconv.Itoa(s.Position)})
		case s.Gate != nil:
			all = append(all, candidate{s.Gate.ID, s.Gate.Name, ""})
		}
	}
	return all, nil
}
