package dev

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parapet/internal/cli"
	"parapet/internal/mcp"
	"parapet/internal/op"
)

var toolNames = regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b`)

func (d *Dev) overMCP(t *testing.T, token string) callPath {
	t.Helper()
	return tools(t, "the tool over HTTP", &sdk.StreamableClientTransport{
		Endpoint:   d.App().BaseURL() + "/mcp?toolsets=all&allow-destructive=true",
		HTTPClient: &http.Client{Transport: bearerOf(token)}, DisableStandaloneSSE: true,
		// The names of the API's fields are arguments too.
	}, func(_ *op.Operation, args map[string]any) map[string]any { return args })
}

func (d *Dev) overStdio(t *testing.T, token string) callPath {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan int, 1)
	var errs bytes.Buffer
	pt := d.pt(t, token, fromClient, toClient, &errs)
	go func() { done <- pt.Run(ctx, []string{"mcp", "--toolsets", "all", "--allow-destructive"}) }()
	t.Cleanup(func() {
		_ = toServer.Close()
		stop()
		if code := <-done; code != cli.ExitDone {
			t.Errorf("pt mcp: got exit code %d: %s", code, &errs)
		}
	})
	return tools(t, "the tool over stdio", &sdk.IOTransport{Reader: fromServer, Writer: toServer}, toArguments)
}

// tools calls operations as MCP tools and validates each result against the tool's schema.
// named converts the input to arguments. An error names operations and fields like the API.
func tools(t *testing.T, name string, transport sdk.Transport, named func(*op.Operation, map[string]any) map[string]any) callPath {
	t.Helper()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "parity", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*jsonschema.Resolved{}
	for _, def := range list.Tools {
		text, err := json.Marshal(def.OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		if schemas[def.Name], err = s.Resolve(nil); err != nil {
			t.Fatal(err)
		}
	}
	return callPath{name, func(t *testing.T, o *op.Operation, args map[string]any) outcome {
		t.Helper()
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: o.ToolName(), Arguments: named(o, args)})
		if err != nil {
			t.Fatalf("%s: %v", o.Name, err)
		}
		if sent, err := json.Marshal(res); err != nil || len(sent) > mcp.MaxResult {
			t.Errorf("%s: got a result of %d bytes (%v)", o.Name, len(sent), err)
		}
		if !res.IsError {
			if err := schemas[o.ToolName()].Validate(res.StructuredContent); err != nil {
				t.Errorf("%s: the result violates the tool's schema: %v", o.Name, err)
			}
			return outcome{Data: res.StructuredContent}
		}
		text, err := json.Marshal(res.Meta[mcp.MetaError])
		if err != nil {
			t.Fatal(err)
		}
		var e outcome
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatal(err)
		}
		e.Message = toolNames.ReplaceAllStringFunc(e.Message, func(name string) string {
			if schemas[name] == nil {
				return name
			}
			return strings.ReplaceAll(name, "_", "-")
		})
		for _, f := range o.Fields {
			if e.Field == f.Argument {
				e.Field = f.Name
			}
		}
		return e
	}}
}

// toArguments returns the input of an operation with the names of the tool's arguments.
func toArguments(o *op.Operation, args map[string]any) map[string]any {
	named := maps.Clone(args)
	for _, f := range o.Fields {
		if v, ok := args[f.Name]; ok && f.Argument != f.Name {
			delete(named, f.Name)
			named[f.Argument] = v
		}
	}
	return named
}
