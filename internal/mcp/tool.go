package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parapet/internal/cli/text"
	"parapet/internal/client"
	"parapet/internal/op"
)

// tool is an operation as a tool.
type tool struct {
	op         *op.Operation
	definition *sdk.Tool
	toolset    string
	// standard tools are in the default toolset.
	standard  bool
	page      bool
	limited   bool
	untrusted map[string]bool
}

// availableTools says whether an operation is a tool: one that gives a secret must not
// show it to a model, and the credential's own session is not the model's to
// begin or end.
func availableTools(o *op.Operation) bool {
	session := reflect.TypeFor[interface {
		SessionCookie() (string, time.Time)
	}]()
	return !o.Secret && o.Access != op.Public && !reflect.PointerTo(o.Out).Implements(session)
}

func newTool(o *op.Operation) (*tool, error) {
	in, err := inputSchema(o)
	if err != nil {
		return nil, err
	}
	out, err := outputSchema(o)
	if err != nil {
		return nil, err
	}
	no, destroys := false, o.Effect == op.Destroy
	t := &tool{op: o, toolset: toolsetOf(o), standard: isStandard(o), untrusted: untrustedPaths(o.Out)}
	t.page = isPage(o.Out)
	for _, f := range o.Fields {
		t.limited = t.limited || (f.Name == "limit" && f.Source == op.FromQuery)
	}
	t.definition = &sdk.Tool{
		Name: o.ToolName(), Description: description(o), InputSchema: in, OutputSchema: out,
		Annotations: &sdk.ToolAnnotations{
			ReadOnlyHint: o.Effect == op.Read, DestructiveHint: &destroys,
			// A second call with the same arguments finds what the first one left.
			IdempotentHint: o.Method != http.MethodPost,
			// The tools reach the tracker and nothing else.
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

// hiddenFrom tells why a client is not offered the tool, or "".
func (t *tool) hiddenFrom(v View, caps *sdk.ClientCapabilities) string {
	switch {
	case !v.has(t):
		return fmt.Sprintf("its toolset %q is not asked for", t.toolset)
	case v.ReadOnly && t.op.Effect.Changes():
		return "it changes something, and this connection is read-only"
	case t.op.Effect == op.Destroy && !v.AllowDestructive && !canAsk(caps):
		return "it can't be undone, this client can't ask its user, and destructive tools are not allowed"
	default:
		return ""
	}
}

// canAsk tells whether the client can put a question to its user.
func canAsk(caps *sdk.ClientCapabilities) bool {
	return caps != nil && caps.Elicitation != nil && (caps.Elicitation.Form != nil || caps.Elicitation.URL == nil)
}

// call carries out the operation.
func (t *tool) call(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	e := exchangeOf(ctx)
	if e.until != nil {
		// The protocol's older forms do not end a call with its request.
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(e.until, cancel)()
	}
	if t.op.Effect == op.Destroy && !e.view.AllowDestructive {
		if asks := t.confirm(req.Params); asks != nil {
			return asks, nil
		}
	}
	res, err := t.execute(ctx, e, req.Params.Arguments)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil, err
		}
		return toolErrorOf(err), nil
	}
	return res, nil
}

func (t *tool) execute(ctx context.Context, e *exchange, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	wire, err := t.op.WriteArguments(arguments)
	if err != nil {
		return nil, err
	}
	r := client.Request{Method: wire.Method, Target: wire.Target, Body: wire.Body, Repeatable: e.repeat && !t.op.Effect.Changes(), Hold: t.hold(wire.Target)}
	if e.repeat && t.op.Effect.Changes() {
		// So that a write that met a busy service is tried again and done once.
		r.IdempotencyKey, r.GeneratedKey = client.NewID(), true
	}
	return t.result(ctx, e.sender, r)
}

// confirmation is the name of the question before a tool that can't be undone.
const confirmation = "confirm"

// confirm asks the client's user, unless the user has said yes to this very
// call; nil means that the user did.
func (t *tool) confirm(p *sdk.CallToolParamsRaw) *sdk.CallToolResult {
	arguments := jsontext.Value(p.Arguments)
	if arguments.IsValid() {
		// A client may write the same arguments in another order the second time.
		arguments = arguments.Clone()
		_ = arguments.Canonicalize() // what is valid can be written canonically
	}
	sum := sha256.Sum256(append([]byte(p.Name+"\x00"), arguments...))
	state := base64.RawURLEncoding.EncodeToString(sum[:])
	answer, ok := p.InputResponses[confirmation].(*sdk.ElicitResult)
	switch {
	case ok && p.RequestState == state && answer.Action == "accept" && answer.Content[confirmation] == true:
		return nil
	case ok && p.RequestState == state:
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "Nothing was done: the user did not agree."}}}
	}
	message := fmt.Sprintf("%s Go on? The arguments are %s", description(t.op), text.Line(shortened(string(p.Arguments), 500)))
	return &sdk.CallToolResult{
		RequestState: state,
		InputRequests: sdk.InputRequestMap{confirmation: &sdk.ElicitParams{
			Mode: "form", Message: message,
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"confirm":{"type":"boolean","title":"Do it","description":"True to do what can't be undone.","default":false}},"required":["confirm"]}`),
		}},
	}
}

// shortened is a text's beginning, at most n bytes of whole characters.
func shortened(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
