package tracker

import (
	"time"

	"parapet/internal/op"
)

// The types of a custom field.
const (
	FieldText    = "TEXT"
	FieldNumber  = "NUMBER"
	FieldDate    = "DATE"
	FieldBoolean = "BOOLEAN"
	FieldChoice  = "CHOICE"
)

// The events of custom fields. The payload is the CustomField. A change of a
// task's values is reported by EventTaskUpdated instead.
var (
	EventCustomFieldCreated = op.DeclareEvent[CustomField](Contract, "projects.custom_field.created", "A custom field was created.")
	EventCustomFieldUpdated = op.DeclareEvent[CustomField](Contract, "projects.custom_field.updated", "A custom field changed. A change of its value in a task is projects.task.updated.")
	EventCustomFieldDeleted = op.DeclareEvent[CustomField](Contract, "projects.custom_field.deleted", "A custom field was deleted with its values.")
)

// CustomField is a field that a project defines for its tasks.
type CustomField struct {
	ID        op.UUID       `json:"id" doc:"The field's id."`
	ProjectID op.UUID       `json:"projectId" doc:"The project whose tasks have the field."`
	Project   *op.Reference `json:"project,omitempty" doc:"The name of the record that projectId identifies."`
	Name      string        `json:"name" doc:"The field's name, unique in the project, case-insensitive. Untrusted text."`
	Type      string        `json:"type" enum:"TEXT|NUMBER|DATE|BOOLEAN|CHOICE" doc:"The type of the field's values."`
	Options   []string      `json:"options" doc:"The allowed values of a CHOICE field, in order; empty for other types. Untrusted text."`
	CreatedAt time.Time     `json:"createdAt" doc:"When the field was created."`
	UpdatedAt time.Time     `json:"updatedAt" doc:"When the field last changed."`
}

// CustomFieldValue is the value of a custom field on a task.
type CustomFieldValue struct {
	FieldID op.UUID `json:"fieldId" doc:"The field's id."`
	Name    string  `json:"name" doc:"The field's name. Untrusted text."`
	Type    string  `json:"type" enum:"TEXT|NUMBER|DATE|BOOLEAN|CHOICE" doc:"The field's type."`
	Value   string  `json:"value" doc:"The value as text: a decimal number, a date as YYYY-MM-DD, true or false, one of the options, or free text. Untrusted text."`
}

// ListCustomFieldsIn is the input of ListCustomFields.
type ListCustomFieldsIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of fields to return."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListCustomFields lists a project's custom fields, by name.
var ListCustomFields = op.Declare[ListCustomFieldsIn, op.Page[CustomField]](Contract, op.Spec{
	Name: "list-custom-fields", Method: "GET", Path: "/api/projects/{projectId}/custom-fields", Permission: PermProjectsRead, Effect: op.Read,
	Summary: "List the custom fields of a project's tasks, by name.",
})

// CreateCustomFieldIn is the input of CreateCustomField.
type CreateCustomFieldIn struct {
	ProjectID op.UUID  `path:"projectId" format:"uuid" doc:"The project."`
	Name      string   `json:"name" required:"true" maxLength:"100" doc:"The field's name, unique in the project, case-insensitive."`
	Type      string   `json:"type" required:"true" enum:"TEXT|NUMBER|DATE|BOOLEAN|CHOICE" doc:"The type of the field's values. It cannot be changed later."`
	Options   []string `json:"options" maxLength:"100" doc:"The allowed values of a CHOICE field, in order, each of 1 to 100 characters. Required for CHOICE, not allowed for other types."`
}

// CreateCustomField adds a custom field to a project.
var CreateCustomField = op.Declare[CreateCustomFieldIn, CustomField](Contract, op.Spec{
	Name: "create-custom-field", Method: "POST", Path: "/api/projects/{projectId}/custom-fields", Permission: PermProjectUpdate, Effect: op.Write, Status: 201,
	Summary:     "Add a custom field to the tasks of a project.",
	Description: "A project can have at most 100 custom fields.",
})

// UpdateCustomFieldIn is the input of UpdateCustomField.
type UpdateCustomFieldIn struct {
	ProjectID op.UUID          `path:"projectId" format:"uuid" doc:"The project."`
	FieldID   op.UUID          `path:"fieldId" format:"uuid" doc:"The field's id."`
	Name      op.Opt[string]   `json:"name" minLength:"1" maxLength:"100" doc:"A new name."`
	Options   op.Opt[[]string] `json:"options" minLength:"1" maxLength:"100" doc:"The complete new list of allowed values of a CHOICE field. A value that tasks still use cannot be removed."`
}

// UpdateCustomField changes a field's name or options.
var UpdateCustomField = op.Declare[UpdateCustomFieldIn, CustomField](Contract, op.Spec{
	Name: "update-custom-field", Method: "PATCH", Path: "/api/projects/{projectId}/custom-fields/{fieldId}", Permission: PermProjectUpdate, Effect: op.Write,
	Summary: "Change a custom field's name or options.",
})

// DeleteCustomFieldIn is the input of DeleteCustomField.
type DeleteCustomFieldIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	FieldID   op.UUID `path:"fieldId" format:"uuid" doc:"The field's id."`
}

// DeleteCustomField deletes a custom field with its values.
var DeleteCustomField = op.Declare[DeleteCustomFieldIn, op.None](Contract, op.Spec{
	Name: "delete-custom-field", Method: "DELETE", Path: "/api/projects/{projectId}/custom-fields/{fieldId}", Permission: PermProjectUpdate, Effect: op.Destroy, Status: 204,
	Summary: "Delete a custom field and its values permanently.",
})

// FieldValueIn sets or clears one custom field of a task.
type FieldValueIn struct {
	Field string `json:"field" doc:"The field's id or name."`
	Value string `json:"value" doc:"The value as text: a decimal number, a date as YYYY-MM-DD, true or false, one of the options, or up to 5000 characters of free text. An empty string clears the field."`
}

// SetCustomFieldValuesIn is the input of SetCustomFieldValues.
type SetCustomFieldValuesIn struct {
	ProjectID op.UUID        `path:"projectId" format:"uuid" doc:"The project."`
	Task      string         `path:"task" maxLength:"64" doc:"The task's key or id."`
	Values    []FieldValueIn `json:"values" required:"true" minLength:"1" maxLength:"100" doc:"The fields to set or clear. Other fields are not changed."`
}

// SetCustomFieldValues sets or clears custom fields of a task.
var SetCustomFieldValues = op.Declare[SetCustomFieldValuesIn, Task](Contract, op.Spec{
	Name: "set-custom-field-values", Method: "PATCH", Path: "/api/projects/{projectId}/tasks/{task}/custom-fields", Permission: PermTaskUpdate, Effect: op.Write,
	Summary: "Set or clear custom fields of a task.",
})
