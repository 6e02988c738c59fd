package cli

import (
	"context"
	"slices"
	"strings"

	"parapet/internal/client"
	"parapet/internal/contract/catalog"
	"parapet/internal/contract/identity"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// suggestion is a value that completion suggests, with a short explanation.
type suggestion struct{ value, about string }

// completionQuery says which suggestions a shell asks for.
type completionQuery struct {
	connect func() (*client.Client, error)
	// project is the prefix, name or ID of the project that the value belongs to, or "" if
	// the command line and the settings name none.
	project string
	// part is what the user has typed of the value.
	part string
	// scope is the value of the field scope of the input.
	scope string
}

// source returns the suggestions for a field, in the order of their usefulness. It sends at
// most one request.
type source func(ctx context.Context, q *completionQuery) ([]suggestion, error)

// sourceOf returns the source for a field of an operation, or nil if there are no
// suggestions for it. The declaration determines it: the allowed values of the field, or
// the kind of record that it identifies.
func sourceOf(o *op.Operation, f op.Field) source {
	switch f.Name {
	case "status":
		if f.Enum == nil {
			return suggestStatuses
		}
	case "task", "dependsOn", "dependsOnId":
		return suggestTasks
	case "issue":
		return suggestIssues
	case "operation":
		return suggestOperations
	case "permission", "permissions":
		return suggestPermissions
	case "targetUserId", "serviceUserId":
		return suggestServicePrincipals
	}
	if f.Enum != nil {
		return fixedSource(f.Enum)
	}
	if f.Kind == op.KindPerson && o.Module == identity.Module {
		return suggestUsers // administration concerns suspended users too
	}
	if s := sourceOfKind(op.KindOf(f.Name)); s != nil {
		return s
	}
	switch kind := hintKindOf(f); kind {
	case hintStage, hintGate, hintField:
		return suggestCandidates(kind)
	case hintDeliverable:
		return suggestDeliverables
	default:
		return nil
	}
}

// sourceOfKind returns the source of the records of a kind that a name identifies.
func sourceOfKind(kind op.Kind) source {
	switch kind {
	case op.KindPerson:
		return suggestPeople
	case op.KindProject:
		return suggestProjects
	case op.KindTask:
		return suggestTasks
	case op.KindIssue:
		return suggestIssues
	case op.KindInitiative:
		return suggestInitiatives
	case op.KindRole:
		return suggestRoles
	case op.KindOrganisation:
		return suggestOrganisations
	case op.KindTenant:
		return suggestTenants
	case op.KindScope:
		return suggestScopes
	case op.KindTaxonomyNode:
		return suggestNodes
	case op.KindCatalogEntry:
		return suggestEntries
	case op.KindShortlist:
		return suggestShortlists
	default:
		return nil
	}
}

// request executes an operation with the client of the query.
func request[In, Out any](ctx context.Context, q *completionQuery, o op.Op[In, Out], in *In) (*Out, error) {
	c, err := q.connect()
	if err != nil {
		return nil, err
	}
	return callOperation(ctx, c, o, in)
}

// fixedSource suggests values that are known without a request.
func fixedSource(values []string) source {
	return func(context.Context, *completionQuery) ([]suggestion, error) {
		all := make([]suggestion, len(values))
		for i, v := range values {
			all[i].value = v
		}
		return all, nil
	}
}

// suggestPage executes a list operation and converts its items to suggestions.
func suggestPage[In, Item any](ctx context.Context, q *completionQuery, o op.Op[In, op.Page[Item]], in *In, convert func(*Item) suggestion) ([]suggestion, error) {
	page, err := request(ctx, q, o, in)
	if err != nil {
		return nil, err
	}
	all := make([]suggestion, len(page.Items))
	for i := range page.Items {
		all[i] = convert(&page.Items[i])
	}
	return all, nil
}

// suggestNodes suggests the paths of the nodes of the taxonomy.
func suggestNodes(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	return suggestPage(ctx, q, catalog.ListTaxonomy, &catalog.ListTaxonomyIn{Limit: maxPage}, func(n *catalog.TaxonomyNode) suggestion {
		return suggestion{n.Path, n.Name}
	})
}

// suggestEntries suggests the titles of the catalog entries that changed last.
func suggestEntries(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	return suggestPage(ctx, q, catalog.ListCatalogEntries, &catalog.ListCatalogEntriesIn{Sort: catalog.EntriesByUpdate, Limit: maxPage}, func(e *catalog.CatalogEntrySummary) suggestion {
		return suggestion{e.Title, e.Summary}
	})
}

// suggestShortlists suggests the names of the shortlists.
func suggestShortlists(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	return suggestPage(ctx, q, catalog.ListShortlists, &catalog.ListShortlistsIn{Limit: maxPage}, func(l *catalog.Shortlist) suggestion {
		return suggestion{value: l.Name}
	})
}

// suggestTasks suggests the keys of the tasks that changed last, the open ones first. If
// the project is unknown, it suggests the open tasks of all projects.
func suggestTasks(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	var page *op.Page[tracker.TaskSummary]
	var err error
	if q.project == "" {
		page, err = request(ctx, q, tracker.SearchTasks, &tracker.SearchTasksIn{Open: true, Sort: "updated", Limit: maxPage})
	} else {
		page, err = request(ctx, q, tracker.ListTasks, &tracker.ListTasksIn{ProjectID: op.UUID(q.project), Sort: "updated", Limit: maxPage})
	}
	if err != nil {
		return nil, err
	}
	var open, finished []suggestion
	for _, t := range page.Items {
		s := suggestion{t.Key, t.Title}
		switch t.StatusCategory {
		case tracker.CategoryDone, tracker.CategoryCancelled:
			finished = append(finished, s)
		default:
			open = append(open, s)
		}
	}
	return append(open, finished...), nil
}

// suggestStatuses suggests the statuses of the project.
func suggestStatuses(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	if q.project == "" {
		return nil, nil
	}
	p, err := request(ctx, q, tracker.FindProject, &tracker.FindProjectIn{Hint: q.project})
	if err != nil {
		return nil, err
	}
	var all []suggestion
	for _, st := range p.CustomStatuses {
		all = append(all, suggestion{value: st.Name})
	}
	return all, nil
}

// suggestDeliverables suggests the newest deliverables of the project.
func suggestDeliverables(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	if q.project == "" {
		return nil, nil
	}
	return suggestPage(ctx, q, tracker.ListDeliverables, &tracker.ListDeliverablesIn{ProjectID: op.UUID(q.project), Limit: maxPage},
		func(d *tracker.DeliverableSummary) suggestion { return suggestion{d.Title, d.Status} })
}

// suggestCandidates suggests the stages, gates or custom fields of the project.
func suggestCandidates(kind hintKind) source {
	return func(ctx context.Context, q *completionQuery) ([]suggestion, error) {
		if q.project == "" {
			return nil, nil
		}
		c, err := q.connect()
		if err != nil {
			return nil, err
		}
		found, err := candidatesOf(ctx, c, kind, op.UUID(q.project))
		if err != nil {
			return nil, err
		}
		var all []suggestion
		for _, c := range found {
			all = append(all, suggestion{value: c.name})
		}
		return all, nil
	}
}

// suggestPeople suggests me and the addresses of the people and agents that the user may
// assign.
func suggestPeople(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	in := &identity.ListPeopleIn{Search: personSearch(q.part), Limit: maxPage}
	all, err := suggestPage(ctx, q, identity.ListPeople, in, func(p *identity.Colleague) suggestion {
		return suggestion{addressOrID(p.Email, p.EmailVerified, p.ID), p.DisplayName}
	})
	return append([]suggestion{{"me", "you"}}, all...), err
}

// personSearch returns the search text for what the user has typed of an address or "me".
func personSearch(part string) string {
	if strings.HasPrefix("me", strings.ToLower(part)) {
		return ""
	}
	return part
}

// suggestUsers suggests the addresses of all users and the integration keys of the service
// principals.
func suggestUsers(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	in := &identity.ListUsersIn{Search: personSearch(q.part), Limit: maxPage}
	return suggestPage(ctx, q, identity.ListUsers, in, userSuggestion)
}

func suggestServicePrincipals(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	in := &identity.ListUsersIn{PrincipalKind: identity.KindService, Limit: maxPage}
	return suggestPage(ctx, q, identity.ListUsers, in, userSuggestion)
}

func userSuggestion(u *identity.User) suggestion {
	return suggestion{firstNonEmpty(u.IntegrationKey, addressOrID(u.Email, u.EmailVerified, u.ID)), u.DisplayName}
}

// addressOrID returns what identifies a user: the address, if it is verified, or else the
// ID.
func addressOrID(email string, isVerified bool, id op.UUID) string {
	if isVerified {
		return email
	}
	return string(id)
}

func suggestProjects(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	return suggestPage(ctx, q, tracker.ListProjects, &tracker.ListProjectsIn{Limit: maxPage},
		func(p *tracker.ProjectSummary) suggestion { return suggestion{p.Prefix, p.Name} })
}

// suggestIssues suggests the keys of the newest issues, the unresolved ones first.
func suggestIssues(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	page, err := request(ctx, q, tracker.ListIssues, &tracker.ListIssuesIn{Limit: maxPage})
	if err != nil {
		return nil, err
	}
	isFinished := func(i tracker.IssueSummary) bool {
		return i.Status == tracker.IssueResolved || i.Status == tracker.IssueClosed
	}
	slices.SortStableFunc(page.Items, func(a, b tracker.IssueSummary) int {
		switch {
		case isFinished(a) == isFinished(b):
			return 0
		case isFinished(a):
			return 1
		default:
			return -1
		}
	})
	var all []suggestion
	for _, i := range page.Items {
		all = append(all, suggestion{i.Key, i.Title})
	}
	return all, nil
}

func suggestInitiatives(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	return suggestPage(ctx, q, tracker.ListInitiatives, &tracker.ListInitiativesIn{Limit: maxPage},
		func(i *tracker.Initiative) suggestion { return suggestion{i.Name, i.Status} })
}

func suggestRoles(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	return suggestPage(ctx, q, identity.ListRoles, &identity.ListRolesIn{Limit: maxPage},
		func(r *identity.Role) suggestion { return suggestion{r.Name, r.Description} })
}

func suggestPermissions(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	return suggestPage(ctx, q, identity.ListPermissions, &identity.ListPermissionsIn{},
		func(p *identity.Permission) suggestion { return suggestion{p.Name, p.Description} })
}

func suggestOrganisations(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	return suggestPage(ctx, q, identity.ListOrganisations, &identity.ListOrganisationsIn{Limit: maxPage},
		func(o *identity.Organisation) suggestion { return suggestion{o.Name, o.Type} })
}

func suggestTenants(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	return suggestPage(ctx, q, identity.ListTenants, &identity.ListTenantsIn{Limit: maxPage},
		func(t *identity.Tenant) suggestion { return suggestion{t.Slug, t.Name} })
}

// suggestScopes suggests the records that a role can be limited to.
func suggestScopes(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	switch op.Kind(q.scope) {
	case op.KindOrganisation:
		return suggestOrganisations(ctx, q)
	case op.KindProject:
		return suggestProjects(ctx, q)
	default:
		return nil, nil
	}
}

// suggestMyOrganisations suggests the organisations in which the credential can act. --org
// takes an ID.
func suggestMyOrganisations(ctx context.Context, q *completionQuery) ([]suggestion, error) {
	out, err := request(ctx, q, identity.ListOrgs, &identity.MeIn{})
	if err != nil {
		return nil, err
	}
	var all []suggestion
	for _, o := range out.Items {
		all = append(all, suggestion{firstNonEmpty(string(o.OrganisationID), string(o.TenantID)), strings.TrimSpace(o.Name + " (" + o.TenantName + ")")})
	}
	return all, nil
}
