package cli

import (
	"context"
	"fmt"
	"reflect"
	"strconv"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

func newTimeEntryCmds(inv *invocation) []*cobra.Command {
	return []*cobra.Command{
		newListTimeEntriesCmd(inv),
		newRecordCmd(inv, tracker.CreateTimeEntry, commandForm[tracker.CreateTimeEntryIn]{
			long: `Record time spent on a project, a task or an issue. The default of --date is today.`,
			example: `  pt create-time-entry --task APOLLO-17 --minutes 90 --note "First draft"
  pt create-time-entry --project APOLLO --minutes 30 --date 2027-03-31 --billable`,
			flags:    []string{"taskId:task", "issueId:issue", "userId:user", "date", "minutes", "note", "billable"},
			optional: []string{"date"},
			setup: func(cmd *cobra.Command, _ *tracker.CreateTimeEntryIn) {
				allowOneOf(cmd, "task", "issue")
			},
			prepareInput: func(in *tracker.CreateTimeEntryIn) error {
				if in.Date == "" {
					in.Date = op.Date(inv.Clock.Now().Format("2006-01-02"))
				}
				return nil
			},
		}, showTimeEntry),
		newRecordCmd(inv, tracker.UpdateTimeEntry, commandForm[tracker.UpdateTimeEntryIn]{
			example: `  pt update-time-entry 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --minutes 120
  pt update-time-entry 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --billable=false`,
			flags: []string{"minutes", "date", "note", "billable"},
		}, showTimeEntry),
		newDeleteCmd(inv, tracker.DeleteTimeEntry, "time entry", commandForm[tracker.DeleteTimeEntryIn]{
			example: `  pt delete-time-entry 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --yes`,
		}),
	}
}

// timeEntries is the output of pt list-time-entries. TotalMinutes is the sum over all
// matching entries, including those on other pages.
type timeEntries struct {
	Items        []tracker.TimeEntry `json:"items"`
	TotalMinutes *int64              `json:"totalMinutes,omitempty"`
}

func newListTimeEntriesCmd(inv *invocation) *cobra.Command {
	k, cmd := newCall(inv, tracker.ListTimeEntries.Operation, commandForm[tracker.ListTimeEntriesIn]{
		example: `  pt list-time-entries --project APOLLO --from 2027-03-01 --to 2027-03-31
  pt list-time-entries --task APOLLO-17 --json --jq .data.totalMinutes`,
		flags: []string{"taskId:task", "issueId:issue", "userId:user", "from", "to"},
	})
	k.listFlags.bind(cmd)
	return inv.setRun(cmd, reflect.TypeFor[timeEntries](), func(ctx context.Context, args []string) error {
		c, err := k.prepare(ctx, args)
		if err != nil {
			return err
		}
		out := timeEntries{Items: []tracker.TimeEntry{}}
		next, err := fetchPages(k.all, &k.in.Limit, &k.in.Cursor, func() (string, error) {
			page, err := callOperation(ctx, c, tracker.ListTimeEntries, &k.in)
			if err != nil {
				return "", err
			}
			out.Items = append(out.Items, page.Items...)
			if page.TotalMinutes != nil {
				out.TotalMinutes = page.TotalMinutes
			}
			return page.NextCursor, nil
		})
		if err != nil {
			return err
		}
		inv.printTruncationHint(len(out.Items), next)
		return inv.show(ctx, view{data: out, next: next, markdown: func(d *markdown.Doc) {
			timeTable.write(d, out.Items)
			if out.TotalMinutes != nil && len(out.Items) > 0 {
				d.Line("Total of all pages: " + formatMinutes(*out.TotalMinutes) + ".")
			}
		}})
	})
}

var timeTable = table[tracker.TimeEntry]{
	emptyText: "No time entries.", flex: 4,
	columns: []column[tracker.TimeEntry]{
		{name: "Day", value: func(e *tracker.TimeEntry) string { return string(e.Date) }},
		{name: "Minutes", value: func(e *tracker.TimeEntry) string { return strconv.Itoa(e.Minutes) }},
		{name: "User", value: func(e *tracker.TimeEntry) string { return personName(e.User, e.UserID) }},
		{name: "Record", value: func(e *tracker.TimeEntry) string {
			return firstNonEmpty(recordName(e.Task, e.TaskID), recordName(e.Issue, e.IssueID), recordName(e.Project, e.ProjectID))
		}},
		{name: "Note", value: func(e *tracker.TimeEntry) string { return e.Note }},
		{name: "Billable", value: func(e *tracker.TimeEntry) string { return yesOrEmpty(e.Billable) }},
		{name: "ID", value: func(e *tracker.TimeEntry) string { return string(e.ID) }},
	},
}

func showTimeEntry(d *markdown.Doc, e *tracker.TimeEntry) {
	d.Heading(1, formatMinutes(int64(e.Minutes))+" on "+string(e.Date))
	d.Field("ID", string(e.ID))
	d.Field("Project", recordName(e.Project, e.ProjectID))
	d.Field("Task", recordName(e.Task, e.TaskID))
	d.Field("Issue", recordName(e.Issue, e.IssueID))
	d.Field("User", personName(e.User, e.UserID))
	d.Field("Billable", yesOrEmpty(e.Billable))
	d.Field("Recorded", formatTime(e.CreatedAt)+" by "+personName(e.CreatedByUser, e.CreatedBy))
	d.Quote(e.Note)
}

// formatMinutes formats a number of minutes as hours and minutes.
func formatMinutes(n int64) string {
	if n < 60 {
		return fmt.Sprintf("%d min", n)
	}
	return fmt.Sprintf("%d h %d min", n/60, n%60)
}
