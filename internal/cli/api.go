package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"parapet/internal/cli/text"
	"parapet/internal/client"
	"parapet/internal/contract/identity"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

type apiOptions struct {
	inv    *invocation
	input  string
	fields []string
	writeFlags
}

func newAPICmd(inv *invocation) *cobra.Command {
	o := &apiOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "api <method> <path>",
		Short: "Call any route of the service",
		Long: `Calls a route of the service with the credential and organisation in use and
prints the body of the answer as it is; --jq works on it. The path starts with a
slash and stands below the address of the service.

The body is made from --field (name=text, or name:=json), or read from a file by
--input (- is the input).`,
		Example: `  pt api GET '/api/projects?limit=2' --jq '.items[].name'
  pt api POST /api/auth/api-keys --field label=laptop --field expiresInDays:=7
  pt api GET /openapi.json > openapi.json`,
		Args: cobra.ExactArgs(2),
	}
	cmd.Flags().StringArrayVar(&o.fields, "field", nil, "a member of the body: `name=text`, or name:=json")
	cmd.Flags().StringVar(&o.input, "input", "", "read the body from a `file`, or from the input with -")
	atMostOne(cmd, "field", "input")
	o.bind(cmd)
	return inv.runs(cmd, nil, o.run)
}

func (o *apiOptions) run(ctx context.Context, args []string) error {
	r := client.Request{Method: strings.ToUpper(args[0]), Target: args[1], IdempotencyKey: o.key}
	methods := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	if !slices.Contains(methods, r.Method) {
		return usagef("the method %q is none of %s", args[0], strings.Join(methods, ", "))
	}
	if !strings.HasPrefix(r.Target, "/") || strings.HasPrefix(r.Target, "//") {
		return usagef("the path %q does not start with one slash", args[1])
	}
	r.Repeatable = r.Method == http.MethodGet || r.Method == http.MethodHead
	if known := operationAt(r.Method, r.Target); r.IdempotencyKey == "" && known != nil && client.TakesIdempotencyKey(known) {
		r.IdempotencyKey, r.GeneratedKey = client.NewID(), true
	}
	var err error
	if r.Body, err = o.body(); err != nil {
		return err
	}
	s, err := o.inv.settings()
	if err != nil {
		return err
	}
	c, err := o.inv.dial(s)
	if err != nil {
		return err
	}
	answer, err := c.Send(ctx, r)
	if err != nil {
		return err
	}
	if body := jsontext.Value(answer.Body); len(body) > 0 && body.IsValid() {
		return o.inv.printJSON(ctx, body)
	}
	if o.inv.flags.jq != "" {
		return errors.New("the answer is not JSON, so --jq can't read it")
	}
	out := string(answer.Body)
	if o.inv.OutTerminal {
		out = text.Block(out)
	}
	_, err = io.WriteString(o.inv.Out, out)
	return err
}

// operationAt is the operation that answers at a route, or nil where this pt knows
// none. A literal part of a path comes before one in braces.
func operationAt(method, target string) *op.Operation {
	path, _, _ := strings.Cut(target, "?")
	given := strings.Split(path, "/")
	var found *op.Operation
	for _, o := range slices.Concat(identity.Operations(), tracker.Operations()) {
		parts := strings.Split(o.Path, "/")
		if o.Method != method || len(parts) != len(given) {
			continue
		}
		matches := true
		for i, part := range parts {
			matches = matches && (part == given[i] || strings.HasPrefix(part, "{"))
		}
		if matches && (found == nil || len(o.PathParts()) < len(found.PathParts())) {
			found = o
		}
	}
	return found
}

// body makes the body from --field or --input; nil where there is neither.
func (o *apiOptions) body() ([]byte, error) {
	switch {
	case o.input == "-":
		return io.ReadAll(o.inv.In)
	case o.input != "":
		text, err := os.ReadFile(o.input)
		if err != nil {
			return nil, usage(err)
		}
		return text, nil
	case len(o.fields) == 0:
		return nil, nil
	}
	members := map[string]jsontext.Value{}
	for _, f := range o.fields {
		name, value, ok := strings.Cut(f, "=")
		if !ok || name == "" || name == ":" {
			return nil, usagef("--field %q is neither name=text nor name:=json", f)
		}
		encoded, err := jsontext.AppendQuote(nil, value)
		if plain, isJSON := strings.CutSuffix(name, ":"); isJSON {
			name, encoded = plain, []byte(value)
		}
		if err != nil || !jsontext.Value(encoded).IsValid() {
			return nil, usagef("--field %q does not hold valid JSON", f)
		}
		if _, twice := members[name]; twice {
			return nil, usagef("--field names %q twice", name)
		}
		members[name] = encoded
	}
	return json.Marshal(members, json.Deterministic(true))
}
