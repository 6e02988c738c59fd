package mcp

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

func TestError_AvoidsTermsOfHTTP(t *testing.T) {
	t.Parallel()
	w := newServer(t).tools["create_comment"].wording
	for _, tc := range []struct{ field, message, want, wantField string }{
		{"body", "The body is too large.", "The arguments are too large.", "body"},
		{"body", "The field body must have 1 to 20000 characters.", "The argument body must have 1 to 20000 characters.", "body"},
		{"taskId", "The parameter taskId must not be empty. Set a value or omit it.", "The argument task must not be empty. Set a value or omit it.", "task"},
		{"taskId", "Duplicate field taskId.", "Duplicate argument task.", "task"},
		{"", "There is no such route.", "The server does not offer this tool.", ""},
	} {
		if got := w.rewriteError(fault.Validation(tc.field, tc.message)); got.Message != tc.want || got.Field != tc.wantField {
			t.Errorf("%s: got %q of %q, want %q of %q", tc.message, got.Message, got.Field, tc.want, tc.wantField)
		}
	}
	if got := newServer(t).tools["get_task"].wording.rewriteError(fault.Validation("body", "The body is not valid JSON.")); got.Field != "" {
		t.Errorf("a tool without the argument body: got the field %q, want none", got.Field)
	}
}

// TestErrors_OfModulesUseTermsOfAllSurfaces checks the messages in the source of the modules:
// a message that only makes sense to users of HTTP or of pt would reach the models too.
func TestErrors_OfModulesUseTermsOfAllSurfaces(t *testing.T) {
	t.Parallel()
	w := newServer(t).tools["get_task"].wording
	names := map[string]bool{}
	for _, o := range operations() {
		names[o.Name] = strings.Contains(o.Name, "-")
	}
	found := 0
	for _, module := range []string{"tracker", "identity", "executor", "postgres", "audit", "decisionlog"} {
		files, err := filepath.Glob(filepath.Join("..", module, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				f, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || fmt.Sprint(f.X) != "fault" {
					return true
				}
				for _, text := range literals(call) {
					found++
					got := w.rewriteMessage(text)
					if m := otherSurface.FindString(got); m != "" || httpWords.MatchString(got) {
						t.Errorf("%s: fault.%s: %q contains a term of HTTP or pt: %s%s", file, f.Sel.Name, got, m, httpWords.FindString(got))
					}
					for _, word := range words.FindAllString(got, -1) {
						if names[word] {
							t.Errorf("%s: fault.%s: %q names the operation %s, want a tool", file, f.Sel.Name, got, word)
						}
					}
				}
				return true
			})
		}
	}
	if found < 200 {
		t.Errorf("got %d messages", found)
	}
}

var httpWords = regexp.MustCompile(`(?i)\b(openapi|route|query|header|content-type)\b`)

// literals returns the string literals in an expression.
func literals(e ast.Node) []string {
	var found []string
	ast.Inspect(e, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				found = append(found, text)
			}
		}
		return true
	})
	return found
}

// otherSurface matches texts that only make sense to users of the HTTP API or of pt: routes,
// HTTP methods and statuses, commands and flags.
var otherSurface = regexp.MustCompile(`/api/|\b(GET|POST|PUT|PATCH|DELETE|HTTP)\b|\b(400|401|403|404|405|409|413|415|422|429|503)\b|(^|\s)--[a-z]|\bpt [a-z]`)

func TestTools_DescribeThemselvesInTermsOfTools(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	operationNames := map[string]bool{}
	for _, o := range operations() {
		operationNames[o.Name] = strings.Contains(o.Name, "-")
	}
	all := func(*tool) bool { return true }
	check := func(tool *tool, where, text string) {
		t.Helper()
		if m := otherSurface.FindString(text); m != "" {
			t.Errorf("%s: %s contains %q: %s", tool.definition.Name, where, m, text)
		}
		for _, word := range words.FindAllString(text, -1) {
			if operationNames[word] {
				t.Errorf("%s: %s contains the operation %s, want a tool: %s", tool.definition.Name, where, word, text)
			}
			if argument, ok := tool.wording.arguments[word]; ok && argument != word {
				t.Errorf("%s: %s contains the field %s, want the argument %s: %s", tool.definition.Name, where, word, argument, text)
			}
		}
	}
	for _, tool := range s.tools {
		check(tool, "the description", tool.definition.Description)
		var texts func(path string, s *jsonschema.Schema)
		texts = func(path string, s *jsonschema.Schema) {
			if s == nil {
				return
			}
			check(tool, "the description of "+path, s.Description)
			texts(path+"[]", s.Items)
			texts(path+"{}", s.AdditionalProperties)
			for name, p := range s.Properties {
				texts(join(path, name), p)
			}
		}
		texts("", inputOf(t, tool))
		for _, f := range tool.op.Fields {
			for _, err := range []*fault.Error{fault.NotFound(fieldNoun(f)), fault.Validation(f.Argument, "x")} {
				check(tool, "the hint", tool.findHint(err, nil, all))
			}
		}
	}
}

func TestError_NamesToolThatFindsRecord(t *testing.T) {
	t.Parallel()
	f := &fake{}
	s := newServer(t)
	for _, tc := range []struct {
		toolset, tool string
		args          map[string]any
		err           *fault.Error
		want          string
	}{
		{Default, "list_tasks", map[string]any{"project": "XX"}, fault.NotFound("project"), `project "XX" does not exist or is not visible to you; find_project finds the project`},
		{All, "list_tasks", map[string]any{"projectId": "XX"}, fault.NotFound("project"), `project "XX" does not exist or is not visible to you; find_project finds the project; list_projects lists projects`},
		{Default, "get_task", map[string]any{"task": "HW-9"}, fault.NotFound("task"), `task "HW-9" does not exist or is not visible to you; list_tasks lists tasks`},
		{Default, "create_task", map[string]any{"project": "HW", "title": "T", "assignee": "x"}, fault.Validation("assignee", "The field assignee matches no person."), "correct the argument assignee; list_people lists people"},
		{Default, "create_task", map[string]any{"project": "HW", "title": "T", "epic": "x"}, fault.Validation("epicId", "x"), "correct the argument epic; list_tasks lists tasks"},
		{Default, "add_dependency", map[string]any{"task": "HW-1", "dependsOn": "HW-2"}, fault.Validation("dependsOn", "There is no such task."), "correct the argument dependsOn; list_tasks lists tasks"},
		{"runs", "get_run", map[string]any{"run": project}, fault.NotFound("agent run"), `run "` + project + `" does not exist or is not visible to you; list_runs lists runs`},
		{"time", "update_time_entry", map[string]any{"timeEntry": project}, fault.NotFound("time entry"), `time entry "` + project + `" does not exist or is not visible to you; list_time_entries lists time entries`},
		{"directory", "assign_role", map[string]any{"role": "r", "user": "u", "scope": "tenant"}, fault.NotFound("role"), `role "r" does not exist or is not visible to you; list_roles lists roles`},
		{"directory", "assign_role", map[string]any{"role": "r", "user": "u", "scope": "tenant"}, fault.NotFound("user"), `person "u" does not exist or is not visible to you; list_people lists people`},
		{"stages", "create_gate", map[string]any{"stage": project, "name": "G", "project": "HW"}, fault.NotFound("project"), `project "HW" does not exist or is not visible to you; find_project finds the project (enable its toolset projects)`},
		{All, "find_project", map[string]any{"hint": "x"}, fault.NotFound(`project "x"`), "the project is unknown; list_projects lists projects"},
		{Default, "get_task", map[string]any{"task": "XX-9"}, fault.NotFound("project"), `the project of the task "XX-9" does not exist or is not visible to you; find_project finds the project`},
		{"stages", "review_gate", map[string]any{"project": "HW", "gate": project, "vote": "PASS"}, fault.NotFound("gate"), `gate "` + project + `" does not exist or is not visible to you; list_stages lists gates`},
		{"directory", "create_membership", map[string]any{"user": "u", "roles": []any{"x"}}, fault.Validation("roles", "x"), "correct the argument roles; list_roles lists roles"},
		{"directory", "revoke_permission", map[string]any{"role": "r", "permission": "p"}, fault.NotFound("grant"), "the grant is unknown; get_role shows grants"},
		{All, "list_keys", map[string]any{"serviceUser": "x"}, fault.NotFound("service principal"), `service principal "x" does not exist or is not visible to you; list_users lists service principals`},
		{All, "remove_dependency", map[string]any{"task": "HW-1", "dependsOn": "HW-2"}, fault.NotFound("dependency"), "the dependency is unknown; list_dependencies lists dependencies"},
		{Default, "create_task", map[string]any{"project": "HW", "title": "T"}, fault.Validation("title", "x"), ""},
		{Default, "create_task", map[string]any{"project": "HW", "title": "T"}, fault.Forbidden("task.create"), ""},
		{Default, "get_task", map[string]any{"task": "HW-9"}, fault.NotFound("route"), ""},
	} {
		f.answer = func(client.Request) (string, error) { return "", tc.err }
		c := connect(t, s, f, View{Toolsets: []string{tc.toolset}, AllowDestructive: true}, nil, "")
		res := call(t, c, tc.tool, tc.args)
		if got := errorOf(t, res); got.Hint != tc.want || strings.Contains(resultText(t, res), "- try: "+tc.want) != (tc.want != "") {
			t.Errorf("%s %v: got the hint %q, want %q in %s", tc.tool, tc.args, got.Hint, tc.want, resultText(t, res))
		}
	}
}

// The policies declare the texts of denials for all surfaces.
func TestDenials_NameToolsNotOperations(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "policies", "parapet", "reasons", "data.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	tool := newServer(t).tools["get_task"]
	remedies := 0
	for line := range strings.Lines(string(text)) {
		_, remedy, ok := strings.Cut(line, "remedy: ")
		if !ok {
			continue
		}
		remedies++
		denial := fault.Forbidden("p").WithReasons([]fault.Reason{{Code: "c", Message: "m", Remedy: strings.TrimSpace(remedy)}})
		got := tool.wording.rewriteError(denial).Reasons[0].Remedy
		if m := otherSurface.FindString(got); m != "" {
			t.Errorf("a remedy contains %q: %s", m, got)
		}
		for _, o := range operations() {
			if strings.Contains(o.Name, "-") && slices.Contains(words.FindAllString(got, -1), o.Name) {
				t.Errorf("a remedy names the operation %s, want a tool: %s", o.Name, got)
			}
		}
	}
	if remedies < 20 {
		t.Errorf("got %d remedies", remedies)
	}
}
