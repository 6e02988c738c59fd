package op

import "strings"

// tag is a group of operations in the OpenAPI document.
type tag struct {
	name        string
	description string
	// paths are the first segments of the paths of its operations.
	paths []string
}

// tags are the tags, by name. An operation has the tag with the longest matching path.
var tags = []tag{
	{"account", "The calling user: profile, permissions, organisations and start page.", []string{"/api/auth/me", "/api/auth/permissions", "/api/auth/organisations", "/api/workspace", "/api/inbox"}},
	{"agent-runs", "The runs of agents that were assigned to a task, with their outcome and score.", []string{"/api/runs"}},
	{"api-keys", "API keys of people and of service principals.", []string{"/api/auth/api-keys"}},
	{"audit", "The audit log, the decision log of the policies, and the events of the tenant.", []string{"/api/audit", "/api/decisions", "/api/explain-decision", "/api/events", "/api/event-types"}},
	{"catalog-entries", "The entries of the catalog.", []string{"/api/catalog/entries", "/api/catalog/search"}},
	{"catalog-shortlists", "Curated, ordered lists of catalog entries.", []string{"/api/catalog/shortlists"}},
	{"catalog-taxonomy", "The tree of nodes that classify the catalog's entries.", []string{"/api/catalog/taxonomy"}},
	{"comments", "Comments on tasks and issues.", []string{"/api/comments"}},
	{"custom-fields", "Fields that a project defines for its tasks, and their values.", []string{"/api/projects/{projectId}/custom-fields", "/api/projects/{projectId}/tasks/{task}/custom-fields"}},
	{"decision-requests", "Questions about a task that a person answers.", []string{"/api/projects/{projectId}/tasks/{task}/decision-requests"}},
	{"delegations", "Permissions that one user delegates to another for a limited time.", []string{"/api/delegations"}},
	{"deliverables", "Results of a project with their review and their acceptance criteria.", []string{"/api/projects/{projectId}/deliverables", "/api/projects/{projectId}/criteria"}},
	{"initiatives", "Groups of projects with a common goal.", []string{"/api/initiatives"}},
	{"issues", "Unplanned work with deadlines for the response and the resolution.", []string{"/api/issues"}},
	{"memberships", "Which users belong to a tenant, with their organisation and clearance.", []string{"/api/memberships"}},
	{"notifications", "Notifications for users and administrators.", []string{"/api/notifications"}},
	{"organisations", "The organisations of a tenant.", []string{"/api/organisations"}},
	{"projects", "Projects with their statuses, repositories, import and export.", []string{"/api/projects"}},
	{"roles", "Roles, the permissions that they grant, and their assignments to users.", []string{"/api/roles", "/api/permissions"}},
	{"sessions", "Login and logout, and changes of the password and the e-mail address.", []string{"/api/auth"}},
	{"stages", "The stages of a project, the gates after them, and the votes at gates.", []string{"/api/projects/{projectId}/stages", "/api/projects/{projectId}/gates"}},
	{"tasks", "Tasks, epics, dependencies, the ready set, and claims of tasks.", []string{"/api/projects/{projectId}/tasks", "/api/projects/{projectId}/claim-next-ready", "/api/tasks"}},
	{"tenants", "Tenants, which isolate the data of customers from each other.", []string{"/api/tenants"}},
	{"time-entries", "Time that users spent on projects, tasks and issues.", []string{"/api/time-entries"}},
	{"users", "People, service principals and synthetic agents.", []string{"/api/users", "/api/people"}},
	{"webhooks", "Addresses that receive the events of the tenant, and the log of the deliveries.", []string{"/api/webhooks"}},
	{"wiki", "Wiki pages by path, with their versions.", []string{"/api/pages"}},
}

// tagOf returns the tag of an operation. The tag of a path that no tag lists is the
// module, without a description.
func tagOf(o *Operation) tag {
	found, length := tag{name: o.Module}, 0
	for _, t := range tags {
		for _, path := range t.paths {
			if len(path) > length && strings.HasPrefix(o.Path+"/", path+"/") {
				found, length = t, len(path)
			}
		}
	}
	return found
}

// tagObjects returns the tags of the operations, by name.
func tagObjects(operations []*Operation) []map[string]any {
	used := map[string]tag{}
	for _, o := range operations {
		t := tagOf(o)
		used[t.name] = t
	}
	var list []map[string]any
	for _, name := range sortedKeys(used) {
		object := map[string]any{"name": name}
		if d := used[name].description; d != "" {
			object["description"] = d
		}
		list = append(list, object)
	}
	return list
}
