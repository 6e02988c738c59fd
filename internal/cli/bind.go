package cli

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/cli/repo"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// bindingHelp says what a binding is about.
const bindingHelp = `Without a path the repository of the current folder is meant: the address of its
git remote, which is the same for everybody who works on it, or where it has none
the absolute path of its top folder. A path may be a folder, or the address of a
remote in any of its forms. Commands that name no project then find it from there,
and the longest binding counts.`

func newBindCmds(inv *invocation) []*cobra.Command {
	return []*cobra.Command{newBindRepoCmd(inv), newUnbindRepoCmd(inv)}
}

func newBindRepoCmd(inv *invocation) *cobra.Command {
	k, cmd := newCall(inv, tracker.BindRepo.Operation, commandForm[tracker.BindRepoIn]{
		long: "Binds a repository to a project.\n\n" + bindingHelp,
		example: `  pt bind-repo APOLLO
  pt bind-repo APOLLO git@example.org:acme/apollo.git
  pt bind-repo APOLLO ./services/lander`,
	})
	cmd.Use, cmd.Args = "bind-repo <project> [path]", cobra.RangeArgs(1, 2)
	return inv.runs(cmd, reflect.TypeFor[tracker.RepoPath](), func(ctx context.Context, args []string) error {
		var err error
		if k.in.Path, err = inv.binding(args[1:]); err != nil {
			return err
		}
		c, err := k.ready(ctx, args[:1])
		if err != nil {
			return err
		}
		out, err := callOperation(ctx, c, tracker.BindRepo, &k.in, k.options()...)
		if err != nil {
			return err
		}
		return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) {
			d.Line("Bound " + out.Path + ".")
			d.Field("Binding", string(out.ID))
		}})
	})
}

// binding gives the path that a binding is about.
func (inv *invocation) binding(path []string) (string, error) {
	if len(path) == 1 {
		if address := repo.Address(path[0]); address != "" {
			return address, nil
		}
		dir := repo.Absolute(repo.FindFrom(inv.Dir, path[0]))
		if path[0] == "" || dir == "" {
			return "", usagef("the path is empty")
		}
		return dir, nil
	}
	place := repo.Find(inv.Dir)
	if found := first(place.Remote, place.Root, place.Dir); found != "" {
		return found, nil
	}
	return "", usagef("name the path: the current folder is not known")
}

// unboundError tells which binding is gone.
type unboundRepo struct {
	ID      op.UUID `json:"id"`
	Path    string  `json:"path"`
	Deleted bool    `json:"deleted"`
}

func newUnbindRepoCmd(inv *invocation) *cobra.Command {
	k, cmd := newCall(inv, tracker.UnbindRepo.Operation, commandForm[tracker.UnbindRepoIn]{
		long: `Takes a repository from a project; pt find-project shows what is bound. It asks on a
terminal; without one it needs --yes.

` + bindingHelp,
		example: `  pt unbind-repo APOLLO --yes
  pt unbind-repo APOLLO git@example.org:acme/apollo.git --yes
  pt unbind-repo APOLLO 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --yes`,
	})
	cmd.Use, cmd.Args = "unbind-repo <project> [path or binding]", cobra.RangeArgs(1, 2)
	return inv.runs(cmd, reflect.TypeFor[unboundRepo](), func(ctx context.Context, args []string) error {
		if err := inv.confirmDestructive(k.yes); err != nil {
			return err
		}
		c, _, err := inv.connect()
		if err != nil {
			return err
		}
		p, err := inv.findProject(ctx, c, args[0])
		if err != nil {
			return err
		}
		bound, err := inv.bound(p, args[1:])
		if err != nil {
			return err
		}
		if !k.yes {
			if err := inv.confirm(ctx, "Take %s from the project %s?", bound.Path, p.Name); err != nil {
				return err
			}
		}
		return inv.unbind(ctx, c, p.ID, bound, k.options())
	})
}

func (inv *invocation) unbind(ctx context.Context, c *client.Client, project op.UUID, bound tracker.RepoPath, opts []client.Option) error {
	in := &tracker.UnbindRepoIn{ProjectID: project, BindingID: bound.ID}
	if _, err := callOperation(ctx, c, tracker.UnbindRepo, in, opts...); err != nil {
		return err
	}
	out := unboundRepo{bound.ID, bound.Path, true}
	return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) { d.Line("Took " + bound.Path + " from the project.") }})
}

// bound finds the binding of a project that a path or an id means.
func (inv *invocation) bound(p *tracker.Project, path []string) (tracker.RepoPath, error) {
	var id op.UUID
	var wanted string
	if len(path) == 1 {
		id, _ = op.ParseUUID(path[0]) // what is no id is a path
	}
	if id == "" {
		var err error
		if wanted, err = inv.binding(path); err != nil {
			return tracker.RepoPath{}, err
		}
		wanted = repo.Normalize(wanted)
	}
	i := slices.IndexFunc(p.RepoPaths, func(r tracker.RepoPath) bool {
		return r.ID == id || (wanted != "" && strings.EqualFold(repo.Normalize(r.Path), wanted))
	})
	if i < 0 {
		return tracker.RepoPath{}, usagef("%s is not bound to the project %s; pt find-project %s shows what is", first(wanted, string(id)), p.Prefix, p.Prefix)
	}
	return p.RepoPaths[i], nil
}
