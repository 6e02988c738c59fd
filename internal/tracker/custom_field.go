package tracker

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

const (
	// maxFields is how many custom fields a project can have.
	maxFields = 100
	// maxFieldText is the length in characters of the longest value of type TEXT.
	maxFieldText = 5000
	// maxFieldName is that of the longest name of a field or an option.
	maxFieldName = 100
	// maxDigits bounds a number: what is longer is no number that people mean.
	maxDigits = 40
)

// fieldOfProject is a custom field and the project whose it is. Whoever changes
// a field holds the project alone, so that no value is set meanwhile.
type fieldOfProject struct {
	project projectRow
	field   fieldRow
}

func loadField(ctx context.Context, c *executor.Call, project, field op.UUID) (fieldOfProject, authz.Resource, error) {
	var f fieldOfProject
	var err error
	if f.project, err = loadProject(ctx, c, lockProjectSQL, project); err != nil {
		return f, authz.Resource{}, err
	}
	resource := f.project.resource(c.Tenant)
	f.field, err = postgres.One[fieldRow](ctx, c.DB, fieldByIDSQL, postgres.Args{"tenant": c.Tenant, "project": project, "id": field})
	if !postgres.IsNoRows(err) {
		return f, resource, err
	}
	// A project that the caller may not know of comes before the field.
	if denied := c.Decide(ctx, contract.PermProjectUpdate, resource); denied != nil {
		return f, resource, denied
	}
	return f, resource, fault.NotFound("custom field")
}

func (s *Service) createCustomFieldHandler() executor.Handler[contract.CreateCustomFieldIn, contract.CustomField, projectRow] {
	return executor.Handler[contract.CreateCustomFieldIn, contract.CustomField, projectRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.CreateCustomFieldIn) (projectRow, authz.Resource, error) {
			project, err := loadProject(ctx, c, lockProjectSQL, in.ProjectID)
			return project, project.resource(c.Tenant), err
		},
		Do: func(ctx context.Context, c *executor.Call, in *contract.CreateCustomFieldIn, project projectRow) (*contract.CustomField, error) {
			row := fieldRow{
				ID: uid.New(), ProjectID: project.ID, Name: strings.TrimSpace(in.Name), Type: in.Type,
				CreatedBy: c.Actor.UserID, CreatedAt: c.Now, UpdatedAt: c.Now,
			}
			options, err := checkFieldOptions(in.Type, in.Options)
			if err == nil {
				row.Options = options
				err = checkFieldName(row.Name)
			}
			if err != nil {
				return nil, err
			}
			var n int
			err = c.DB.QueryRow(ctx, countFieldsSQL, postgres.Args{"tenant": c.Tenant, "project": project.ID}).Scan(&n)
			if err == nil && n >= maxFields {
				err = fault.Conflict(fmt.Sprintf("The project has %d custom fields already, and there can't be more.", maxFields))
			}
			if err == nil {
				err = insertFieldRow(ctx, c, &row)
			}
			if err != nil {
				return nil, err
			}
			return recordField(c, &row, &project, "custom_field.created", contract.EventCustomFieldCreated, nil), nil
		},
	}
}

func checkFieldName(name string) error {
	if name == "" || hasControl(name) {
		return fault.Validation("name", "A custom field needs a name of 1 to 100 characters, with no control character in it.")
	}
	return nil
}

// checkFieldOptions holds the options of a field against its type; never nil.
func checkFieldOptions(kind string, given []string) ([]string, error) {
	switch {
	case kind != contract.FieldChoice && len(given) > 0:
		return nil, fault.Validation("options", "Only a field of type CHOICE has options.")
	case kind == contract.FieldChoice && len(given) == 0:
		return nil, fault.Validation("options", "A field of type CHOICE needs at least one option.")
	}
	options := make([]string, 0, len(given))
	for i, o := range given {
		field := fmt.Sprintf("options.%d", i)
		if o == "" || utf8.RuneCountInString(o) > maxFieldName || o != strings.TrimSpace(o) || hasControl(o) {
			return nil, fault.Validation(field, "An option needs 1 to 100 characters, with no space around it and no control character in it.")
		}
		if slices.Contains(options, o) {
			return nil, fault.Validation(field, fmt.Sprintf("duplicate option %q", o))
		}
		options = append(options, o)
	}
	return options, nil
}

func (s *Service) updateCustomFieldHandler() executor.Handler[contract.UpdateCustomFieldIn, contract.CustomField, fieldOfProject] {
	return executor.Handler[contract.UpdateCustomFieldIn, contract.CustomField, fieldOfProject]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.UpdateCustomFieldIn) (fieldOfProject, authz.Resource, error) {
			return loadField(ctx, c, in.ProjectID, in.FieldID)
		},
		Do: updateCustomField,
	}
}

func updateCustomField(ctx context.Context, c *executor.Call, in *contract.UpdateCustomFieldIn, f fieldOfProject) (*contract.CustomField, error) {
	row := f.field
	if in.Name.Null {
		return nil, cannotClear("name")
	}
	if in.Options.Null {
		return nil, cannotClear("options")
	}
	row.Name = strings.TrimSpace(in.Name.Or(row.Name))
	if err := checkFieldName(row.Name); err != nil {
		return nil, err
	}
	var changed []string
	if row.Name != f.field.Name {
		changed = append(changed, "name")
	}
	if in.Options.Set {
		options, err := checkFieldOptions(row.Type, in.Options.Value)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(options, row.Options) {
			changed, row.Options = append(changed, "options"), options
			used, err := postgres.CollectScalars[string](ctx, c.DB, usedOptionsSQL, postgres.Args{
				"tenant": c.Tenant, "project": row.ProjectID, "field": row.ID, "options": options,
			})
			if err != nil {
				return nil, err
			}
			if len(used) > 0 {
				return nil, fault.Conflict("Tasks still have an option that would go. Change them first.").WithDetails(map[string]any{"options": used})
			}
		}
	}
	if len(changed) == 0 {
		if err := authorizeUnchanged(ctx, c, contract.PermProjectsRead, f.project.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return row.field(), nil
	}
	row.UpdatedAt = c.Now
	if err := updateFieldRow(ctx, c, &row); err != nil {
		return nil, err
	}
	return recordField(c, &row, &f.project, "custom_field.updated", contract.EventCustomFieldUpdated, changed), nil
}

func (s *Service) deleteCustomFieldHandler() executor.Handler[contract.DeleteCustomFieldIn, op.None, fieldOfProject] {
	return executor.Handler[contract.DeleteCustomFieldIn, op.None, fieldOfProject]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.DeleteCustomFieldIn) (fieldOfProject, authz.Resource, error) {
			return loadField(ctx, c, in.ProjectID, in.FieldID)
		},
		Do: func(ctx context.Context, c *executor.Call, _ *contract.DeleteCustomFieldIn, f fieldOfProject) (*op.None, error) {
			if err := authorizeCascade(ctx, c, "custom_fields", f.field.ID); err != nil {
				return nil, err
			}
			_, err := c.DB.Exec(ctx, deleteFieldSQL, postgres.Args{"tenant": c.Tenant, "id": f.field.ID})
			recordField(c, &f.field, &f.project, "custom_field.deleted", contract.EventCustomFieldDeleted, nil)
			return &op.None{}, err
		},
	}
}

// recordField adds the audit entry and the event of a change, and gives the
// field's public form.
func recordField(c *executor.Call, r *fieldRow, project *projectRow, action, event string, changed []string) *contract.CustomField {
	changes := map[string]any{"projectId": r.ProjectID, "type": r.Type}
	if changed != nil {
		changes["fields"] = changed
	}
	public := r.field()
	c.Record(executor.AuditEntry{
		Action: action, ResourceType: "custom_field", ResourceID: string(r.ID), Changes: changes, Classification: project.Classification,
	})
	c.Emit(executor.Event{Type: event, AggregateType: "custom_field", AggregateID: r.ID, Payload: public, Changed: changed})
	return public
}

func (s *Service) setCustomFieldValuesHandler() executor.Handler[contract.SetCustomFieldValuesIn, contract.Task, taskRow] {
	return executor.Handler[contract.SetCustomFieldValuesIn, contract.Task, taskRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.SetCustomFieldValuesIn) (taskRow, authz.Resource, error) {
			row, err := loadTask(ctx, c, in.ProjectID, in.Task, true)
			return row, row.resource(c.Tenant), err
		},
		Do: setCustomFieldValues,
	}
}

// setCustomFieldValues sets and clears fields: all that were asked for, or none.
func setCustomFieldValues(ctx context.Context, c *executor.Call, in *contract.SetCustomFieldValuesIn, row taskRow) (*contract.Task, error) {
	fields, err := postgres.Collect[fieldRow](ctx, c.DB, fieldsOfProjectSQL, postgres.Args{"tenant": c.Tenant, "project": row.ProjectID})
	if err != nil {
		return nil, err
	}
	old, err := valuesOf(ctx, c, &row)
	if err != nil {
		return nil, err
	}
	now := map[op.UUID]string{}
	for _, v := range old {
		now[v.FieldID] = v.Value
	}
	seen := map[op.UUID]bool{}
	var set, cleared []op.UUID
	var values []string
	for i, v := range in.Values {
		at := fmt.Sprintf("values.%d", i)
		n := slices.IndexFunc(fields, func(f fieldRow) bool { return f.named(v.Field) })
		if n < 0 {
			return nil, fault.Validation(at+".field", "The project has no such custom field. list-custom-fields names them.")
		}
		field := &fields[n]
		if seen[field.ID] {
			return nil, fault.Validation(at+".field", "A field can be set once in a request.")
		}
		seen[field.ID] = true
		value, problem := field.read(v.Value)
		switch {
		case problem != "":
			return nil, fault.Validation(at+".value", problem)
		case value == now[field.ID]:
		case value == "":
			cleared = append(cleared, field.ID)
		default:
			set, values = append(set, field.ID), append(values, value)
		}
	}
	if len(set)+len(cleared) == 0 {
		if err := authorizeUnchanged(ctx, c, contract.PermTasksRead, row.resource(c.Tenant)); err != nil {
			return nil, err
		}
	} else {
		if err := writeValues(ctx, c, &row, set, values, cleared); err != nil {
			return nil, err
		}
		rows, err := loadTasks(ctx, c, []op.UUID{row.ID})
		if err != nil {
			return nil, err
		}
		row = *rows[row.ID]
		recordTask(c, &row, "task.updated", contract.EventTaskUpdated, []string{"customFields"}, map[string]any{"set": set, "cleared": cleared})
	}
	t := row.show(ctx, c)
	t.CustomFields, err = valuesOf(ctx, c, &row)
	return t, err
}

// named tells whether a request means the field: by id, or by name in any case.
func (r *fieldRow) named(text string) bool {
	if id, err := op.ParseUUID(text); err == nil && id == r.ID {
		return true
	}
	return strings.EqualFold(strings.TrimSpace(text), r.Name)
}

// read gives the one form in which a value of the field is kept, or says what is
// wrong with it. The empty text is no value.
func (r *fieldRow) read(text string) (value, problem string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", ""
	}
	switch r.Type {
	case contract.FieldNumber:
		return readNumber(text)
	case contract.FieldDate:
		day, err := op.ParseDate(text)
		if err != nil {
			return "", "The value must be a date such as 2027-03-31."
		}
		return string(day), ""
	case contract.FieldBoolean:
		if text = strings.ToLower(text); text != "true" && text != "false" {
			return "", "The value must be true or false."
		}
		return text, ""
	case contract.FieldChoice:
		if !slices.Contains(r.Options, text) {
			return "", "The value must be one of the field's options, which list-custom-fields gives."
		}
		return text, ""
	default:
		if utf8.RuneCountInString(text) > maxFieldText {
			return "", fmt.Sprintf("The value must have at most %d characters.", maxFieldText)
		}
		return text, ""
	}
}

// readNumber gives a decimal number without what says nothing: a plus, zeros in
// front and behind.
func readNumber(text string) (string, string) {
	const problem = "The value must be a decimal number of at most 40 characters, such as -12.5."
	digits := strings.TrimLeft(text, "+-")
	whole, part, point := strings.Cut(digits, ".")
	onlyDigits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	if len(text) > maxDigits || len(text)-len(digits) > 1 || whole == "" || (point && part == "") || !onlyDigits(whole) || !onlyDigits(part) {
		return "", problem
	}
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		return "", problem
	}
	value := n.FloatString(len(part))
	if strings.Contains(value, ".") {
		value = strings.TrimRight(strings.TrimRight(value, "0"), ".")
	}
	if value == "-0" {
		value = "0"
	}
	return value, ""
}
