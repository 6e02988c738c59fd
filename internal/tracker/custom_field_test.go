package tracker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func TestCustomField_SetUpdateAndDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.createProject("Apollo"), w.createProject("Gemini")
	task := w.createTask(p, "Land")
	member := w.addPerson(person{roles: []string{"Member"}})
	created := map[string]*contract.CustomField{}
	for kind, options := range map[string][]string{"TEXT": nil, "NUMBER": nil, "DATE": nil, "BOOLEAN": nil, "CHOICE": {"Red", "Blue"}} {
		in := fields{"projectId": p.ID, "name": " The " + strings.ToLower(kind), "type": kind}
		if options != nil {
			in["options"] = options
		}
		created[kind] = do[contract.CustomField](w, w.manager, "create-custom-field", in)
	}
	w.wantAuditAndEvents(1, "custom_field.created", contract.EventCustomFieldCreated, created["TEXT"].ID)
	w.wantError(fault.CodeForbidden, member, "create-custom-field", fields{"projectId": p.ID, "name": "x", "type": "TEXT"})
	at := fields{"projectId": p.ID, "task": task.Key}
	set := func(field any, value string) (*contract.Task, error) {
		out, err := w.call(member, "set-custom-field-values", merge(fields{"values": []fields{{"field": field, "value": value}}}, at))
		typed, _ := out.(*contract.Task)
		return typed, err
	}
	for _, c := range []struct{ kind, given, want string }{
		{"TEXT", " free  text ", "free  text"}, {"NUMBER", "+007.50", "7.5"}, {"NUMBER", "-0.00", "0"}, {"NUMBER", "-12", "-12"}, {"NUMBER", "100", "100"},
		{"DATE", "2027-03-01T23:00:00-05:00", "2027-03-02"}, {"BOOLEAN", "TRUE", "true"}, {"CHOICE", "Blue", "Blue"},
	} {
		got, err := set(created[c.kind].ID, c.given)
		if err != nil || !slices.ContainsFunc(got.CustomFields, func(v contract.CustomFieldValue) bool {
			return v.FieldID == created[c.kind].ID && v.Value == c.want && v.Type == c.kind
		}) {
			t.Errorf("%s %q: got %+v %v, want %q", c.kind, c.given, got, err, c.want)
		}
	}
	for _, c := range []struct{ field, value, wrong string }{
		{string(created["NUMBER"].ID), "1e9", "values.0.value"}, {string(created["NUMBER"].ID), "--1", "values.0.value"}, {string(created["NUMBER"].ID), "1/2", "values.0.value"},
		{string(created["NUMBER"].ID), ".5", "values.0.value"}, {string(created["NUMBER"].ID), "1.", "values.0.value"}, {string(created["NUMBER"].ID), strings.Repeat("9", 41), "values.0.value"},
		{string(created["NUMBER"].ID), "1_000", "values.0.value"}, {string(created["DATE"].ID), "soon", "values.0.value"}, {string(created["BOOLEAN"].ID), "yes", "values.0.value"},
		{string(created["CHOICE"].ID), "red", "values.0.value"}, {string(created["TEXT"].ID), strings.Repeat("x", 5001), "values.0.value"},
		{"no such", "x", "values.0.field"}, {string(w.acme), "x", "values.0.field"},
	} {
		if _, err := set(c.field, c.value); !fault.HasCode(err, fault.CodeValidation) || fault.From(err).Field != c.wrong {
			t.Errorf("%.40s %.20q: got %v, want VALIDATION of %s", c.field, c.value, err, c.wrong)
		}
	}
	// A field may occur only once, and an invalid value leaves all fields unchanged.
	f := w.wantError(fault.CodeValidation, member, "set-custom-field-values", merge(fields{"values": []fields{{"field": "the text", "value": "new"}, {"field": "THE TEXT", "value": "x"}}}, at))
	if f.Field != "values.1.field" {
		t.Errorf("got field %q, want values.1.field", f.Field)
	}
	got := do[contract.Task](w, member, "get-task", at)
	var names []string
	for _, v := range got.CustomFields {
		names = append(names, v.Name+"="+v.Value)
	}
	if want := "The boolean=true, The choice=Blue, The date=2027-03-02, The number=100, The text=free  text"; strings.Join(names, ", ") != want {
		t.Errorf("got %v, want %s", names, want)
	}
	// A request without changes adds no audit entry.
	entries, _ := w.countAuditAndEvents("task.updated", contract.EventTaskUpdated, task.ID)
	if _, err := set("the choice", "Blue"); err != nil {
		t.Error(err)
	}
	w.wantAuditAndEvents(entries, "task.updated", contract.EventTaskUpdated, task.ID)
	if got, err := set("the TEXT", ""); err != nil || len(got.CustomFields) != 4 {
		t.Errorf("after clearing a value: got %+v %v, want 4 values", got, err)
	}
	w.wantAuditAndEvents(entries+1, "task.updated", contract.EventTaskUpdated, task.ID)
	// A field is found only in its project, and field names are unique per project.
	w.wantError(fault.CodeNotFound, w.manager, "update-custom-field", fields{"projectId": other.ID, "fieldId": created["TEXT"].ID, "name": "x"})
	w.wantError(fault.CodeConflict, w.manager, "create-custom-field", fields{"projectId": p.ID, "name": "THE TEXT", "type": "TEXT"})
	w.wantError(fault.CodeConflict, w.manager, "update-custom-field", fields{"projectId": p.ID, "fieldId": created["TEXT"].ID, "name": "the date"})
	do[contract.CustomField](w, w.manager, "create-custom-field", fields{"projectId": other.ID, "name": "THE TEXT", "type": "TEXT"})
	// An option that is in use cannot be removed.
	f = w.wantError(fault.CodeConflict, w.manager, "update-custom-field", fields{"projectId": p.ID, "fieldId": created["CHOICE"].ID, "options": []string{"Red"}})
	if fmt.Sprint(f.Details["options"]) != "[Blue]" {
		t.Errorf("conflict details: got %v, want options [Blue]", f.Details)
	}
	changed := do[contract.CustomField](w, w.manager, "update-custom-field", fields{"projectId": p.ID, "fieldId": created["CHOICE"].ID, "name": "Colour", "options": []string{"Blue", "Green"}})
	if changed.Name != "Colour" || !slices.Equal(changed.Options, []string{"Blue", "Green"}) {
		t.Errorf("updated custom field: got %+v, want the name Colour and the options Blue and Green", changed)
	}
	w.wantAuditAndEvents(1, "custom_field.updated", contract.EventCustomFieldUpdated, changed.ID)
	do[op.None](w, w.manager, "delete-custom-field", fields{"projectId": p.ID, "fieldId": changed.ID})
	w.wantAuditAndEvents(1, "custom_field.deleted", contract.EventCustomFieldDeleted, changed.ID)
	if got := do[contract.Task](w, member, "get-task", at); len(got.CustomFields) != 3 {
		t.Errorf("after deleting the field: got %+v, want 3 values", got.CustomFields)
	}
	do[op.None](w, w.manager, "delete-project", fields{"projectId": p.ID})
	if n := w.count(`SELECT (SELECT count(*) FROM projects.custom_fields WHERE project_id = $1) + (SELECT count(*) FROM projects.custom_field_values WHERE project_id = $1)`, p.ID); n != 0 {
		t.Errorf("got %d rows after deleting the project, want 0", n)
	}
}

func TestCustomField_ValidationErrorNamesField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	text := do[contract.CustomField](w, w.manager, "create-custom-field", fields{"projectId": p.ID, "name": "Text", "type": "TEXT"})
	for _, c := range []struct {
		field string
		in    fields
	}{
		{"name", fields{"name": " ", "type": "TEXT"}},
		{"name", fields{"name": "a\tb", "type": "TEXT"}},
		{"type", fields{"name": "x"}},
		{"type", fields{"name": "x", "type": "URL"}},
		{"options", fields{"name": "x", "type": "TEXT", "options": []string{"a"}}},
		{"options", fields{"name": "x", "type": "CHOICE"}},
		{"options.1", fields{"name": "x", "type": "CHOICE", "options": []string{"a", "a"}}},
		{"options.0", fields{"name": "x", "type": "CHOICE", "options": []string{" a"}}},
	} {
		if f := w.wantError(fault.CodeValidation, w.manager, "create-custom-field", merge(fields{"projectId": p.ID}, c.in)); f.Field != c.field {
			t.Errorf("%v: got field %q, want %q", c.in, f.Field, c.field)
		}
	}
	for field, in := range map[string]fields{"name": {"name": nil}, "options": {"options": []string{"a"}}} {
		if f := w.wantError(fault.CodeValidation, w.manager, "update-custom-field", merge(fields{"projectId": p.ID, "fieldId": text.ID}, in)); f.Field != field {
			t.Errorf("%v: got field %q, want %q", in, f.Field, field)
		}
	}
	for i := range 99 {
		do[contract.CustomField](w, w.manager, "create-custom-field", fields{"projectId": p.ID, "name": fmt.Sprintf("F%02d", i), "type": "TEXT"})
	}
	w.wantError(fault.CodeConflict, w.manager, "create-custom-field", fields{"projectId": p.ID, "name": "One too many", "type": "TEXT"})
	var names []string
	for cursor := ""; ; {
		page := do[op.Page[contract.CustomField]](w, w.manager, "list-custom-fields", fields{"projectId": p.ID, "limit": 33, "cursor": cursor})
		for _, f := range page.Items {
			names = append(names, f.Name)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if len(names) != 100 || !slices.IsSorted(names) {
		t.Errorf("got %d fields, want 100 sorted by name: %v", len(names), names)
	}
	if got := do[op.Page[contract.CustomField]](w, w.manager, "list-custom-fields", fields{"projectId": w.createProject("Gemini").ID}); len(got.Items) != 0 {
		t.Errorf("another project: got fields %v, want none", got.Items)
	}
}
