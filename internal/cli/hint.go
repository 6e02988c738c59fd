package cli

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"parapet/internal/cli/repo"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// projectHelp is the last paragraph of the help of every command that takes a project.
const projectHelp = `To name a project, use its ID, its task-key prefix, its name, or the path of a
repository that is bound to it; to read, also a unique part of its name. If you name no project, pt uses
the prefix of the task key, else PT_PROJECT, else the project to which the current
directory is bound (pt bind-repo).`

// hintKind is the kind of record that a hint identifies. A hint is text that is not
// an ID, such as a name or a key.
type hintKind int

const (
	// hintNone is the kind of fields that accept no hint.
	hintNone hintKind = iota
	hintProject
	hintTask
	hintInitiative
	hintIssue
	hintStage
	hintGate
	hintDeliverable
	hintField
	// hintKey is the kind of API keys, which pt revoke-key looks up.
	hintKey
)

// hintKindOf returns the kind of hint that a field accepts. The field's name determines
// it in every contract.
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
	case "keyId":
		return hintKey
	default:
		return hintNone
	}
}

// help returns the accepted forms of a hint, for the help of a flag.
func (k hintKind) help() string {
	switch k {
	case hintProject:
		return "ID, prefix, name or repository path"
	case hintTask, hintIssue:
		return "ID or key"
	case hintInitiative:
		return "ID, name or part of the name"
	case hintStage:
		return "ID, name or position"
	case hintGate, hintField:
		return "ID or name"
	case hintDeliverable:
		return "ID or title"
	default:
		return ""
	}
}

// placeholderID is the value of an ID field until its hint is resolved. With it, the
// rest of the input can be validated before the first request.
const placeholderID = op.UUID("00000000-0000-4000-8000-000000000000")

// argument is a field of an operation's input that an argument or a flag sets. Its
// text may be a hint instead of an ID.
type argument struct {
	name  string
	field op.Field
	kind  hintKind
	v     reflect.Value
	// in is the input that the field belongs to.
	in reflect.Value
	// lookUp makes pt look up a name that the server would also accept, because the
	// command shows the record before it changes anything.
	lookUp bool
	// typed is the text as the user typed it. hint is the text to look up, or "" if
	// nothing is left to look up.
	typed, hint string
	isSet       bool
	// directoryHints are the hints for a directory, in order of preference, if the user
	// named the project by a directory.
	directoryHints []string
	// foundName is the name of the record, if it was looked up.
	foundName string
}

// newArgument returns the argument for a field of the input in.
func newArgument(f op.Field, in reflect.Value) *argument {
	name := toKebabCase(strings.TrimSuffix(f.Name, "Id"))
	return &argument{name: name, field: f, kind: hintKindOf(f), v: in.Field(f.Index), in: in}
}

// setText sets the field to text. If text is neither an ID nor empty, and the server does
// not accept it in place of an ID, resolve looks it up later. An empty text clears the
// field.
func (a *argument) setText(text string) error {
	a.isSet, a.typed, a.hint = true, text, ""
	value := &fieldValue{field: a.field, v: a.v}
	_, err := op.ParseUUID(text)
	if err == nil || text == "" || a.kind == hintNone || (a.field.Kind != "" && !a.lookUp && a.directoryHints == nil && !repo.IsPath(text) && repo.Address(text) == "") {
		return value.Set(text)
	}
	a.hint = text
	return value.Set(string(placeholderID))
}

// Set implements pflag.Value.
func (a *argument) Set(text string) error { return a.setText(text) }

// String implements pflag.Value. It returns no default value.
func (a *argument) String() string { return "" }

// Type implements pflag.Value. It returns the placeholder of the value in help.
func (a *argument) Type() string { return a.name }

// text returns the value of the field.
func (a *argument) text() string { return a.v.String() }

// resolve looks up the hint and sets the field to the ID.
func (a *argument) resolve(ctx context.Context, c *client.Client) error {
	if a.hint == "" {
		return nil
	}
	id, name, err := a.find(ctx, c)
	if err != nil {
		return err
	}
	a.hint, a.foundName = "", name
	return (&fieldValue{field: a.field, v: a.v}).Set(string(id))
}

// find returns the ID and the name of the record that the hint identifies.
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
		return i.ID, i.Name, a.checkWhole(i.Name)
	case hintStage, hintGate, hintDeliverable, hintField:
		all, err := a.candidates(ctx, c)
		if err != nil {
			return "", "", err
		}
		id, name, err := matchCandidate(a.name, a.hint, all)
		if err == nil && !slices.ContainsFunc(all, func(c candidate) bool { return c.id == id && c.position == a.hint }) {
			err = a.checkWhole(name)
		}
		return id, name, err
	default:
		p, err := a.findProject(ctx, c)
		if err != nil {
			return "", "", err
		}
		if a.directoryHints == nil && repo.Address(a.hint) == "" {
			err = a.checkWhole(p.Name, p.Prefix)
		}
		return p.ID, p.Name + " (" + p.Prefix + ")", err
	}
}

// checkWhole returns an error if the command deletes and the hint is only a part of a name.
func (a *argument) checkWhole(names ...string) error {
	if !a.lookUp || slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, a.hint) }) {
		return nil
	}
	return usagef("%q is only a part of the name %q; a command that deletes needs the whole name or the ID", a.hint, names[0])
}

// projectID returns the project of the input: its id, or a name that the server accepts.
func (a *argument) projectID() op.UUID {
	return op.UUID(a.in.FieldByName("ProjectID").String())
}

func (a *argument) findProject(ctx context.Context, c *client.Client) (*tracker.Project, error) {
	if a.directoryHints != nil {
		return findProjectOfDirectory(ctx, c, a.directoryHints)
	}
	return callOperation(ctx, c, tracker.FindProject, &tracker.FindProjectIn{Hint: a.hint})
}

// findTask returns the ID, and the key with the title, of the task with a key.
func findTask(ctx context.Context, c *client.Client, key string) (op.UUID, string, error) {
	prefix := op.TaskKeyPrefix(key)
	if prefix == "" {
		return "", "", usagef("%q is neither the ID nor the key of a task", key)
	}
	p, err := callOperation(ctx, c, tracker.FindProject, &tracker.FindProjectIn{Hint: prefix})
	if err != nil {
		return "", "", err
	}
	t, err := callOperation(ctx, c, tracker.GetTask, &tracker.GetTaskIn{ProjectID: p.ID, Task: key})
	if err != nil {
		return "", "", err
	}
	return t.ID, t.Key + " " + t.Title, nil
}
