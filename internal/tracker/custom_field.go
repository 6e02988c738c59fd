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

func (s *Service) customFieldOperations() []op.Bound {
	return []op.Bound{
		handle(s, contract.CreateCustomField, loadProjectOfNewCustomField, createCustomField),
		handle(s, contract.UpdateCustomField, loadCustomFieldToUpdate, updateCustomField),
		handle(s, contract.DeleteCustomField, loadCustomFieldToDelete, deleteCustomField),
		handle(s, contract.SetCustomFieldValues, loadTaskToSetCustomFieldValues, setCustomFieldValues),
		list(s, contract.ListCustomFields, projectColumns, s.listCustomFields),
	}
}

const (
	// maxFields is the maximum number of custom fields per project.
	maxFields = 100
	// maxFieldText is the maximum length of a TEXT value in characters.
	maxFieldText = 5000
	// maxFieldName is the maximum length of a field name or an option in characters.
	maxFieldName = 100
	// maxDigits is the maximum length of a NUMBER value in characters.
	maxDigits = 40
)

// fieldWithProject is a custom field with its project. Changing a field locks the
// project exclusively, so that no values are set concurrently.
type fieldWithProject struct {
	project projectRow
	field   fieldRow
}

func loadField(ctx context.Context, c *executor.Call, project, field op.UUID) (fieldWithProject, authz.Resource, error) {
	var f fieldWithProject
	var err error
	if f.project, err = loadProject(ctx, c, lockProjectSQL, project); err != nil {
		return f, authz.Resource{}, err
	}
	resource := f.project.resource(c.Tenant)
	f.field, err = postgres.One[fieldRow](ctx, c.DB, fieldByIDSQL, postgres.Args{"tenant": c.Tenant, "project": project, "id": field})
	if !postgres.IsNoRows(err) {
		return f, resource, err
	}
	// Check the project first: the error must not reveal a project that is hidden
	// from the caller.
	if denied := c.Decide(ctx, contract.PermProjectUpdate, resource); denied != nil {
		return f, resource, denied
	}
	return f, resource, fault.NotFound("custom field")
}

func loadProjectOfNewCustomField(ctx context.Context, c *executor.Call, in *contract.CreateCustomFieldIn) (projectRow, authz.Resource, error) {
	project, err := loadProject(ctx, c, lockProjectSQL, in.ProjectID)
	return project, project.resource(c.Tenant), err
}

func createCustomField(ctx context.Context, c *executor.Call, in *contract.CreateCustomFieldIn, project projectRow) (*contract.CustomField, error) {
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
		err = fault.Conflict(fmt.Sprintf("The project already has the maximum of %d custom fields.", maxFields))
	}
	if err == nil {
		err = insertFieldRow(ctx, c, &row)
	}
	if err != nil {
		return nil, err
	}
	return recordField(c, &row, &project, "custom_field.created", contract.EventCustomFieldCreated, nil), nil
}

func checkFieldName(name string) error {
	if name == "" || hasControlCharacter(name) {
		return fault.Validation("name", "The name must have 1 to 100 characters and no control characters.")
	}
	return nil
}

// checkFieldOptions validates the options against the field's type and returns them,
// never nil.
func checkFieldOptions(kind string, given []string) ([]string, error) {
	switch {
	case kind != contract.FieldChoice && len(given) > 0:
		return nil, fault.Validation("options", "Only a field of type CHOICE can have options.")
	case kind == contract.FieldChoice && len(given) == 0:
		return nil, fault.Validation("options", "A field of type CHOICE must have at least one option.")
	}
	options := make([]string, 0, len(given))
	for i, o := range given {
		field := fmt.Sprintf("options.%d", i)
		if o == "" || utf8.RuneCountInString(o) > maxFieldName || o != strings.TrimSpace(o) || hasControlCharacter(o) {
			return nil, fault.Validation(field, "An option must have 1 to 100 characters, no leading or trailing space and no control characters.")
		}
		if slices.Contains(options, o) {
			return nil, fault.Validation(field, fmt.Sprintf("duplicate option %q", o))
		}
		options = append(options, o)
	}
	return options, nil
}

func loadCustomFieldToUpdate(ctx context.Context, c *executor.Call, in *contract.UpdateCustomFieldIn) (fieldWithProject, authz.Resource, error) {
	return loadField(ctx, c, in.ProjectID, in.FieldID)
}

func updateCustomField(ctx context.Context, c *executor.Call, in *contract.UpdateCustomFieldIn, f fieldWithProject) (*contract.CustomField, error) {
	row := f.field
	var p op.Patch
	op.SetTrimmed(&p, "name", &row.Name, in.Name)
	op.Set(&p, "options", &row.Options, in.Options)
	changed, err := p.Changed()
	if err != nil {
		return nil, err
	}
	if err := checkFieldName(row.Name); err != nil {
		return nil, err
	}
	if slices.Contains(changed, "options") {
		if err := checkNewOptions(ctx, c, &row); err != nil {
			return nil, err
		}
	}
	if len(changed) == 0 {
		if err := authorizeUnchanged(ctx, c, contract.PermProjectsRead, f.project.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return row.toCustomField(), nil
	}
	row.UpdatedAt = c.Now
	if err := updateFieldRow(ctx, c, &row); err != nil {
		return nil, err
	}
	return recordField(c, &row, &f.project, "custom_field.updated", contract.EventCustomFieldUpdated, changed), nil
}

// checkNewOptions validates the new options of a field. An option that a task uses cannot be
// removed.
func checkNewOptions(ctx context.Context, c *executor.Call, row *fieldRow) error {
	if _, err := checkFieldOptions(row.Type, row.Options); err != nil {
		return err
	}
	used, err := postgres.CollectScalars[string](ctx, c.DB, usedOptionsSQL, postgres.Args{
		"tenant": c.Tenant, "project": row.ProjectID, "field": row.ID, "options": row.Options,
	})
	if err == nil && len(used) > 0 {
		err = fault.Conflict("Some tasks still use an option that would be removed. Change their values first.").WithDetails(map[string]any{"options": used})
	}
	return err
}

func loadCustomFieldToDelete(ctx context.Context, c *executor.Call, in *contract.DeleteCustomFieldIn) (fieldWithProject, authz.Resource, error) {
	return loadField(ctx, c, in.ProjectID, in.FieldID)
}

func deleteCustomField(ctx context.Context, c *executor.Call, _ *contract.DeleteCustomFieldIn, f fieldWithProject) (*op.None, error) {
	if err := authorizeCascade(ctx, c, "custom_fields", f.field.ID); err != nil {
		return nil, err
	}
	_, err := c.DB.Exec(ctx, deleteFieldSQL, postgres.Args{"tenant": c.Tenant, "id": f.field.ID})
	recordField(c, &f.field, &f.project, "custom_field.deleted", contract.EventCustomFieldDeleted, nil)
	return &op.None{}, err
}

// recordField adds the audit entry and the event of a change and returns the API
// type.
func recordField(c *executor.Call, r *fieldRow, project *projectRow, action string, event *op.EventType, changed []string) *contract.CustomField {
	changes := map[string]any{"projectId": r.ProjectID, "type": r.Type}
	if changed != nil {
		changes["fields"] = changed
	}
	field := r.toCustomField()
	c.Record(executor.Change{
		Action: action, Type: "custom_field", ID: r.ID, Classification: project.Classification,
		Fields: changed, Details: changes,
		Event: event, Payload: field,
	})
	return field
}

func loadTaskToSetCustomFieldValues(ctx context.Context, c *executor.Call, in *contract.SetCustomFieldValuesIn) (taskRow, authz.Resource, error) {
	row, err := loadTask(ctx, c, in.ProjectID, in.Task, true)
	return row, row.resource(c.Tenant), err
}

// setCustomFieldValues sets and clears field values. If one value is invalid, none is
// changed.
func setCustomFieldValues(ctx context.Context, c *executor.Call, in *contract.SetCustomFieldValuesIn, row taskRow) (*contract.Task, error) {
	fields, err := postgres.Collect[fieldRow](ctx, c.DB, fieldsOfProjectSQL, postgres.Args{"tenant": c.Tenant, "project": row.ProjectID})
	if err != nil {
		return nil, err
	}
	old, err := loadFieldValues(ctx, c, &row)
	if err != nil {
		return nil, err
	}
	current := map[op.UUID]string{}
	for _, v := range old {
		current[v.FieldID] = v.Value
	}
	seen := map[op.UUID]bool{}
	var set, cleared []op.UUID
	var values []string
	for i, v := range in.Values {
		at := fmt.Sprintf("values.%d", i)
		n := slices.IndexFunc(fields, func(f fieldRow) bool { return f.matches(v.Field) })
		if n < 0 {
			return nil, fault.Validation(at+".field", "The project has no such custom field. list-custom-fields lists its fields.")
		}
		field := &fields[n]
		if seen[field.ID] {
			return nil, fault.Validation(at+".field", "The field is set more than once in this request.")
		}
		seen[field.ID] = true
		value, problem := field.parseValue(v.Value)
		switch {
		case problem != "":
			return nil, fault.Validation(at+".value", problem)
		case value == current[field.ID]:
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
		if err := writeFieldValues(ctx, c, &row, set, values, cleared); err != nil {
			return nil, err
		}
		rows, err := loadTasks(ctx, c, []op.UUID{row.ID})
		if err != nil {
			return nil, err
		}
		row = *rows[row.ID]
		recordTask(c, &row, "task.updated", contract.EventTaskUpdated, []string{"customFields"}, map[string]any{"set": set, "cleared": cleared})
	}
	t := row.toTaskForCaller(ctx, c)
	t.CustomFields, err = loadFieldValues(ctx, c, &row)
	return t, err
}

// matches reports whether the text is the field's id or, ignoring case, its name.
func (r *fieldRow) matches(text string) bool {
	if id, err := op.ParseUUID(text); err == nil && id == r.ID {
		return true
	}
	return strings.EqualFold(strings.TrimSpace(text), r.Name)
}

// parseValue returns the value in the normalized form in which it is stored, or a
// message that describes why it is invalid. An empty text is the empty value.
func (r *fieldRow) parseValue(text string) (value, problem string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", ""
	}
	switch r.Type {
	case contract.FieldNumber:
		return normalizeNumber(text)
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
			return "", "The value must be one of the field's options. list-custom-fields lists them."
		}
		return text, ""
	default:
		if utf8.RuneCountInString(text) > maxFieldText {
			return "", fmt.Sprintf("The value must have at most %d characters.", maxFieldText)
		}
		return text, ""
	}
}

// normalizeNumber returns a decimal number without plus sign, leading zeros and
// trailing fractional zeros, or a message that describes why it is invalid.
func normalizeNumber(text string) (string, string) {
	const problem = "The value must be a decimal number of at most 40 characters, such as -12.5."
	digits := strings.TrimLeft(text, "+-")
	integer, fraction, hasPoint := strings.Cut(digits, ".")
	onlyDigits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	if len(text) > maxDigits || len(text)-len(digits) > 1 || integer == "" || (hasPoint && fraction == "") || !onlyDigits(integer) || !onlyDigits(fraction) {
		return "", problem
	}
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		return "", problem
	}
	value := n.FloatString(len(fraction))
	if strings.Contains(value, ".") {
		value = strings.TrimRight(strings.TrimRight(value, "0"), ".")
	}
	if value == "-0" {
		value = "0"
	}
	return value, ""
}
