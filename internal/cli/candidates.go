package cli

import (
	"context"
	"strconv"
	"strings"

	"parapet/internal/client"
	"parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// candidates returns the records of the project that have the argument's kind.
func (a *argument) candidates(ctx context.Context, c *client.Client) ([]candidate, error) {
	if a.kind == hintDeliverable {
		return deliverables(ctx, c, a.projectID())
	}
	return candidatesOf(ctx, c, a.kind, a.projectID())
}

// candidatesOf returns the stages, gates or custom fields of a project, with one request.
func candidatesOf(ctx context.Context, c *client.Client, kind hintKind, project op.UUID) ([]candidate, error) {
	if kind == hintField {
		return customFields(ctx, c, project)
	}
	return pipelineCandidates(ctx, c, kind, project)
}

// candidate is a record that a hint may identify by its name, a part of its name, or
// its position.
type candidate struct {
	id       op.UUID
	name     string
	position string
}

// matchCandidate returns the ID and name of the only candidate that matches the hint. An exact
// match takes precedence over partial matches. Several matches are an error that lists
// them. kind is the kind of record, for the error.
func matchCandidate(kind, hint string, all []candidate) (op.UUID, string, error) {
	var exact, partial []candidate
	for _, c := range all {
		switch {
		case strings.EqualFold(c.name, hint), c.position == hint:
			exact = append(exact, c)
		case strings.Contains(strings.ToLower(c.name), strings.ToLower(hint)):
			partial = append(partial, c)
		}
	}
	matches := exact
	if len(matches) == 0 {
		matches = partial
	}
	switch len(matches) {
	case 0:
		return "", "", fault.NotFound(kind + " " + strconv.Quote(hint))
	case 1:
		return matches[0].id, matches[0].name, nil
	default:
		f := fault.Conflict("The " + kind + " " + strconv.Quote(hint) + " is ambiguous.")
		var list []any
		for _, c := range matches {
			list = append(list, map[string]any{"id": string(c.id), "name": c.name})
		}
		f.Details = map[string]any{"candidates": list}
		return "", "", f
	}
}

// deliverables returns all deliverables of a project.
func deliverables(ctx context.Context, c *client.Client, project op.UUID) ([]candidate, error) {
	var all []candidate
	err := forEachItem(ctx, c, tracker.ListDeliverables, &tracker.ListDeliverablesIn{ProjectID: project}, func(d *tracker.DeliverableSummary) error {
		all = append(all, candidate{id: d.ID, name: d.Title})
		return nil
	})
	return all, err
}

// customFields returns the custom fields of a project. A project has at most 100, so one
// page contains them all.
func customFields(ctx context.Context, c *client.Client, project op.UUID) ([]candidate, error) {
	page, err := callOperation(ctx, c, tracker.ListCustomFields, &tracker.ListCustomFieldsIn{ProjectID: project, Limit: maxPage})
	if err != nil {
		return nil, err
	}
	var all []candidate
	for _, f := range page.Items {
		all = append(all, candidate{id: f.ID, name: f.Name})
	}
	return all, nil
}

// pipelineCandidates returns the stages of a project, or its gates, depending on the kind.
func pipelineCandidates(ctx context.Context, c *client.Client, kind hintKind, project op.UUID) ([]candidate, error) {
	p, err := callOperation(ctx, c, tracker.ListStages, &tracker.ListStagesIn{ProjectID: project})
	if err != nil {
		return nil, err
	}
	var all []candidate
	for _, s := range p.Stages {
		switch {
		case kind == hintStage:
			all = append(all, candidate{s.ID, s.Name, strconv.Itoa(s.Position)})
		case s.Gate != nil:
			all = append(all, candidate{s.Gate.ID, s.Gate.Name, ""})
		}
	}
	return all, nil
}
