package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

const inspector = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"

// inspect calls the server with the inspector's command line, over HTTP and stdio.
func inspect(ctx context.Context, out io.Writer, tools toolbox, p *product) (passed, failed int) {
	over := map[string][]string{
		"/mcp":   {"--transport", "http", "--header", "Authorization: Bearer " + p.token, "--server-url"},
		"pt mcp": {"--transport", "stdio", "-e", "PT_BASE_URL=" + p.base, "-e", "PT_AUTH_TOKEN=" + p.token},
	}
	steps := []struct {
		name   string
		query  string
		flags  []string
		method []string
		exit   bool // whether the exit code must be 0
		says   string
	}{
		// --strict fails on schemas that common clients cannot read.
		{"default tools", "", nil, []string{"--method", "tools/list", "--strict"}, true, `"find_project"`},
		{"all tools", "?toolsets=all", []string{"--toolsets", "all"}, []string{"--method", "tools/list", "--strict"}, true, `"list_roles"`},
		{"destructive tools are not listed", "?toolsets=all", []string{"--toolsets", "all"}, []string{"--method", "tools/call", "--tool-name", "delete_task"}, false, "tool_not_found"},
		{"read", "", nil, []string{"--method", "tools/call", "--tool-name", "find_project", "--tool-arg", "hint=CONF"}, true, p.project},
		{"list", "", nil, []string{"--method", "tools/call", "--tool-name", "list_tasks", "--tool-arg", "project=CONF"}, true, "Write it down"},
		{"write", "", nil, []string{"--method", "tools/call", "--tool-name", "create_task", "--tool-arg", "project=CONF", "title=TITLE"}, true, "TITLE"},
		{"error", "", nil, []string{"--method", "tools/call", "--tool-name", "find_project", "--tool-arg", "hint=nowhere"}, false, "NOT_FOUND"},
		{"prompts", "", nil, []string{"--method", "prompts/list"}, true, `"take_next_task"`},
		{"resources", "", nil, []string{"--method", "resources/list"}, true, `"parapet://projects/CONF"`},
		{"read a resource", "", nil, []string{"--method", "resources/read", "--uri", "parapet://tasks/CONF-1"}, true, "Write it down"},
		{"read-only", "?read-only=true", []string{"--read-only"}, []string{"--method", "tools/call", "--tool-name", "create_task", "--tool-arg", "project=CONF", "title=No"}, false, "tool_not_found"},
	}
	// A task with an existing title would be rejected as a duplicate.
	titles := map[string]string{"/mcp": "Paint the harbour wall", "pt mcp": "Order new rope"}
	for _, way := range []string{"/mcp", "pt mcp"} {
		fmt.Fprintf(out, "\nInspector on %s\n", way)
		for _, s := range steps {
			args := append([]string{"--cli"}, over[way]...)
			says := strings.ReplaceAll(s.says, "TITLE", titles[way])
			if way == "/mcp" {
				args = append(args, p.base+"/mcp"+s.query)
				args = append(args, s.method...)
			} else {
				args = append(args, s.method...)
				args = append(args, "--", p.pt, "mcp")
				args = append(args, s.flags...)
			}
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "TITLE", titles[way])
			}
			text, err := runInspector(ctx, tools, args)
			if (err == nil) != s.exit || !bytes.Contains(text, []byte(says)) {
				failed++
				fmt.Fprintf(out, "  FAILED   %s: %v\n%s\n", s.name, err, strings.ReplaceAll(lastBytes(text), p.token, "…"))
				continue
			}
			passed++
			fmt.Fprintf(out, "  ok       %s\n", s.name)
		}
	}
	return passed, failed
}

// runInspector runs the inspector for at most a minute and returns its output.
func runInspector(ctx context.Context, tools toolbox, args []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := tools.command(ctx, inspector, args...)
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return out, fmt.Errorf("the inspector could not be run: %w", err)
	}
	return out, err
}
