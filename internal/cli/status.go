package cli

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/identity"
	"parapet/internal/contract/tracker"
	"parapet/internal/fault"
)

// statusPage is the output of pt status.
type statusPage struct {
	Me      *identity.MeOut `json:"me"`
	BaseURL string          `json:"baseUrl"`
	Profile string          `json:"profile"`
	// CredentialSource is where the credential comes from.
	CredentialSource string `json:"credentialSource"`
	// ProjectSource is where the default project comes from. Without a default project, it
	// and Project are absent.
	ProjectSource string `json:"projectSource,omitempty"`
	// ProjectProblem is why the default project cannot be shown, or "".
	ProjectProblem string                   `json:"projectProblem,omitempty"`
	Project        *tracker.ProjectOverview `json:"project,omitempty"`
	Inbox          *tracker.Inbox           `json:"inbox"`
}

func newStatusPageCmd(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show who you are, the project and what waits for you",
		Long: `Show who you are, where the service is, which project commands use by default and why,
the state of that project, and what waits for you.

auth status shows the credential in detail, inbox what waits for you.`,
		Example: `  pt status
  pt status --json --jq .data.project.stats.tasks.overdue`,
		Args: cobra.NoArgs,
	}
	return inv.setRun(cmd, reflect.TypeFor[statusPage](), func(ctx context.Context, _ []string) error {
		c, s, err := inv.connect()
		if err != nil {
			return err
		}
		out := &statusPage{BaseURL: s.baseURL, Profile: s.profile, CredentialSource: s.tokenFrom}
		failed := make(chan error, 2)
		go func() {
			me, err := callOperation(ctx, c, identity.Me, &identity.MeIn{})
			out.Me = me
			failed <- err
		}()
		go func() {
			inbox, err := callOperation(ctx, c, tracker.GetInbox, &tracker.InboxIn{Limit: 50})
			out.Inbox = inbox
			failed <- err
		}()
		err = inv.readStatusPage(ctx, c, s, out)
		if err := errors.Join(<-failed, <-failed, err); err != nil {
			return err
		}
		return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) { writeStatusPage(d, out) }})
	})
}

// readStatusPage finds the default project. A directory without a project is no error, and a
// default project that the service does not accept is a part of the output.
func (inv *invocation) readStatusPage(ctx context.Context, c *client.Client, s settings, out *statusPage) error {
	hint, source := s.project, "profile "+s.profile
	switch {
	case inv.Getenv("PT_PROJECT") != "":
		source = "PT_PROJECT"
	case hint == "" && inv.Dir == "":
		return nil
	case hint == "":
		hint, source = ".", "this directory is bound to it"
	}
	p, err := inv.findProject(ctx, c, hint)
	if notBound := (*notBoundError)(nil); errors.As(err, &notBound) {
		return nil
	}
	out.ProjectSource = source
	if err != nil {
		if out.ProjectProblem = projectProblem(err); out.ProjectProblem == "" {
			return err
		}
		if hint != "." {
			out.ProjectProblem = strconv.Quote(hint) + ": " + out.ProjectProblem
		}
		return nil
	}
	out.Project, err = callOperation(ctx, c, tracker.GetProjectOverview, &tracker.GetProjectIn{ProjectID: p.ID})
	if fault.HasCode(err, fault.CodeForbidden) {
		// The caller may find the project and still not read its overview.
		out.Project, err = &tracker.ProjectOverview{ID: p.ID, Name: p.Name, Reduced: true}, nil
	}
	return err
}

// projectProblem returns the message of an error that is due to the name of a project or to
// the permissions of the caller, or "" for another error.
func projectProblem(err error) string {
	if wrong := (*usageError)(nil); errors.As(err, &wrong) {
		return wrong.Error()
	}
	for _, code := range []fault.Code{fault.CodeNotFound, fault.CodeForbidden, fault.CodeConflict, fault.CodeValidation} {
		if fault.HasCode(err, code) {
			return fault.From(err).Message
		}
	}
	return ""
}

// writeStatusPage writes the page of pt status.
func writeStatusPage(d *markdown.Doc, out *statusPage) {
	me := out.Me
	d.Heading(1, firstNonEmpty(me.User.DisplayName, me.User.Email, string(me.User.ID)))
	d.Field("User", me.User.Email)
	d.Field("Tenant", me.TenantSlug+" ("+me.TenantName+")")
	d.Field("Organisation", recordName(me.Organisation, me.OrganisationID))
	d.Field("Roles", strings.Join(me.Roles, ", "))
	d.Field("Service", out.BaseURL+" (profile "+out.Profile+", credential from "+out.CredentialSource+")")
	d.Field("Expires", d.Time(me.ExpiresAt))
	switch {
	case out.ProjectProblem != "":
		d.Field("Project", "none; "+out.ProjectProblem+" ("+out.ProjectSource+")")
	case out.Project == nil:
		d.Field("Project", "none; pt bind-repo binds this directory to one")
	default:
		writeProjectState(d, out.Project, out.ProjectSource)
	}
	waiting := countInbox(out.Inbox)
	if waiting == "" {
		waiting = "nothing"
	} else {
		waiting += " (pt inbox)"
	}
	d.Field("Waiting for you", waiting)
}

func writeProjectState(d *markdown.Doc, p *tracker.ProjectOverview, source string) {
	name := p.Name
	if p.Project != nil {
		name = p.Project.Prefix + " " + name + ", " + p.Project.Status
	}
	d.Field("Project", name+" ("+source+")")
	if p.Stats == nil {
		return
	}
	if t := p.Stats.Tasks; t != nil {
		var parts []string
		for _, c := range t.ByCategory {
			if c.Count > 0 {
				parts = append(parts, strconv.Itoa(c.Count)+" "+c.Category)
			}
		}
		d.Field("Tasks", strings.Join(append(parts, strconv.Itoa(t.Overdue)+" overdue"), ", "))
	}
	if i := p.Stats.Issues; i != nil {
		d.Field("Open issues", strconv.Itoa(i.Open))
	}
}

// countInbox returns the sections of the inbox with their counts.
func countInbox(in *tracker.Inbox) string {
	var parts []string
	add := func(n int, hasMore bool, one, many string) {
		switch {
		case hasMore:
			parts = append(parts, strconv.Itoa(n)+"+ "+many)
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, strconv.Itoa(n)+" "+many)
		}
	}
	if s := in.Decisions; s != nil {
		add(len(s.Items), s.HasMore, "decision to make", "decisions to make")
	}
	for _, s := range []struct {
		tasks *tracker.InboxTasks
		what  string
	}{{in.Reviews, "to review"}, {in.Assigned, "assigned"}, {in.Ready, "ready"}} {
		if s.tasks != nil {
			add(len(s.tasks.Items), s.tasks.HasMore, "task "+s.what, "tasks "+s.what)
		}
	}
	return strings.Join(parts, ", ")
}
