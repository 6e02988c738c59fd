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

// unboundError is the error of a folder that no project is bound to.
type unboundError struct{ dir string }

func (e *unboundError) Error() string {
	return "The folder " + e.dir + " is bound to no project that you can see."
}

// defaultProject finds the project of a command line that names none:
// PT_PROJECT, the prefix of a task's key, the folder that pt is run in.
func (inv *invocation) defaultProject(a *argument, s settings, key string) error {
	if s.project != "" {
		return inv.takeProject(a, s.project)
	}
	if m := keyPattern.FindStringSubmatch(key); m != nil {
		return a.take(m[1])
	}
	if inv.Dir == "" {
		return usagef("name a project, or set PT_PROJECT")
	}
	return inv.takeProject(a, ".")
}

// takeProject takes what names a project. A folder, and the address of a
// repository, are told as the service knows them.
func (inv *invocation) takeProject(a *argument, hint string) error {
	if !repo.IsPath(hint) {
		if address := repo.Address(hint); address != "" {
			hint = address
		}
		return a.take(hint)
	}
	place := repo.Find(repo.FindFrom(inv.Dir, hint))
	a.folder = []string{place.Dir}
	if address := place.Address(); address != "" {
		// The way in which pt bind-repo binds a repository comes first.
		a.folder = []string{address, place.Dir}
	}
	if err := a.take(a.folder[0]); err != nil {
		return err
	}
	a.typed = hint
	return nil
}

// findProject gives the project that a hint means.
func (inv *invocation) findProject(ctx context.Context, c *client.Client, hint string) (*tracker.Project, error) {
	a := newArgument(fieldNamed(tracker.GetProject.Operation, "projectId"), reflect.ValueOf(&tracker.GetProjectIn{}).Elem())
	if err := inv.takeProject(a, hint); err != nil {
		return nil, err
	}
	a.hint = a.typed
	return a.findProject(ctx, c)
}

// findFolder gives the project that a folder is bound to, by the first of its
// hints that one is bound to.
func findFolder(ctx context.Context, c *client.Client, hints []string) (*tracker.Project, error) {
	for _, hint := range hints {
		p, err := callOperation(ctx, c, tracker.FindProject, &tracker.FindProjectIn{Hint: hint})
		if err == nil || !fault.HasCode(err, fault.CodeNotFound) {
			return p, err
		}
	}
	return nil, &unboundError{dir: hints[len(hints)-1]}
}

// projectID gives the id of the project that a hint means. An id costs no request.
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
