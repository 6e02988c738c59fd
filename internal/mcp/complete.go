package mcp

import (
	"context"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxCompletions is the maximum number of values that the protocol allows.
const maxCompletions = 100

// complete returns the values that an argument of a prompt or a resource template can have:
// prefixes of projects and keys of tasks that the caller may read. Other arguments have no
// values. If the service rejects the lookup, there are none either.
func (s *Server) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	if !s.hasArgument(req.Params.Ref, req.Params.Argument.Name) || !s.hasTools("list_projects", "list_tasks") {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown prompt, resource template or argument"}
	}
	ctx, cancel := withRequestContext(ctx)
	defer cancel()
	var values []string
	value := req.Params.Argument.Value
	switch name := req.Params.Argument.Name; {
	case len(value) > maxTitle: // longer than every prefix and key
	case name == "project":
		values = s.completeProjects(ctx, value)
	case name == "task":
		values = s.completeTasks(ctx, value)
	}
	details := sdk.CompletionResultDetails{Values: values[:min(len(values), maxCompletions)], HasMore: len(values) > maxCompletions}
	if values == nil {
		details.Values = []string{}
	}
	return &sdk.CompleteResult{Completion: details}, ctx.Err()
}

// hasArgument reports whether a reference is to a prompt or a resource template with an
// argument of this name.
func (s *Server) hasArgument(ref *sdk.CompleteReference, name string) bool {
	if ref.Type == "ref/prompt" {
		return slices.ContainsFunc(s.prompts[ref.Name].arguments, func(a *sdk.PromptArgument) bool { return a.Name == name })
	}
	return slices.ContainsFunc(resources(), func(r resource) bool { return r.uriTemplate() == ref.URI && r.argument == name })
}

// completeProjects returns the prefixes of the projects whose prefix or name contains the
// value.
func (s *Server) completeProjects(ctx context.Context, value string) []string {
	page, f := s.fetch(ctx, "list_projects", map[string]any{"search": value, "limit": 200})
	if f != nil {
		return nil
	}
	var prefixes []string
	for _, item := range page.memberItems("items") {
		prefixes = append(prefixes, item.memberText("prefix"))
	}
	return prefixes
}

// completeTasks returns the keys of the tasks that start with the value. Without a hyphen,
// the value is the start of a prefix.
func (s *Server) completeTasks(ctx context.Context, value string) []string {
	prefix, _, hasNumber := strings.Cut(strings.ToUpper(value), "-")
	if !hasNumber {
		prefixes := s.completeProjects(ctx, value)
		for i := range prefixes {
			prefixes[i] += "-"
		}
		return prefixes
	}
	page, f := s.fetch(ctx, "list_tasks", map[string]any{"project": prefix, "limit": 200})
	if f != nil {
		return nil
	}
	var keys []string
	for _, item := range page.memberItems("items") {
		if key := item.memberText("key"); strings.HasPrefix(key, strings.ToUpper(value)) {
			keys = append(keys, key)
		}
	}
	return keys
}
