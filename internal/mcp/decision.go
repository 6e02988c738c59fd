package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/fault"
	"parapet/internal/op"
)

// decisionArgument is the argument for a decision request, which people know only as the
// decision request of a task.
const decisionArgument = "decisionRequest"

// takesDecisionRequest reports whether an operation is about a decision request of a task.
func takesDecisionRequest(o *op.Operation) bool {
	return o.DerivesProject() && slices.ContainsFunc(o.Fields, func(f op.Field) bool { return f.Argument == decisionArgument && f.Source == op.FromPath })
}

// defaultsToLatestRequest reports whether the decision request of a call is optional. It is
// required for a tool that answers or cancels a request: another request can replace the one
// that the caller has read, and only the id shows which question the call is about.
func defaultsToLatestRequest(o *op.Operation) bool {
	return takesDecisionRequest(o) && !o.Effect.Changes()
}

// addDecisionRequest adds the latest decision request of the task to the arguments of a call
// that does not give one, if it is optional. A task has at most one open request, and it is
// the latest.
func (t *tool) addDecisionRequest(ctx context.Context, e *exchange, arguments json.RawMessage) (json.RawMessage, error) {
	if !defaultsToLatestRequest(t.op) {
		return arguments, nil
	}
	// Without valid arguments or a task, the call itself reports what is wrong.
	members := objectMembers(arguments)
	if members["task"] == nil {
		return arguments, nil
	}
	for _, f := range t.op.Fields {
		if f.Argument == decisionArgument && (members[f.Argument] != nil || members[f.Name] != nil) {
			return arguments, nil
		}
	}
	task := map[string]json.RawMessage{}
	for _, name := range []string{"task", "project", "projectId"} {
		if value := members[name]; value != nil {
			task[name] = value
		}
	}
	encoded, err := json.Marshal(task)
	if err != nil {
		return nil, fault.Internal(err)
	}
	n, err := t.all["get_task"].fetch(ctx, e, encoded)
	if err != nil {
		return nil, err
	}
	id := n.member("decisionRequest").memberText("id")
	if id == "" {
		return nil, fault.NotFound("decision request")
	}
	if members[decisionArgument], err = json.Marshal(id); err != nil {
		return nil, fault.Internal(err)
	}
	return json.Marshal(members)
}

// objectMembers returns the members of a JSON object, or nil if it is not valid, for example
// because a member is given twice.
func objectMembers(object json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if !jsontext.Value(object).IsValid() || json.Unmarshal(object, &members) != nil {
		return nil
	}
	return members
}

// waitLimit returns how long a call waits at most, or 0 if it does not wait.
func (t *tool) waitLimit(arguments json.RawMessage) time.Duration {
	wire, err := t.op.WriteArguments(arguments)
	if err != nil {
		return 0
	}
	return t.holdDuration(wire.Target)
}
