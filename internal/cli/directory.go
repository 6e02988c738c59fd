package cli

import (
	"context"
	"reflect"

	"parapet/internal/cli/repo"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// notBoundError is the error for a directory that is bound to no project.
type notBoundError struct{ dir string }

func (e *notBoundError) Error() string {
	return "The directory " + e.dir + " is not bound to a project that is visible to you."
}

// setDefaultProject sets the project if the command line names none: to the prefix of the
// task key, PT_PROJECT, or the project of the working directory.
func (inv *invocation) setDefaultProject(a *argument, s settings, key string) error {
	if prefix := op.TaskKeyPrefix(key); prefix != "" {
		return a.setText(prefix)
	}
	if s.project != "" {
		return inv.setProject(a, s.project)
	}
	if inv.Dir == "" {
		return usagef("no project; name one, or set PT_PROJECT")
	}
	return inv.setProject(a, ".")
}

// setProject sets the project from an ID or a hint. It converts a directory or the URL of
// a repository to the form that the service stores.
func (inv *invocation) setProject(a *argument, hint string) error {
	if !repo.IsPath(hint) {
		if address := repo.Address(hint); address != "" {
			hint = address
		}
		return a.setText(hint)
	}
	location := repo.Find(repo.Resolve(inv.Dir, hint))
	a.directoryHints = []string{location.Dir}
	if address := location.Address(); address != "" {
		// pt bind-repo prefers the URL, so it is looked up first.
		a.directoryHints = []string{address, location.Dir}
	}
	if err := a.setText(a.directoryHints[0]); err != nil {
		return err
	}
	a.typed = hint
	return nil
}

// findProject returns the project that a hint identifies.
func (inv *invocation) findProject(ctx context.Context, c *client.Client, hint string) (*tracker.Project, error) {
	a := newArgument(fieldNamed(tracker.GetProject.Operation, "projectId"), reflect.ValueOf(&tracker.GetProjectIn{}).Elem())
	if err := inv.setProject(a, hint); err != nil {
		return nil, err
	}
	a.hint = a.typed
	return a.findProject(ctx, c)
}

// findProjectOfDirectory returns the project that is bound to the first of the hints that
// has a binding.
func findProjectOfDirectory(ctx context.Context, c *client.Client, hints []string) (*tracker.Project, error) {
	for _, hint := range hints {
		p, err := callOperation(ctx, c, tracker.FindProject, &tracker.FindProjectIn{Hint: hint})
		if err == nil || !fault.HasCode(err, fault.CodeNotFound) {
			return p, err
		}
	}
	return nil, &notBoundError{dir: hints[len(hints)-1]}
}

// projectID returns the ID of the project that a hint identifies. It sends no request if
// the hint is an ID.
func (inv *invocation) projectID(ctx context.Context, c *client.Client, hint string) (op.UUID, error) {
	if id, err := op.ParseUUID(hint); err == nil {
		return id, nil
	}
	p, err := inv.findProject(ctx, c, hint)
	if err != nil {
		return "", err
	}
	return p.ID, nil
}
