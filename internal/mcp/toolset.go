package mcp

import (
	"fmt"
	"slices"
	"strings"

	"parapet/internal/op"
)

// Toolsets that contain tools of other toolsets.
const (
	// Default is the toolset with the tools for everyday work.
	Default = "default"
	// All is the toolset with all tools.
	All = "all"
)

// Toolset is a group of tools that a client can enable.
type Toolset struct{ Name, Doc string }

// Toolsets returns all toolsets, in the order of the help text.
func Toolsets() []Toolset {
	return []Toolset{
		{Default, "everyday work on tasks, issues and decisions"},
		{All, "all tools"},
		{"decisions", "decision requests: raise, answer, cancel, wait"},
		{"stages", "stages, gates and their reviews"},
		{"deliverables", "deliverables, acceptance criteria, custom fields"},
		{"comments", "comments on tasks and issues"},
		{"time", "time entries"},
		{"delegations", "delegations of permissions"},
		{"runs", "runs of synthetic agents"},
		{"issues", "issues: report, assign, escalate, resolve"},
		{"initiatives", "initiatives, which group projects"},
		{"tasks", "tasks, dependencies, claims, import and export"},
		{"projects", "projects and their settings"},
		{"catalog", "catalog entries, the taxonomy and shortlists"},
		{"account", "the caller's identity, organisations, permissions and keys"},
		{"audit", "audit entries, decision log, events, notifications"},
		{"webhooks", "webhooks and the log of their deliveries"},
		{"wiki", "wiki pages and their versions"},
		{"directory", "tenants, organisations, people, roles"},
	}
}

// CheckToolsets returns an error if a name is not the name of a toolset.
func CheckToolsets(names []string) error {
	allowed := make([]string, 0, len(Toolsets()))
	for _, t := range Toolsets() {
		allowed = append(allowed, t.Name)
	}
	for _, n := range names {
		if !slices.Contains(allowed, n) {
			return fmt.Errorf("unknown toolset %q; allowed: %s", truncate(n, 64), strings.Join(allowed, ", "))
		}
	}
	return nil
}

// pathToolsets maps a part of an operation's path to its toolset. The first match counts.
var pathToolsets = []struct{ part, toolset string }{
	{"/api/catalog/", "catalog"},
	{"/decision-requests", "decisions"},
	{"/stages", "stages"},
	{"/gates", "stages"},
	{"/deliverables", "deliverables"},
	{"/criteria", "deliverables"},
	{"/custom-field", "deliverables"},
	{"/comments", "comments"},
	{"/time-entries", "time"},
	{"/delegations", "delegations"},
	{"/runs", "runs"},
	{"/cron", "runs"},
	{"/issues", "issues"},
	{"/initiatives", "initiatives"},
	{"/tasks", "tasks"},
	{"/claim", "tasks"},
	{"/import", "tasks"},
	{"/export", "tasks"},
	{"/api/workspace", "projects"},
	{"/api/inbox", "tasks"},
	{"/api/projects", "projects"},
	{"/api/webhooks", "webhooks"},
	{"/api/auth", "account"},
	{"/api/audit", "audit"},
	{"/api/explain-decision", "audit"},
	{"/api/decisions", "audit"},
	{"/api/events", "audit"},
	{"/api/notifications", "audit"},
	{"/api/pages", "wiki"},
	{"/api/", "directory"},
}

func toolsetOf(o *op.Operation) string {
	for _, p := range pathToolsets {
		if strings.Contains(o.Path, p.part) {
			return p.toolset
		}
	}
	return "directory"
}

// defaultOperations are the operations of the default toolset: those that a person or an
// agent needs to find work, do it, report on it and raise decision requests. A test limits
// their number.
var defaultOperations = []string{
	"workspace", "find-project", "get-project-overview",
	"list-tasks", "get-task", "create-task", "update-task", "claim-next-ready", "keep-claim", "release-claim", "add-dependency",
	"mark-awaiting-decision", "wait-decision",
	"list-comments", "create-comment",
	"list-issues", "create-issue",
	"inbox", "list-people",
}

func isInDefaultToolset(o *op.Operation) bool { return slices.Contains(defaultOperations, o.Name) }

// has reports whether a tool is in one of the view's toolsets.
func (v View) has(t *tool) bool {
	if len(v.Toolsets) == 0 {
		return t.isDefault
	}
	return slices.ContainsFunc(v.Toolsets, func(name string) bool {
		return name == All || name == t.toolset || (name == Default && t.isDefault)
	})
}
