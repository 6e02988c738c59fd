package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// send calls the HTTP API and decodes the response into out. A nil in is no body.
func (s *server) send(ctx context.Context, method, path, token string, in, out any) error {
	var body io.Reader
	if in != nil {
		encoded, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.BaseURL+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode > 299 {
		return fmt.Errorf("%s %s: %s", method, path, res.Status)
	}
	return json.NewDecoder(res.Body).Decode(out)
}

// mustSend is send for requests that must succeed.
func (s *server) mustSend(t *testing.T, method, path, token string, in, out any) {
	t.Helper()
	if err := s.send(t.Context(), method, path, token, in, out); err != nil {
		t.Fatal(err)
	}
}

// answer answers the open decision request of a task with its first option. It finds the
// request like a person does who uses another client.
func (s *server) answer(ctx context.Context, token, path string) error {
	var task struct{ DecisionRequest struct{ ID string } }
	if err := s.send(ctx, "GET", path, token, nil, &task); err != nil {
		return err
	}
	return s.send(ctx, "POST", path+"/decision-requests/"+task.DecisionRequest.ID+"/answer", token, map[string]any{"chosenOptionIndex": 0}, &task)
}

// token logs a user in over HTTP and returns the session's token.
func (s *server) token(t *testing.T, email string) string {
	t.Helper()
	for _, tenant := range s.Tenants {
		for _, u := range tenant.Users {
			if u.Email == email && u.Password != "" {
				var out struct{ Token string }
				s.mustSend(t, "POST", "/api/auth/login", "", map[string]string{"email": email, "password": u.Password}, &out)
				return out.Token
			}
		}
	}
	t.Fatalf("no account %s", email)
	return ""
}

var (
	uuid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	// keyField and prefixField match the line with a field in the text of a result.
	keyField    = regexp.MustCompile(`(?m)^- key: (\S+)$`)
	prefixField = regexp.MustCompile(`(?m)^- prefix: (\S+)$`)
)

// agent is an MCP client that knows only what the texts of results say, without ids.
type agent struct {
	session *sdk.ClientSession
	calls   int
}

// call calls a tool and returns the text of the result without ids.
func (a *agent) call(t *testing.T, tool string, arguments map[string]any) string {
	t.Helper()
	a.calls++
	encoded, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	if uuid.Match(encoded) {
		t.Errorf("%s: the arguments contain a UUID: %s", tool, encoded)
	}
	t.Logf("call %d: %s %s", a.calls, tool, encoded)
	res, err := a.session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	text, ok := res.Content[0].(*sdk.TextContent)
	if !ok {
		t.Fatalf("%s: got %T, want text", tool, res.Content[0])
	}
	t.Logf("result of %s:\n%s", tool, text.Text)
	if res.IsError {
		t.Fatalf("%s failed", tool)
	}
	return uuid.ReplaceAllString(text.Text, "(id)")
}

// valueOf returns the value of a field in a text.
func valueOf(t *testing.T, field *regexp.Regexp, text string) string {
	t.Helper()
	m := field.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%s does not match:\n%s", field, text)
	}
	return m[1]
}

// testAgentLoop runs the loop of an agent with pt mcp: it finds a project, claims a task, asks
// a person for a decision, finishes the task and comments on it, with one call for each step
// and without ids.
func (s *server) testAgentLoop(t *testing.T) {
	t.Parallel()
	manager := s.token(t, "project-manager@acme.example")
	var made struct{ Key string }
	s.mustSend(t, "POST", "/api/projects", manager, map[string]any{"name": "Breakwater repair", "prefix": "BRKW", "startDate": "2027-01-04"}, &made)
	s.mustSend(t, "POST", "/api/projects/BRKW/tasks", manager, map[string]any{"title": "Choose the stone and lay it", "priority": "HIGH"}, &made)

	pt := exec.CommandContext(t.Context(), s.pt, "mcp")
	pt.Env = []string{"PT_BASE_URL=" + s.BaseURL, "PT_AUTH_TOKEN=" + s.token(t, "member@acme.example"), "PT_CONFIG_DIR=" + t.TempDir()}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: pt}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	a := &agent{session: session}

	project := valueOf(t, prefixField, a.call(t, "find_project", map[string]any{"hint": "breakwater"}))
	task := valueOf(t, keyField, a.call(t, "claim_next_ready", map[string]any{"project": project}))
	a.call(t, "mark_awaiting_decision", map[string]any{"task": task, "question": "Granite or basalt?", "options": []string{"granite", "basalt"}})

	t.Log("meanwhile, project-manager@acme.example answers over HTTP: granite")
	answered := make(chan error, 1)
	go func() { answered <- s.answer(t.Context(), manager, "/api/projects/BRKW/tasks/"+task) }()
	if text := a.call(t, "wait_decision", map[string]any{"task": task, "timeoutSeconds": 50}); !strings.Contains(text, "answer (untrusted): granite") {
		t.Errorf("wait_decision: got\n%s\nwant the answer granite", text)
	}
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	if text := a.call(t, "update_task", map[string]any{"task": task, "status": "DONE"}); !strings.Contains(text, "- status: DONE") || !strings.Contains(text, "- project (untrusted): BRKW: Breakwater repair") {
		t.Errorf("update_task: got\n%s\nwant the status DONE and the project by name", text)
	}
	a.call(t, "create_comment", map[string]any{"task": task, "body": "Laid granite, as decided."})
	if a.calls != 6 {
		t.Errorf("got %d calls for 6 steps", a.calls)
	}
	var comments struct{ Items []struct{ Body string } }
	s.mustSend(t, "GET", "/api/comments?taskId="+task, manager, nil, &comments)
	if len(comments.Items) != 1 || comments.Items[0].Body != "Laid granite, as decided." {
		t.Errorf("comments: got %+v, want that of the agent", comments)
	}
}
