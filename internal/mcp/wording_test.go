package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"parapet/internal/client"
	"parapet/internal/fault"
)

// inputOf returns the input schema of a tool.
func inputOf(t *testing.T, tool *tool) *jsonschema.Schema {
	t.Helper()
	raw, ok := tool.definition.InputSchema.(json.RawMessage)
	if !ok {
		t.Fatalf("%s: the input schema is a %T", tool.definition.Name, tool.definition.InputSchema)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func TestTools_NameSameArgumentAlike(t *testing.T) {
	t.Parallel()
	for name, tool := range newServer(t).tools {
		s := inputOf(t, tool)
		for argument := range s.Properties {
			if strings.HasSuffix(argument, "Id") || argument == "parentTask" {
				t.Errorf("%s: got the argument %s, want the name of the record", name, argument)
			}
		}
		for _, required := range s.Required {
			if s.Properties[required] == nil {
				t.Errorf("%s: the required argument %s is not in the schema", name, required)
			}
		}
		for _, f := range tool.op.Fields {
			if s.Properties[f.Argument] == nil {
				t.Errorf("%s: got no argument %s for the field %s", name, f.Argument, f.Name)
			}
		}
	}
}

func TestCall_AcceptsFieldNamesAsArguments(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, newServer(t), f, View{Toolsets: []string{All}}, nil, "")
	for _, tc := range []struct {
		tool         string
		args         map[string]any
		target, body string
	}{
		{"create_task", map[string]any{"project": "HW", "title": "T", "epic": "HW-1", "parent": "HW-2", "initiative": "i"}, "/api/projects/HW/tasks", `{"title":"T","epicId":"HW-1","parentTaskId":"HW-2","initiativeId":"i"}`},
		{"create_task", map[string]any{"projectId": "HW", "title": "T", "epicId": "HW-1", "parentTaskId": "HW-2", "initiativeId": "i"}, "/api/projects/HW/tasks", `{"title":"T","epicId":"HW-1","parentTaskId":"HW-2","initiativeId":"i"}`},
		{"create_comment", map[string]any{"task": "HW-1", "body": "b"}, "/api/comments", `{"taskId":"HW-1","body":"b"}`},
		{"assign_role", map[string]any{"role": "r", "user": "me", "scope": "project", "scopeRecord": "HW"}, "/api/roles/r/assignments", `{"userId":"me","scope":"project","scopeId":"HW"}`},
		{"cancel_decision", map[string]any{"task": "hw-1", "decisionRequest": "d"}, "/api/projects/hw/tasks/hw-1/decision-requests/d/cancel", ""},
		{"get_task", map[string]any{"project": "GRAN", "task": "HW-1"}, "/api/projects/GRAN/tasks/HW-1", ""},
		{"get_task", map[string]any{"task": "HW-1"}, "/api/projects/HW/tasks/HW-1", ""},
	} {
		res := call(t, c, tc.tool, tc.args)
		if res.IsError {
			t.Errorf("%s %v: got %s", tc.tool, tc.args, resultText(t, res))
			continue
		}
		if r := f.last(t); r.Target != tc.target || string(r.Body) != tc.body {
			t.Errorf("%s %v: got the request %s with body %s, want %s with %s", tc.tool, tc.args, r.Target, r.Body, tc.target, tc.body)
		}
	}
	before := f.count()
	for argument, args := range map[string]map[string]any{
		"project":  {"project": "HW", "projectId": "HW", "title": "T"},
		"epic":     {"project": "HW", "title": "T", "epicId": "HW-1", "epic": "HW-1"},
		"parentId": {"project": "HW", "title": "T", "parentId": "HW-1"},
	} {
		got := errorOf(t, call(t, c, "create_task", args))
		if got.Code != fault.CodeValidation || got.Field != argument || strings.Contains(got.Message, "Allowed: projectId") {
			t.Errorf("create_task %v: got %+v, want VALIDATION of %s", args, got, argument)
		}
	}
	if got := errorOf(t, call(t, c, "get_task", map[string]any{"task": "018f3c5e-0000-7000-8000-000000000001"})); got.Field != "project" {
		t.Errorf("get_task with an id and no project: got %+v, want VALIDATION of project", got)
	}
	if f.count() != before {
		t.Errorf("got %d requests for invalid arguments, want none", f.count()-before)
	}
}

func TestError_NamesArgumentsAndTools(t *testing.T) {
	t.Parallel()
	f := &fake{answer: func(client.Request) (string, error) {
		e := fault.Validation("epicId", `The field epicId matches no task that you can read: "epicId list-tasks". Use list-tasks, or the parameter "parentTaskId".`).
			WithReasons([]fault.Reason{{Code: "r", Message: "epicId", Remedy: "Use update-task."}})
		return "", e.WithDetails(map[string]any{"field": "epicId"})
	}}
	c := connect(t, newServer(t), f, View{}, nil, "")
	got := errorOf(t, call(t, c, "create_task", map[string]any{"project": "HW", "title": "T", "epic": "x"}))
	want := `The argument epic matches no task that you can read: "epicId list-tasks". Use list_tasks, or the argument "parent".`
	if got.Field != "epic" || got.Message != want || got.Reasons[0].Message != "epic" || got.Reasons[0].Remedy != "Use update_task." {
		t.Errorf("got %+v, want the argument epic and the message %s", got, want)
	}
}
