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

// bindingHelp is the part of the help that bind-repo and unbind-repo share.
const bindingHelp = `The path is a directory, or the URL of a git remote in any form. The default is the
repository of the current directory: the URL of its git remote, which is the same for
all contributors, else the absolute path of its top directory. Commands without a
project use the project to which the current directory is bound; the longest binding
applies.`

func newBindRepoCmd(inv *invocation) *cobra.Command {
	k, cmd := newCall(inv, tracker.BindRepo.Operation, form{
		flags: "path=-",
		long:  "Bind a repository to a project.\n\n" + bindingHelp,
		example: `  pt bind-repo APOLLO
  pt bind-repo APOLLO git@example.org:acme/apollo.git
  pt bind-repo APOLLO ./services/lander`,
	}, "bind-repo")
	cmd.Use, cmd.Args = "bind-repo <project> [path]", cobra.RangeArgs(1, 2)
	return inv.setRun(cmd, reflect.TypeFor[tracker.RepoPath](), func(ctx context.Context, args []string) error {
		in, err := inputOf[tracker.BindRepoIn](k)
		if err != nil {
			return err
		}
		if in.Path, err = inv.bindingPath(args[1:]); err != nil {
			return err
		}
		c, err := k.prepare(ctx, args[:1])
		if err != nil {
			return err
		}
		out, err := callOperation(ctx, c, tracker.BindRepo, in, k.options()...)
		if err != nil {
			return err
		}
		return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) {
			d.Line("Bound " + out.Path + ".")
			d.Field("Binding", string(out.ID))
		}})
	})
}

// bindingPath returns the URL or absolute path of the repository to bind. path has the
// path argument, or is empty for the current directory.
func (inv *invocation) bindingPath(path []string) (string, error) {
	if len(path) == 1 {
		if address := repo.Address(path[0]); address != "" {
			return address, nil
		}
		dir := repo.Absolute(repo.Resolve(inv.Dir, path[0]))
		if path[0] == "" || dir == "" {
			return "", usagef("the path must not be empty")
		}
		return dir, nil
	}
	location := repo.Find(inv.Dir)
	if path := firstNonEmpty(location.Remote, location.Root, location.Dir); path != "" {
		return path, nil
	}
	return "", usagef("the current directory is unknown; name the path")
}

// unbindOut is the output of pt unbind-repo.
type unbindOut struct {
	ID      op.UUID `json:"id"`
	Path    string  `json:"path"`
	Deleted bool    `json:"deleted"`
}

func newUnbindRepoCmd(inv *invocation) *cobra.Command {
	k, cmd := newCall(inv, tracker.UnbindRepo.Operation, form{
		long: `Unbind a repository from a project; pt find-project lists the bindings. The command
asks for confirmation on a terminal; without a terminal it requires --yes.

` + bindingHelp,
		example: `  pt unbind-repo APOLLO --yes
  pt unbind-repo APOLLO git@example.org:acme/apollo.git --yes
  pt unbind-repo APOLLO 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --yes`,
	}, "unbind-repo")
	cmd.Use, cmd.Args = "unbind-repo <project> [path or binding]", cobra.RangeArgs(1, 2)
	return inv.setRun(cmd, reflect.TypeFor[unbindOut](), func(ctx context.Context, args []string) error {
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
		bound, err := inv.findBinding(p, args[1:])
		if err != nil {
			return err
		}
		if !k.yes {
			if err := inv.confirm(ctx, "Unbind %s from the project %s?", bound.Path, p.Name); err != nil {
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
	out := unbindOut{bound.ID, bound.Path, true}
	return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) { d.Line("Unbound " + bound.Path + ".") }})
}

// findBinding returns the binding of the project with a path, URL or ID. path has the
// argument, or is empty for the current directory.
func (inv *invocation) findBinding(p *tracker.Project, path []string) (tracker.RepoPath, error) {
	var id op.UUID
	var wanted string
	if len(path) == 1 {
		id, _ = op.ParseUUID(path[0]) // text that is not an ID is a path
	}
	if id == "" {
		var err error
		if wanted, err = inv.bindingPath(path); err != nil {
			return tracker.RepoPath{}, err
		}
		wanted = repo.Normalize(wanted)
	}
	i := slices.IndexFunc(p.RepoPaths, func(r tracker.RepoPath) bool {
		return r.ID == id || (wanted != "" && strings.EqualFold(repo.Normalize(r.Path), wanted))
	})
	if i < 0 {
		return tracker.RepoPath{}, usagef("%s is not bound to the project %s; pt find-project %s lists its bindings", firstNonEmpty(wanted, string(id)), p.Prefix, p.Prefix)
	}
	return p.RepoPaths[i], nil
}
