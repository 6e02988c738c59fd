package mcp

import (
	"fmt"
	"slices"
	"strings"

	"parapet/internal/op"
)

// The toolsets that are no noun of their own.
const (
	// Default is the toolset of everyday work, across the others.
	Default = "default"
	// All is every tool.
	All = "all"
)

// Toolset is a group of tools that is offered as one.
type Toolset struct{ Name, Doc string }

// Toolsets lists the toolsets, as help shows them.
func Toolsets() []Toolset {
	return []Toolset{
		{Default, "everyday work on tasks, issues and decisions"},
		{All, "every tool"},
		{"decisions", "decision requests: raise, answer, cancel, wait"},
		{"stages", "stages, gates and their reviews"},
		{"deliverables", "deliverables, acceptance criteria, custom fields"},
		{"comments", "comments on tasks and issues"},
		{"time", "time entries"},
		{"delegations", "who may act for whom"},
		{"runs", "runs of synthetic agents"},
		{"issues", "issues: report, assign, escalate, resolve"},
		{"initiatives", "initiatives over several projects"},
		{"tasks", "tasks, dependencies, claims, import and export"},
		{"projects", "projects and their settings"},
		{"account", "the caller: who, where, which permissions, which keys"},
		{"audit", "audit entries, decision log, events, notifications"},
		{"directory", "tenants, organisations, people, roles"},
	}
}

// CheckToolsets holds names against the known ones.
func CheckToolsets(names []string) error {
	known := make([]string, 0, len(Toolsets()))
	for _, t := range Toolsets() {
		known = append(known, t.Name)
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return fmt.Errorf("there is no toolset %q; known: %s", shortened(n, 64), strings.Join(known, ", "))
		}
	}
	return nil
}

// places tell an operation's toolset by a part of its path: the first that fits.
var places = []struct{ part, toolset string }{
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
	{"/api/projects", "projects"},
	{"/api/auth", "account"},
	{"/api/audit", "audit"},
	{"/api/decisions", "audit"},
	{"/api/events", "audit"},
	{"/api/notifications", "audit"},
	{"/api/", "directory"},
}

func toolsetOf(o *op.Operation) string {
	for _, p := range places {
		if strings.Contains(o.Path, p.part) {
			return p.toolset
		}
	}
	return "directory"
}

// standard are the operations of the default toolset: what a person or an agent
// needs to find work, do it, report on it and ask about it. A test bounds them.
var standard = []string{
	"workspace", "find-project", "get-project-overview",
	"list-tasks", "get-task", "create-task", "update-task", "claim-next-ready", "keep-claim", "release-claim", "add-dependency",
	"mark-awaiting-decision", "wait-decision",
	"list-comments", "create-comment",
	"list-issues", "create-issue",
}

func isStandard(o *op.Operation) bool { return slices.Contains(standard, o.Name) }

// has tells whether a tool is in one of the view's toolsets.
func (v View) has(t *tool) bool {
	if len(v.Toolsets) == 0 {
		return t.standard
	}
	return slices.ContainsFunc(v.Toolsets, func(name string) bool {
		return name == All || name == t.toolset || (name == Default && t.standard)
	})
}
