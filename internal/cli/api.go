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
	"parapet/internal/contract"
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
		Short: "Send a request to any route of the service",
		Long: `Send a request with the current credential and organisation, and print the body of
the response unchanged, or filtered with --jq. The path starts with a slash and is
relative to the URL of the service.

The request body consists of the --field members (name=text or name:=json), or is read
from the file in --input (- for standard input).`,
		Example: `  pt api GET '/api/projects?limit=2' --jq '.items[].name'
  pt api POST /api/auth/api-keys --field label=laptop --field expiresInDays:=7
  pt api GET /openapi.json > openapi.json`,
		Args: cobra.ExactArgs(2),
	}
	cmd.Flags().StringArrayVar(&o.fields, "field", nil, "a member of the request body: `name=text` or name:=json")
	cmd.Flags().StringVar(&o.input, "input", "", "read the request body from a `file`, or from standard input with -")
	allowOneOf(cmd, "field", "input")
	o.bind(cmd)
	return inv.setRun(cmd, nil, o.run)
}

func (o *apiOptions) run(ctx context.Context, args []string) error {
	r := client.Request{Method: strings.ToUpper(args[0]), Target: args[1], IdempotencyKey: o.key}
	methods := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	if !slices.Contains(methods, r.Method) {
		return usagef("method %q must be one of %s", args[0], strings.Join(methods, ", "))
	}
	if !strings.HasPrefix(r.Target, "/") || strings.HasPrefix(r.Target, "//") {
		return usagef("path %q must start with exactly one slash", args[1])
	}
	r.Repeatable = r.Method == http.MethodGet || r.Method == http.MethodHead
	known := operationAt(r.Method, r.Target)
	// A pager can keep what it shows. A write that this version of pt does not know may return a secret.
	if (known == nil && !r.Repeatable) || (known != nil && known.Secret) {
		o.inv.flags.noPager = true
	}
	if r.IdempotencyKey == "" && known != nil && client.TakesIdempotencyKey(known) {
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
		return errors.New("--jq needs a JSON response; the response is not JSON")
	}
	out := string(answer.Body)
	if o.inv.OutTerminal {
		out = text.Block(out)
	}
	_, err = io.WriteString(o.inv.Out, out)
	return err
}

// operationAt returns the operation at a route, or nil if this version of pt knows none.
// A route with fewer path parameters takes precedence.
func operationAt(method, target string) *op.Operation {
	path, _, _ := strings.Cut(target, "?")
	segments := strings.Split(path, "/")
	var found *op.Operation
	for _, o := range contract.Operations() {
		parts := strings.Split(o.Path, "/")
		if o.Method != method || len(parts) != len(segments) {
			continue
		}
		matches := true
		for i, part := range parts {
			matches = matches && (part == segments[i] || strings.HasPrefix(part, "{"))
		}
		if matches && (found == nil || len(o.PathParts()) < len(found.PathParts())) {
			found = o
		}
	}
	return found
}

// body returns the request body from --field or --input, or nil if neither is set.
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
			return nil, usagef("--field %q must have the form name=text or name:=json", f)
		}
		encoded, err := jsontext.AppendQuote(nil, value)
		if plain, isJSON := strings.CutSuffix(name, ":"); isJSON {
			name, encoded = plain, []byte(value)
		}
		if err != nil || !jsontext.Value(encoded).IsValid() {
			return nil, usagef("--field %q: the value must be valid JSON", f)
		}
		if _, duplicate := members[name]; duplicate {
			return nil, usagef("duplicate --field %q", name)
		}
		members[name] = encoded
	}
	return json.Marshal(members, json.Deterministic(true))
}
