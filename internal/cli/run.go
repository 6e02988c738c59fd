package cli

import (
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
)

func newRunCmds(inv *invocation) []*cobra.Command {
	return []*cobra.Command{
		newListCmd(inv, tracker.ListRuns, commandForm[tracker.ListRunsIn]{
			example: `  pt list-runs --project APOLLO --status FAILED
  pt list-runs --task APOLLO-17 --json --jq '.data[].summary'`,
			flags: []string{"taskId:task", "agent", "status"},
		}, runTable),
		newRecordCmd(inv, tracker.GetRun, commandForm[tracker.GetRunIn]{
			example: `  pt get-run 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`,
		}, showRun),
	}
}

var runTable = table[tracker.AgentRunSummary]{
	emptyText: "No runs.", flex: 5,
	columns: []column[tracker.AgentRunSummary]{
		{name: "Task", value: func(r *tracker.AgentRunSummary) string { return r.TaskKey }},
		{name: "Status", value: func(r *tracker.AgentRunSummary) string { return r.Status }},
		{name: "Agent", value: func(r *tracker.AgentRunSummary) string { return personName(r.AgentUser, r.Agent) }},
		{name: "Created", value: func(r *tracker.AgentRunSummary) string { return formatTime(r.CreatedAt) }},
		{name: "Score", value: func(r *tracker.AgentRunSummary) string { return formatScore(r.Score) }, optional: true},
		{name: "Summary", value: func(r *tracker.AgentRunSummary) string { return firstNonEmpty(r.Summary, r.Error, r.Note) }},
		{name: "ID", value: func(r *tracker.AgentRunSummary) string { return string(r.ID) }},
	},
}

func formatScore(x *float64) string {
	if x == nil {
		return ""
	}
	return formatNumber(*x)
}

func showRun(d *markdown.Doc, r *tracker.AgentRun) {
	d.Heading(1, r.TaskKey+" run: "+r.Status)
	d.Field("ID", string(r.ID))
	d.Field("Project", recordName(r.Project, r.ProjectID))
	d.Field("Task", recordName(r.Task, r.TaskID))
	d.Field("Agent", personName(r.AgentUser, r.Agent))
	d.Field("Attempts", strconv.Itoa(r.Attempts))
	d.Field("Note", r.Note)
	d.Field("Error", r.Error)
	d.Field("Created", formatTime(r.CreatedAt)+" by "+personName(r.CreatedByUser, r.CreatedBy))
	d.Field("Started", optionalTime(r.StartedAt))
	d.Field("Finished", optionalTime(r.FinishedAt))
	d.Field("Score", formatScore(r.Score))
	for _, name := range slices.Sorted(maps.Keys(r.ScoreComponents)) {
		d.Field("Score, "+name, formatNumber(r.ScoreComponents[name]))
	}
	d.Quote(r.Summary)
	if len(r.Outcome) > 0 {
		d.Heading(2, "Outcome")
		text, err := json.Marshal(r.Outcome, json.Deterministic(true), jsontext.WithIndent("  "))
		if err == nil {
			d.Quote(string(text))
		}
	}
}
