package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
)

// initiativeHelp is the last paragraph of the help of commands that take an initiative.
const initiativeHelp = `To name an initiative, use its ID or its name; to read, also a unique part of its name.`

func newInitiativeCmds(inv *invocation) []*cobra.Command {
	return []*cobra.Command{
		newRecordCmd(inv, tracker.FindInitiative, commandForm[tracker.FindInitiativeIn]{
			long: `Show an initiative and those of its projects that you can read.

` + initiativeHelp,
			example: `  pt initiative "Moon 2030"
  pt initiative moon --json --jq '.data.projects[].prefix'`,
			args: []string{"hint:initiative"},
		}, showInitiativeDetail),
		newListCmd(inv, tracker.ListInitiatives, commandForm[tracker.ListInitiativesIn]{
			example: `  pt list-initiatives
  pt list-initiatives --status ON_HOLD --search moon`,
			flags: []string{"status", "search"},
		}, initiativeTable),
		newRecordCmd(inv, tracker.CreateInitiative, commandForm[tracker.CreateInitiativeIn]{
			example: `  pt create-initiative --name "Moon 2030" --start 2027-01-04
  pt create-initiative --name "Moon 2030" --start 2027-01-04 --end 2030-12-31 --description - < moon.md`,
			flags: []string{"name", "startDate:start", "endDate:end", "description", "classification", "organisationId:organisation"},
		}, showInitiative),
		newRecordCmd(inv, tracker.UpdateInitiative, commandForm[tracker.UpdateInitiativeIn]{
			long: `Update the fields that have a flag; other fields do not change. An empty value clears
an optional field.

` + initiativeHelp,
			example: `  pt update-initiative "Moon 2030" --status ON_HOLD
  pt update-initiative moon --end ""`,
			flags: []string{"name", "status", "description", "startDate:start", "endDate:end", "classification", "organisationId:organisation"},
		}, showInitiative),
		newDeleteCmd(inv, tracker.DeleteInitiative, "initiative", commandForm[tracker.DeleteInitiativeIn]{
			long: `Delete an initiative permanently. Its projects and epics remain, without an initiative.
The delegations for it end. The command asks for confirmation on a terminal; without a
terminal it requires --yes.

` + initiativeHelp,
			example: `  pt delete-initiative "Moon 2030" --yes`,
			recordName: func(ctx context.Context, c *client.Client, in *tracker.DeleteInitiativeIn) (string, error) {
				i, err := callOperation(ctx, c, tracker.GetInitiative, &tracker.GetInitiativeIn{InitiativeID: in.InitiativeID})
				if err != nil {
					return "", err
				}
				return i.Name, nil
			},
		}),
	}
}

var initiativeTable = table[tracker.Initiative]{
	emptyText: "No initiatives.", flex: 0,
	columns: []column[tracker.Initiative]{
		{name: "Name", value: func(i *tracker.Initiative) string { return i.Name }},
		{name: "Status", value: func(i *tracker.Initiative) string { return i.Status }},
		{name: "Progress", value: func(i *tracker.Initiative) string { return strconv.Itoa(i.Progress) + " %" }},
		{name: "Start", value: func(i *tracker.Initiative) string { return string(i.StartDate) }},
		{name: "End", value: func(i *tracker.Initiative) string { return string(i.EndDate) }},
		{name: "ID", value: func(i *tracker.Initiative) string { return string(i.ID) }},
	},
}

func showInitiative(d *markdown.Doc, i *tracker.Initiative) {
	d.Heading(1, i.Name)
	d.Field("ID", string(i.ID))
	d.Field("Status", i.Status)
	d.Field("Progress", strconv.Itoa(i.Progress)+" %")
	d.Field("Classification", i.Classification)
	d.Field("Start", string(i.StartDate))
	d.Field("End", string(i.EndDate))
	d.Field("Organisation", recordName(i.Organisation, i.OrganisationID))
	d.Field("Created", formatTime(i.CreatedAt)+" by "+personName(i.CreatedByUser, i.CreatedBy))
	d.Field("Updated", formatTime(i.UpdatedAt))
	d.Quote(i.Description)
}

func showInitiativeDetail(d *markdown.Doc, i *tracker.InitiativeDetail) {
	showInitiative(d, &i.Initiative)
	d.Heading(2, "Projects")
	projectTable.write(d, i.Projects)
	if i.MoreProjects {
		d.Line("For more projects: pt list-projects --initiative " + string(i.ID))
	}
}
