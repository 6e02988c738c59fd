package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
)

// initiativeHelp ends the help of what takes an initiative.
const initiativeHelp = `An initiative is named by its id, its name or a part of its name that fits no other.`

func newInitiativeCmds(inv *invocation) []*cobra.Command {
	return []*cobra.Command{
		showRecord(inv, tracker.FindInitiative, commandForm[tracker.FindInitiativeIn]{
			long: `Shows the one initiative that a hint means, with its projects that you can read.

` + initiativeHelp,
			example: `  pt initiative "Moon 2030"
  pt initiative moon --json --jq '.data.projects[].prefix'`,
			args: []string{"hint:initiative"},
		}, showInitiativeDetail),
		lists(inv, tracker.ListInitiatives, commandForm[tracker.ListInitiativesIn]{
			example: `  pt list-initiatives
  pt list-initiatives --status ON_HOLD --search moon`,
			flags: []string{"status", "search"},
		}, initiativeTable),
		showRecord(inv, tracker.CreateInitiative, commandForm[tracker.CreateInitiativeIn]{
			example: `  pt create-initiative --name "Moon 2030" --start 2027-01-04
  pt create-initiative --name "Moon 2030" --start 2027-01-04 --end 2030-12-31 --description - < moon.md`,
			flags: []string{"name", "startDate:start", "endDate:end", "description", "classification", "organisationId:organisation"},
		}, showInitiative),
		showRecord(inv, tracker.UpdateInitiative, commandForm[tracker.UpdateInitiativeIn]{
			long: `Changes what the flags name and leaves the rest; an empty value clears a field that
can be empty.

` + initiativeHelp,
			example: `  pt update-initiative "Moon 2030" --status ON_HOLD
  pt update-initiative moon --end ""`,
			flags: []string{"name", "status", "description", "startDate:start", "endDate:end", "classification", "organisationId:organisation"},
		}, showInitiative),
		removesRecord(inv, tracker.DeleteInitiative, "initiative", commandForm[tracker.DeleteInitiativeIn]{
			long: `Deletes an initiative for good. Its projects stay and lose their initiative, epics
that are tagged with it lose the tag, and the delegations for it end. It asks on a
terminal; without one it needs --yes.

` + initiativeHelp,
			example: `  pt delete-initiative "Moon 2030" --yes`,
			naming: func(ctx context.Context, c *client.Client, in *tracker.DeleteInitiativeIn) (string, error) {
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
	empty: "No initiatives.", flex: 0,
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
	d.Field("Organisation", string(i.OrganisationID))
	d.Field("Created", formatTime(i.CreatedAt)+" by "+string(i.CreatedBy))
	d.Field("Updated", formatTime(i.UpdatedAt))
	d.Quote(i.Description)
}

func showInitiativeDetail(d *markdown.Doc, i *tracker.InitiativeDetail) {
	showInitiative(d, &i.Initiative)
	d.Heading(2, "Projects")
	projectTable.write(d, i.Projects)
	if i.MoreProjects {
		d.Line("There are more: pt list-projects --initiative " + string(i.ID))
	}
}
