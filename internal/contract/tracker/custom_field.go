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

// The events of custom fields. The payload is the CustomField; values are part
// of their task, whose event tells of them.
const (
	EventCustomFieldCreated = "projects.custom_field.created"
	EventCustomFieldUpdated = "projects.custom_field.updated"
	EventCustomFieldDeleted = "projects.custom_field.deleted"
)

// CustomField is a field that a project gives its tasks.
type CustomField struct {
	ID        op.UUID   `json:"id" doc:"The field's id."`
	ProjectID op.UUID   `json:"projectId" doc:"The project whose tasks have the field."`
	Name      string    `json:"name" doc:"The field's name, once in its project whatever the letters' case. Untrusted text."`
	Type      string    `json:"type" enum:"TEXT|NUMBER|DATE|BOOLEAN|CHOICE" doc:"What values it takes."`
	Options   []string  `json:"options" doc:"The values of a CHOICE, in their order; empty for other types. Untrusted text."`
	CreatedAt time.Time `json:"createdAt" doc:"When the field was made."`
	UpdatedAt time.Time `json:"updatedAt" doc:"When the field last changed."`
}

// CustomFieldValue is the value of a custom field on a task.
type CustomFieldValue struct {
	FieldID op.UUID `json:"fieldId" doc:"The field's id."`
	Name    string  `json:"name" doc:"The field's name. Untrusted text."`
	Type    string  `json:"type" enum:"TEXT|NUMBER|DATE|BOOLEAN|CHOICE" doc:"The field's type."`
	Value   string  `json:"value" doc:"The value as text: a number in decimals, a date as YYYY-MM-DD, true or false, an option, or free text. Untrusted text."`
}

// ListCustomFieldsIn names a project.
type ListCustomFieldsIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many fields to return at most."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the page before."`
}

// ListCustomFields lists the fields that a project gives its tasks, by name.
var ListCustomFields = op.New[ListCustomFieldsIn, op.Page[CustomField]](op.Spec{
	Name: "list-custom-fields", Module: Module, Method: "GET", Path: "/api/projects/{projectId}/custom-fields", Permission: PermProjectsRead, Effect: op.Read,
	Summary: "List the custom fields of a project's tasks, by name.",
})

// CreateCustomFieldIn describes a field to be.
type CreateCustomFieldIn struct {
	ProjectID op.UUID  `path:"projectId" format:"uuid" doc:"The project's id."`
	Name      string   `json:"name" required:"true" maxLength:"100" doc:"The field's name, once in its project whatever the letters' case."`
	Type      string   `json:"type" required:"true" enum:"TEXT|NUMBER|DATE|BOOLEAN|CHOICE" doc:"What values it takes. It never changes."`
	Options   []string `json:"options" maxLength:"100" doc:"The values of a CHOICE, in their order, each of 1 to 100 characters; only a CHOICE has them, and it needs at least one."`
}

// CreateCustomField gives the tasks of a project another field.
var CreateCustomField = op.New[CreateCustomFieldIn, CustomField](op.Spec{
	Name: "create-custom-field", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/custom-fields", Permission: PermProjectUpdate, Effect: op.Write, Status: 201,
	Summary:     "Give the tasks of a project a custom field.",
	Description: "A project has at most 100.",
})

// UpdateCustomFieldIn holds what is to change of a field.
type UpdateCustomFieldIn struct {
	ProjectID op.UUID          `path:"projectId" format:"uuid" doc:"The project's id."`
	FieldID   op.UUID          `path:"fieldId" format:"uuid" doc:"The field's id."`
	Name      op.Opt[string]   `json:"name" minLength:"1" maxLength:"100" doc:"Another name."`
	Options   op.Opt[[]string] `json:"options" minLength:"1" maxLength:"100" doc:"The whole new list of a CHOICE's values. One that tasks still have can't go."`
}

// UpdateCustomField changes a field's name or options.
var UpdateCustomField = op.New[UpdateCustomFieldIn, CustomField](op.Spec{
	Name: "update-custom-field", Module: Module, Method: "PATCH", Path: "/api/projects/{projectId}/custom-fields/{fieldId}", Permission: PermProjectUpdate, Effect: op.Write,
	Summary: "Change a custom field's name or options.",
})

// DeleteCustomFieldIn names a field.
type DeleteCustomFieldIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	FieldID   op.UUID `path:"fieldId" format:"uuid" doc:"The field's id."`
}

// DeleteCustomField takes a field away.
var DeleteCustomField = op.New[DeleteCustomFieldIn, op.None](op.Spec{
	Name: "delete-custom-field", Module: Module, Method: "DELETE", Path: "/api/projects/{projectId}/custom-fields/{fieldId}", Permission: PermProjectUpdate, Effect: op.Destroy, Status: 204,
	Summary: "Delete a custom field, and its values on all tasks, for good.",
})

// FieldValueIn sets or clears one field of a task.
type FieldValueIn struct {
	Field string `json:"field" doc:"The field's id or name."`
	Value string `json:"value" doc:"The value as text: a number in decimals, a date as YYYY-MM-DD, true or false, one of the options, or up to 5000 characters of free text. The empty text clears the field."`
}

// SetCustomFieldValuesIn sets fields of a task.
type SetCustomFieldValuesIn struct {
	ProjectID op.UUID        `path:"projectId" format:"uuid" doc:"The project's id."`
	Task      string         `path:"task" maxLength:"64" doc:"The task's key or id."`
	Values    []FieldValueIn `json:"values" required:"true" minLength:"1" maxLength:"100" doc:"The fields to set or clear; others stay as they are."`
}

// SetCustomFieldValues sets or clears custom fields of a task.
var SetCustomFieldValues = op.New[SetCustomFieldValuesIn, Task](op.Spec{
	Name: "set-custom-field-values", Module: Module, Method: "PATCH", Path: "/api/projects/{projectId}/tasks/{task}/custom-fields", Permission: PermTaskUpdate, Effect: op.Write,
	Summary: "Set or clear custom fields of a task.",
})
