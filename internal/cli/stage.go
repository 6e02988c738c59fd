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
		newRecordCmd(inv, tracker.ListStages, commandForm[tracker.ListStagesIn]{
			example: `  pt list-stages APOLLO
  pt list-stages APOLLO --json --jq '.data.stages[] | {name, status, gate: .gate.status}'`,
		}, showPipeline),
		newRecordCmd(inv, tracker.CreateStage, commandForm[tracker.CreateStageIn]{
			example: `  pt create-stage APOLLO --name Design
  pt create-stage APOLLO --name "Dry run" --position 2 --start 2027-02-01 --end 2027-02-28`,
			flags: []string{"name", "description", "position", "startDate:start", "endDate:end"},
		}, showStage),
		newRecordCmd(inv, tracker.UpdateStage, commandForm[tracker.UpdateStageIn]{
			long: `Update the fields that have a flag; other fields do not change. An empty value clears
an optional field. To change the status, use start-stage or complete-stage.

To name a stage, use its ID, its name or its position in the pipeline.`,
			example: `  pt update-stage APOLLO Design --end 2027-03-31
  pt update-stage APOLLO 3 --position 2`,
			flags: []string{"name", "description", "position", "startDate:start", "endDate:end"},
		}, showStage),
		newRecordCmd(inv, tracker.StartStage, commandForm[tracker.StageIn]{
			example: `  pt start-stage APOLLO Design`,
		}, showStage),
		newRecordCmd(inv, tracker.CompleteStage, commandForm[tracker.StageIn]{
			example: `  pt complete-stage APOLLO Design`,
		}, showStage),
		newDeleteCmd(inv, tracker.DeleteStage, "stage", commandForm[tracker.StageIn]{
			example: `  pt delete-stage APOLLO Design --yes`,
		}),
	}
}

func showPipeline(d *markdown.Doc, p *tracker.Pipeline) { stageTable.write(d, p.Stages) }

var stageTable = table[tracker.Stage]{
	emptyText: "No stages.", flex: 1,
	columns: []column[tracker.Stage]{
		{name: "Position", value: func(s *tracker.Stage) string { return strconv.Itoa(s.Position) }},
		{name: "Stage", value: func(s *tracker.Stage) string { return s.Name }},
		{name: "Status", value: func(s *tracker.Stage) string { return s.Status }},
		{name: "Start", value: func(s *tracker.Stage) string { return string(s.StartDate) }, optional: true},
		{name: "End", value: func(s *tracker.Stage) string { return string(s.EndDate) }, optional: true},
		{name: "Gate", value: func(s *tracker.Stage) string { return gateValue(s, func(g *tracker.Gate) string { return g.Name }) }, optional: true},
		{name: "Gate status", value: func(s *tracker.Stage) string { return gateValue(s, func(g *tracker.Gate) string { return g.Status }) }, optional: true},
		{name: "Votes", value: func(s *tracker.Stage) string { return gateValue(s, formatVotes) }, optional: true},
		{name: "Stage ID", value: func(s *tracker.Stage) string { return string(s.ID) }},
		{name: "Gate ID", value: func(s *tracker.Stage) string {
			return gateValue(s, func(g *tracker.Gate) string { return string(g.ID) })
		}, optional: true},
	},
}

// gateValue returns a value of the stage's gate, or "" if the stage has no gate.
func gateValue(s *tracker.Stage, value func(*tracker.Gate) string) string {
	if s.Gate == nil {
		return ""
	}
	return value(s.Gate)
}

// formatVotes formats the number of votes of each kind.
func formatVotes(g *tracker.Gate) string {
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
	d.Field("Project", recordName(s.Project, s.ProjectID))
	d.Field("Position", strconv.Itoa(s.Position))
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

// pipelineCandidates returns the stages of the project, or its gates, depending on the
// kind of the argument.
func (a *argument) pipelineCandidates(ctx context.Context, c *client.Client) ([]candidate, error) {
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
