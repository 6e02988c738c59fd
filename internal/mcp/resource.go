package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parapet/internal/cli/text"
	"parapet/internal/fault"
)

// resource is a kind of record that clients can read by URI. A client reads it with the
// request of a tool, so it has the caller's permissions, the labels of untrusted text and
// the size limit of a tool's result.
type resource struct {
	// prefix is the start of the URI, before the value of the argument.
	prefix, argument, tool   string
	name, title, description string
}

// resources lists the kinds of resources.
func resources() []resource {
	return []resource{
		{"parapet://projects/", "project", "get_project", "project", "Project", "A project with its statuses, by its prefix or id."},
		{"parapet://tasks/", "task", "get_task", "task", "Task", "A task with its description and its latest decision request, by its key."},
	}
}

func (r resource) uriTemplate() string { return r.prefix + "{" + r.argument + "}" }

// uri returns the URI of a record.
func (r resource) uri(value string) string { return r.prefix + url.PathEscape(value) }

const (
	markdownType = "text/markdown"
	// maxURI is the maximum length of a URI in bytes.
	maxURI = 1000
	// maxTitle is the maximum length of a project's name in the list of resources, in bytes.
	maxTitle = 100
	// maxResources is the maximum number of resources on a page of the list. Together with
	// maxTitle, it keeps the page below MaxResult.
	maxResources = 100
)

// addResources adds the templates of the resources whose tool the server has.
func (s *Server) addResources() {
	for _, r := range resources() {
		if !s.hasTools(r.tool) {
			continue
		}
		s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{
			Name: r.name, Title: r.title, Description: r.description, MIMEType: markdownType, URITemplate: r.uriTemplate(),
		}, func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			value, err := url.PathUnescape(strings.TrimPrefix(req.Params.URI, r.prefix))
			if err != nil {
				return nil, unknownResource(req.Params.URI)
			}
			contents, f := s.read(ctx, r, value)
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case f != nil && (f.Code == fault.CodeNotFound || f.Code == fault.CodeValidation):
				return nil, unknownResource(req.Params.URI)
			case f != nil:
				return nil, requestError(f)
			}
			contents.URI = req.Params.URI
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{contents}}, nil
		})
	}
}

// read returns the Markdown of a record.
func (s *Server) read(ctx context.Context, r resource, value string) (*sdk.ResourceContents, *fault.Error) {
	t := s.tools[r.tool]
	arguments, err := json.Marshal(map[string]string{r.argument: value})
	if err != nil {
		return nil, fault.Internal(err)
	}
	ctx, cancel := withRequestContext(ctx)
	defer cancel()
	res, err := t.execute(ctx, exchangeOf(ctx), arguments)
	if err != nil {
		return nil, t.wording.rewriteError(fault.From(err))
	}
	content, ok := res.Content[0].(*sdk.TextContent)
	if !ok || res.IsError {
		return nil, fault.Internal(fmt.Errorf("%s: got no text", r.tool))
	}
	return &sdk.ResourceContents{URI: r.uri(value), MIMEType: markdownType, Text: content.Text, Meta: res.Meta}, nil
}

// unknownResource returns the error for a resource that does not exist or is not visible to
// the caller.
func unknownResource(uri string) error {
	data, err := json.Marshal(map[string]string{"uri": text.Line(truncate(uri, maxURI))})
	if err != nil {
		data = nil // cannot fail for valid UTF-8
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found", Data: data}
}

// requestError returns the protocol error for a failed request that is not a tool call.
func requestError(f *fault.Error) error {
	message := string(f.Code) + ": " + text.Line(truncate(f.Message, 2000))
	if f.Field != "" {
		message += " (field: " + text.Line(truncate(f.Field, 200)) + ")"
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// isReadableURI reports whether a URI has only printable ASCII characters and is not too
// long. The library quotes other characters in its error in a way that is not valid JSON.
func isReadableURI(uri string) bool {
	return len(uri) <= maxURI && !strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r > '~' })
}

// projectsTTL is how long a client may cache the list of resources.
const projectsTTL = time.Minute

// listProjects fills a list of resources with the projects that the caller may read. If the
// caller may not list projects, or may not act in the tenant, the error is that of an unknown
// resource.
func (s *Server) listProjects(ctx context.Context, cursor string, res *sdk.ListResourcesResult) error {
	ctx, cancel := withRequestContext(ctx)
	defer cancel()
	project := resources()[0]
	if !s.hasTools("list_projects") {
		return nil
	}
	page, f := s.fetch(ctx, "list_projects", map[string]any{"limit": maxResources, "cursor": cursor})
	switch {
	case f != nil && (f.Code == fault.CodeForbidden || f.Code == fault.CodeNotFound):
		return unknownResource(project.uriTemplate())
	case f != nil:
		return requestError(f)
	}
	for _, item := range page.memberItems("items") {
		prefix := item.memberText("prefix")
		res.Resources = append(res.Resources, &sdk.Resource{
			Name: prefix, URI: project.uri(prefix), MIMEType: markdownType, Title: prefix + ": " + truncate(text.Line(item.memberText("name")), maxTitle),
			Description: "A project. The name in the title is user-generated text (untrusted).",
		})
	}
	res.NextCursor = page.memberText("nextCursor")
	res.TTLMs = int(projectsTTL.Milliseconds())
	return nil
}

// fetch calls a tool's operation and returns its response.
func (s *Server) fetch(ctx context.Context, name string, arguments map[string]any) (*node, *fault.Error) {
	t := s.tools[name]
	encoded, err := json.Marshal(arguments)
	if err != nil {
		return nil, fault.Internal(err)
	}
	n, err := t.fetch(ctx, exchangeOf(ctx), encoded)
	if err != nil {
		return nil, fault.From(err)
	}
	return n, nil
}
