package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parapet/internal/cli/text"
	"parapet/internal/client"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// tool is the MCP tool of an operation.
type tool struct {
	op         *op.Operation
	definition *sdk.Tool
	toolset    string
	// isDefault reports whether the tool is in the default toolset.
	isDefault bool
	// returnsPage reports whether the output is a page of a list.
	returnsPage bool
	// hasLimit reports whether the operation has the query parameter limit.
	hasLimit bool
	// untrusted has the paths in the output with user-generated text.
	untrusted map[string]bool
	// server identifies this server in the results.
	server *sdk.Implementation
	// wording rewrites texts about the operation.
	wording wording
	// all has all tools by name. Errors name the tool that finds a missing record.
	all map[string]*tool
	// progressInterval is the time between two progress notifications.
	progressInterval time.Duration
}

// isExposed reports whether an operation is exposed as a tool. Operations that return a
// secret or manage sessions are not, because a model must not see a secret and must not
// start or end sessions.
func isExposed(o *op.Operation) bool {
	session := reflect.TypeFor[interface {
		SessionCookie() (string, time.Time)
	}]()
	return !o.Secret && o.Access != op.Public && !reflect.PointerTo(o.Out).Implements(session)
}

// newTool returns the tool of an operation. tools has the names of all tools.
func newTool(o *op.Operation, server *sdk.Implementation, tools map[string]string) (*tool, error) {
	w := newWording(o, tools)
	in, err := inputSchema(o, w)
	if err != nil {
		return nil, err
	}
	out, err := outputSchema(o)
	if err != nil {
		return nil, err
	}
	no, destroys := false, o.Effect == op.Destroy
	t := &tool{op: o, server: server, toolset: toolsetOf(o), isDefault: isInDefaultToolset(o), untrusted: untrustedPaths(o.Out), wording: w, progressInterval: progressInterval}
	t.returnsPage = isPage(o.Out)
	for _, f := range o.Fields {
		t.hasLimit = t.hasLimit || (f.Name == "limit" && f.Source == op.FromQuery)
	}
	t.definition = &sdk.Tool{
		Name: o.ToolName(), Description: w.rewrite(description(o)), InputSchema: in, OutputSchema: out,
		Annotations: &sdk.ToolAnnotations{
			ReadOnlyHint: o.Effect == op.Read, DestructiveHint: &destroys,
			IdempotentHint: o.IsIdempotent(),
			// The tools access only Parapet.
			OpenWorldHint: &no,
		},
	}
	return t, nil
}

func description(o *op.Operation) string {
	summary := strings.TrimSuffix(o.Summary, ".") + "."
	if o.Description == "" {
		return summary
	}
	return summary + " " + o.Description
}

// hiddenReason returns why a client cannot use the tool, or "" if it can.
func (t *tool) hiddenReason(v View, caps *sdk.ClientCapabilities) string {
	switch {
	case !v.has(t):
		return fmt.Sprintf("its toolset %q is not enabled", t.toolset)
	case v.ReadOnly && t.op.Effect.Changes():
		return "it changes data and the connection is read-only"
	case t.op.Effect == op.Destroy && !v.AllowDestructive && !canElicit(caps):
		return "it is destructive; use a client that supports elicitation, or set allow-destructive"
	default:
		return ""
	}
}

// canElicit reports whether the client can ask its user a question.
func canElicit(caps *sdk.ClientCapabilities) bool {
	return caps != nil && caps.Elicitation != nil && (caps.Elicitation.Form != nil || caps.Elicitation.URL == nil)
}

// call handles a tool call.
func (t *tool) call(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	e := exchangeOf(ctx)
	ctx, cancel := withRequestContext(ctx)
	defer cancel()
	if t.op.Effect == op.Destroy && !e.view.AllowDestructive {
		if res := t.confirm(req.Params); res != nil {
			return res, nil
		}
	}
	arguments, err := t.addDecisionRequest(ctx, e, req.Params.Arguments)
	var res *sdk.CallToolResult
	if err == nil {
		stop := t.reportProgress(ctx, req, arguments)
		res, err = t.execute(ctx, e, arguments)
		stop()
	}
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil, err
		}
		f := t.wording.rewriteError(fault.From(err))
		visible := func(other *tool) bool { return other.hiddenReason(e.view, req.ClientCapabilities()) == "" }
		return errorResult(f, requestID(err), t.findHint(f, req.Params.Arguments, visible)), nil
	}
	return res, nil
}

// execute calls the operation and converts the response to a result.
func (t *tool) execute(ctx context.Context, e *exchange, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	r, err := t.request(e, arguments)
	if err != nil {
		return nil, err
	}
	return t.result(ctx, e.sender, r)
}

// fetch calls the operation and returns the response.
func (t *tool) fetch(ctx context.Context, e *exchange, arguments json.RawMessage) (*node, error) {
	r, err := t.request(e, arguments)
	if err != nil {
		return nil, err
	}
	n, _, err := t.send(ctx, e.sender, r)
	return n, err
}

// request returns the request for a call with arguments.
func (t *tool) request(e *exchange, arguments json.RawMessage) (client.Request, error) {
	wire, err := t.op.WriteArguments(arguments)
	if err != nil {
		return client.Request{}, err
	}
	r := client.Request{Method: wire.Method, Target: wire.Target, Body: wire.Body, Repeatable: e.retry && !t.op.Effect.Changes(), Hold: t.holdDuration(wire.Target)}
	if e.retry && t.op.Effect.Changes() {
		// The key makes it safe to retry the change.
		r.IdempotencyKey, r.GeneratedKey = client.NewID(), true
	}
	return r, nil
}

// confirmation is the name of the elicitation request for a destructive tool.
const confirmation = "confirm"

// confirm returns nil if the user has confirmed this call. Otherwise it returns the result
// that asks for confirmation, or an error result if the user declined. The request state
// binds a confirmation to the tool and its arguments.
func (t *tool) confirm(p *sdk.CallToolParamsRaw) *sdk.CallToolResult {
	arguments := t.nameArguments(p.Arguments)
	sum := sha256.Sum256(append([]byte(p.Name+"\x00"), arguments...))
	state := base64.RawURLEncoding.EncodeToString(sum[:])
	answer, ok := p.InputResponses[confirmation].(*sdk.ElicitResult)
	switch {
	case ok && p.RequestState == state && answer.Action == "accept" && answer.Content[confirmation] == true:
		return nil
	case ok && p.RequestState == state:
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "The user declined. Nothing was changed."}}}
	}
	message := fmt.Sprintf("%s Continue? Arguments: %s", t.definition.Description, text.Line(truncate(string(arguments), 500)))
	return &sdk.CallToolResult{
		RequestState: state,
		InputRequests: sdk.InputRequestMap{confirmation: &sdk.ElicitParams{
			Mode: "form", Message: message,
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"confirm":{"type":"boolean","title":"Confirm","description":"True to confirm. This can't be undone.","default":false}},"required":["confirm"]}`),
		}},
	}
}

// nameArguments returns the arguments of a call with their current names and in canonical
// form, because a client may encode the same arguments differently in a second request. It
// returns arguments that are not a JSON object unchanged.
func (t *tool) nameArguments(arguments json.RawMessage) jsontext.Value {
	members := objectMembers(arguments)
	if members == nil {
		return jsontext.Value(arguments)
	}
	named := map[string]json.RawMessage{}
	for name, value := range members {
		if argument, ok := t.wording.arguments[name]; ok {
			name = argument
		}
		named[name] = value
	}
	if len(named) < len(members) {
		return jsontext.Value(arguments) // an argument is given twice
	}
	encoded, err := json.Marshal(named)
	if err != nil {
		return jsontext.Value(arguments)
	}
	value := jsontext.Value(encoded)
	_ = value.Canonicalize() // cannot fail for valid JSON
	return value
}

// truncate shortens s to at most n bytes, without splitting a character.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
