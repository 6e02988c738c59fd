package executor_test

import (
	"context"
	"testing"

	"parapet/internal/authz"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

type partIn struct {
	ProjectID op.UUID `path:"projectId" doc:"A project."`
	Task      string  `path:"task" doc:"A task's id or key."`
}

type bodyIn struct {
	Title   string  `json:"title" doc:"A title."`
	IssueID op.UUID `json:"issueId" doc:"An issue."`
}

// A request that is denied before its record is loaded names the record in the decision
// log all the same, by what the request named it by. Free text is not kept.
func TestHolds_DenialNamesRequestedRecord(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.granted = []string{"projects.read"}
	part := denied[partIn](h, "DELETE", "/api/projects/{projectId}/tasks/{task}")
	body := denied[bodyIn](h, "POST", "/api/things")
	task, issue := uid.New(), uid.New()
	for _, c := range []struct {
		name string
		call func() error
		want authz.MaskedResource
	}{
		{"by id", part(&partIn{uid.New(), string(task)}), authz.MaskedResource{Type: "task", ID: string(task)}},
		{"by key", part(&partIn{uid.New(), "TASK-7"}), authz.MaskedResource{Type: "task", Key: "TASK-7"}},
		{"by free text", part(&partIn{uid.New(), "the secret plan"}), authz.MaskedResource{Type: "task", Key: "masked"}},
		{"by an id in the body", body(&bodyIn{"A title", issue}), authz.MaskedResource{Type: "issue", ID: string(issue)}},
		{"by nothing", body(&bodyIn{"A title", ""}), authz.MaskedResource{Type: "any"}},
	} {
		if err := c.call(); !fault.HasCode(err, fault.CodeForbidden) {
			t.Errorf("%s: got %v, want FORBIDDEN", c.name, err)
		}
		c.want.Tenant, c.want.Classification = string(h.tenant), "UNCLASSIFIED"
		r := h.decided.last()
		if r.Input.Resource == nil || *r.Input.Resource != c.want || r.Allow || len(r.Reasons) != 1 || r.Reasons[0] != "permission_missing" {
			t.Errorf("%s: recorded %+v %+v, want %+v", c.name, r, r.Input.Resource, c.want)
		}
	}
}

// denied binds an operation that the house's person holds no permission for.
func denied[In any](h *house, method, path string) func(*In) func() error {
	o := op.New[In, thingOut](op.Spec{Name: "end-thing", Module: "tracker", Method: method, Path: path, Permission: "task.delete", Effect: op.Write, Summary: "Ends a thing."})
	b := executor.Handle(h.module, o, executor.Handler[In, thingOut, string]{
		Load: func(context.Context, *executor.Call, *In) (string, authz.Resource, error) {
			h.t.Error("the record was loaded")
			return "", authz.Resource{}, nil
		},
	})
	return func(in *In) func() error {
		return func() error {
			_, err := b.Call(h.caller(""), in)
			return err
		}
	}
}
