package executor_test

import (
	"context"
	"errors"
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

// A request that is denied before its record is loaded appears in the decision log with
// the record that the request names. Free text is masked.
func TestRequirePermission_DenialRecordsRequestedResource(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.permissions = []string{"projects.read"}
	part := bindDenied[partIn](h, "DELETE", "/api/projects/{projectId}/tasks/{task}")
	body := bindDenied[bodyIn](h, "POST", "/api/things")
	task, issue := uid.New(), uid.New()
	for _, c := range []struct {
		name string
		call func() error
		want authz.MaskedResource
	}{
		{"id in the path", part(&partIn{uid.New(), string(task)}), authz.MaskedResource{Type: "task", ID: string(task)}},
		{"key in the path", part(&partIn{uid.New(), "TASK-7"}), authz.MaskedResource{Type: "task", Key: "TASK-7"}},
		{"free text in the path", part(&partIn{uid.New(), "the secret plan"}), authz.MaskedResource{Type: "task", Key: "masked"}},
		{"id in the body", body(&bodyIn{"A title", issue}), authz.MaskedResource{Type: "issue", ID: string(issue)}},
		{"no id", body(&bodyIn{"A title", ""}), authz.MaskedResource{Type: "any"}},
	} {
		if err := c.call(); !fault.HasCode(err, fault.CodeForbidden) {
			t.Errorf("%s: got %v, want FORBIDDEN", c.name, err)
		}
		c.want.Tenant, c.want.Classification = string(h.tenant), "UNCLASSIFIED"
		r := h.decisions.last()
		if r.Input.Resource == nil || *r.Input.Resource != c.want || r.Allow || len(r.Reasons) != 1 || r.Reasons[0] != "permission_missing" {
			t.Errorf("%s: got decision record %+v with resource %+v, want resource %+v", c.name, r, r.Input.Resource, c.want)
		}
	}
}

// bindDenied binds an operation whose permission the fixture's user does not hold.
func bindDenied[In any](h *fixture, method, path string) func(*In) func() error {
	o := op.New[In, thingOut](op.Spec{Name: "end-thing", Module: "tracker", Method: method, Path: path, Permission: "task.delete", Effect: op.Write, Summary: "Ends a thing."})
	b := executor.Handle(h.module, o, func(context.Context, *executor.Call, *In) (string, authz.Resource, error) {
		h.t.Error("Load was called, want a denial before it")
		return "", authz.Resource{}, nil
	}, func(context.Context, *executor.Call, *In, string) (*thingOut, error) {
		h.t.Error("Do was called, want a denial before it")
		return nil, errors.New("not denied")
	})
	return func(in *In) func() error {
		return func() error {
			_, err := b.Call(h.callerContext(""), in)
			return err
		}
	}
}
