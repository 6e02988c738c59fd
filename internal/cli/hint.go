package cli

import (
	"context"
	"reflect"
	"strconv"
	"strings"

	"parapet/internal/client"
	"parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// projectHelp ends the help of every command that takes a project.
const projectHelp = `A project is named by its id, its task-key prefix, its name or a part of its
name that fits no other, or a path of a repository that is bound to it. Where none
is named PT_PROJECT is meant, else the prefix of a task's key, else the project
that the current folder is bound to (pt bind-repo).`

// hintKind says how a text becomes the id of a record.
type hintKind int

const (
	// hintNone fields take their value as it is.
	hintNone hintKind = iota
	hintProject
	hintTask
	hintInitiative
	hintIssue
	hintStage
	hintGate
	hintDeliverable
	hintField
)

// hintKindOf gives the kind of a field by its name: wherever a contract has a
// field of that name, a person may type what it stands for.
func hintKindOf(f op.Field) hintKind {
	if f.Value() != reflect.TypeFor[op.UUID]() {
		return hintNone
	}
	switch f.Name {
	case "projectId":
		return hintProject
	case "taskId", "epicId", "parentTaskId":
		return hintTask
	case "initiativeId":
		return hintInitiative
	case "issueId":
		return hintIssue
	case "stageId":
		return hintStage
	case "gateId":
		return hintGate
	case "deliverableId":
		return hintDeliverable
	case "fieldId":
		return hintField
	default:
		return hintNone
	}
}

// help says what a hint may be.
func (k hintKind) help() string {
	switch k {
	case hintProject:
		return "its id, prefix, name or repository path"
	case hintTask, hintIssue:
		return "its id or key"
	case hintInitiative:
		return "its id, name or a part of its name"
	case hintStage:
		return "its id, name or place"
	case hintGate, hintField:
		return "its id or name"
	case hintDeliverable:
		return "its id or title"
	default:
		return ""
	}
}

// unresolved stands in a field for an id that is not known yet, so that the
// rest of an input can be held against its declaration before any request.
const unresolved = op.UUID("00000000-0000-4000-8000-000000000000")

// argument is a field that the command line fills by an argument or a flag, and
// that may name a record by something else than its id.
type argument struct {
	name  string
	field op.Field
	kind  hintKind
	v     reflect.Value
	// in is the input that the field belongs to.
	in reflect.Value
	// typed is the text as it was given; hint what is left to be looked up.
	typed, hint string
	given       bool
	// folder are the hints of the folder, where that is what was meant.
	folder []string
	// found is what the record is called, where it was looked up.
	found string
}

// newArgument makes the argument of a field of the input in.
func newArgument(f op.Field, in reflect.Value) *argument {
	name := toKebabCase(strings.TrimSuffix(f.Name, "Id"))
	return &argument{name: name, field: f, kind: hintKindOf(f), v: in.Field(f.Index), in: in}
}

// take reads a text. An id, and the empty text that clears a field, are the
// value; any other text of a field that takes hints is looked up later.
func (a *argument) take(text string) error {
	a.given, a.typed, a.hint = true, text, ""
	value := &fieldValue{field: a.field, v: a.v}
	_, err := op.ParseUUID(text)
	if err == nil || text == "" || a.kind == hintNone {
		return value.Set(text)
	}
	a.hint = text
	return value.Set(string(unresolved))
}

// Set, String and Type make an argument a flag.
func (a *argument) Set(text string) error { return a.take(text) }

func (a *argument) String() string { return "" }

// Type is the word that stands for the value in help.
func (a *argument) Type() string { return a.name }

// text is the value that the input holds.
func (a *argument) text() string { return a.v.String() }

// resolve looks up what the hint means and puts the id into the input.
func (a *argument) resolve(ctx context.Context, c *client.Client) error {
	if a.hint == "" {
		return nil
	}
	id, name, err := a.find(ctx, c)
	if err != nil {
		return err
	}
	a.hint, a.found = "", name
	return (&fieldValue{field: a.field, v: a.v}).Set(string(id))
}

// find gives the id that the hint means, and what the record is called.
func (a *argument) find(ctx context.Context, c *client.Client) (op.UUID, string, error) {
	switch a.kind {
	case hintTask:
		return findTask(ctx, c, a.hint)
	case hintIssue:
		i, err := callOperation(ctx, c, tracker.GetIssue, &tracker.GetIssueIn{Issue: a.hint})
		if err != nil {
			return "", "", err
		}
		return i.ID, i.Key + " " + i.Title, nil
	case hintInitiative:
		i, err := callOperation(ctx, c, tracker.FindInitiative, &tracker.FindInitiativeIn{Hint: a.hint})
		if err != nil {
			return "", "", err
		}
		return i.ID, i.Name, nil
	case hintStage, hintGate, hintDeliverable, hintField:
		all, err := a.candidates(ctx, c)
		if err != nil {
			return "", "", err
		}
		return choose(a.name, a.hint, all)
	default:
		p, err := a.findProject(ctx, c)
		if err != nil {
			return "", "", err
		}
		return p.ID, p.Name + " (" + p.Prefix + ")", nil
	}
}

// projectID is the project of the command line, which is known by now: it comes
// before what is in it.
func (a *argument) projectID() op.UUID {
	return op.UUID(a.in.FieldByName("ProjectID").String())
}

// candidates gives what a hint in a project can mean.
func (a *argument) candidates(ctx context.Context, c *client.Client) ([]candidate, error) {
	switch a.kind {
	case hintDeliverable:
		return deliverables(ctx, c, a.projectID())
	case hintField:
		return customFields(ctx, c, a.projectID())
	default:
		return a.inPipeline(ctx, c)
	}
}

// candidate is a record that a hint may mean: by its name, a part of its name,
// or its place.
type candidate struct {
	id    op.UUID
	name  string
	place string
}

// choose gives the one record that a hint means. One that fits exactly comes
// before those of which it is a part; several are an error that lists them.
func choose(what, hint string, all []candidate) (op.UUID, string, error) {
	var exact, parts []candidate
	for _, one := range all {
		switch {
		case strings.EqualFold(one.name, hint), one.place == hint:
			exact = append(exact, one)
		case strings.Contains(strings.ToLower(one.name), strings.ToLower(hint)):
			parts = append(parts, one)
		}
	}
	if len(exact) == 0 {
		exact = parts
	}
	switch len(exact) {
	case 0:
		return "", "", fault.NotFound(what + " " + strconv.Quote(hint))
	case 1:
		return exact[0].id, exact[0].name, nil
	default:
		f := fault.Conflict("The " + what + " " + strconv.Quote(hint) + " fits more than one.")
		var list []any
		for _, one := range exact {
			list = append(list, map[string]any{"id": string(one.id), "name": one.name})
		}
		f.Details = map[string]any{"candidates": list}
		return "", "", f
	}
}

func (a *argument) findProject(ctx context.Context, c *client.Client) (*tracker.Project, error) {
	if a.folder != nil {
		return findFolder(ctx, c, a.folder)
	}
	return callOperation(ctx, c, tracker.FindProject, &tracker.FindProjectIn{Hint: a.hint})
}

// findTask gives the id and the title of the task that a key names.
func findTask(ctx context.Context, c *client.Client, key string) (op.UUID, string, error) {
	m := keyPattern.FindStringSubmatch(key)
	if m == nil {
		return "", "", usagef("%q is neither a task's id nor its key", key)
	}
	p, err := callOperation(ctx, c, tracker.FindProject, &tracker.FindProjectIn{Hint: m[1]})
	if err != nil {
		return "", "", err
	}
	t, err := callOperation(ctx, c, tracker.GetTask, &tracker.GetTaskIn{ProjectID: p.ID, Task: key})
	if err != nil {
		return "", "", err
	}
	return t.ID, t.Key + " " + t.Title, nil
}
