package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

func newCustomFieldCmds(inv *invocation) []*cobra.Command {
	var values []string
	return []*cobra.Command{
		newListCmd(inv, tracker.ListCustomFields, commandForm[tracker.ListCustomFieldsIn]{
			example: `  pt list-custom-fields APOLLO`,
		}, fieldTable),
		newRecordCmd(inv, tracker.CreateCustomField, commandForm[tracker.CreateCustomFieldIn]{
			example: `  pt create-custom-field APOLLO --name Crew --type CHOICE --options "Red,Blue"
  pt create-custom-field APOLLO --name "Launch window" --type DATE`,
			flags: []string{"name", "type", "options"},
		}, showField),
		newRecordCmd(inv, tracker.UpdateCustomField, commandForm[tracker.UpdateCustomFieldIn]{
			example: `  pt update-custom-field APOLLO Crew --options "Red,Blue,Green"`,
			flags:   []string{"name", "options"},
		}, showField),
		newDeleteCmd(inv, tracker.DeleteCustomField, "custom field", commandForm[tracker.DeleteCustomFieldIn]{
			example: `  pt delete-custom-field APOLLO Crew --yes`,
		}),
		newRecordCmd(inv, tracker.SetCustomFieldValues, commandForm[tracker.SetCustomFieldValuesIn]{
			long: `Set custom fields of a task, each by its name or ID. Other fields do not change. An
empty value clears a field. A value is a decimal number, a date as YYYY-MM-DD, true or
false, one of the options, or free text, depending on the type of the field.`,
			example: `  pt set-custom-field-values APOLLO-17 --value Crew=Blue --value "Launch window=2027-03-31"
  pt set-custom-field-values APOLLO-17 --value Crew=`,
			setup: func(cmd *cobra.Command, _ *tracker.SetCustomFieldValuesIn) {
				cmd.Flags().StringArrayVar(&values, "value", nil, "A field and its value as `NAME=VALUE`; can be repeated")
				must(cmd.MarkFlagRequired("value"))
			},
			prepareInput: func(in *tracker.SetCustomFieldValuesIn) error {
				for _, text := range values {
					name, value, ok := strings.Cut(text, "=")
					if !ok || strings.TrimSpace(name) == "" {
						return usagef("--value %q must have the form NAME=VALUE", text)
					}
					in.Values = append(in.Values, tracker.FieldValueIn{Field: strings.TrimSpace(name), Value: value})
				}
				return nil
			},
		}, showTask),
	}
}

var fieldTable = table[tracker.CustomField]{
	emptyText: "No custom fields.", flex: 2,
	columns: []column[tracker.CustomField]{
		{name: "Name", value: func(f *tracker.CustomField) string { return f.Name }},
		{name: "Type", value: func(f *tracker.CustomField) string { return f.Type }},
		{name: "Options", value: func(f *tracker.CustomField) string { return strings.Join(f.Options, ", ") }},
		{name: "ID", value: func(f *tracker.CustomField) string { return string(f.ID) }},
	},
}

func showField(d *markdown.Doc, f *tracker.CustomField) {
	d.Heading(1, f.Name)
	d.Field("ID", string(f.ID))
	d.Field("Project", recordName(f.Project, f.ProjectID))
	d.Field("Type", f.Type)
	d.Field("Options", strings.Join(f.Options, ", "))
	d.Field("Created", formatTime(f.CreatedAt))
	d.Field("Updated", formatTime(f.UpdatedAt))
}

// customFields returns the custom fields of a project. A project has at most 100, so one
// page contains them all.
func customFields(ctx context.Context, c *client.Client, project op.UUID) ([]candidate, error) {
	page, err := callOperation(ctx, c, tracker.ListCustomFields, &tracker.ListCustomFieldsIn{ProjectID: project, Limit: maxPage})
	if err != nil {
		return nil, err
	}
	var all []candidate
	for _, f := range page.Items {
		all = append(all, candidate{id: f.ID, name: f.Name})
	}
	return all, nil
}
