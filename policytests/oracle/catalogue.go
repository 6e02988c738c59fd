package oracle

import "strings"

// modules are the modules of the specification, including audit and events.
var modules = []string{"audit", "catalog", "events", "identity", "tracker", "wiki"}

// catalogue contains every permission that a role can grant. A test compares it with the
// policy data, so a new permission must be added here, too.
var catalogue = setOf(
	"tenant.read", "tenant.update", "tenant.list", "tenant.create", "tenant.disable", "tenant.enable",
	"organisation.read", "organisation.create", "organisation.update",
	"user.read", "user.create", "user.update", "membership.read", "membership.update",
	"role.read", "role.create", "role.update", "role.delete", "role.assign",
	"api_key.issue", "api_key.read.own", "api_key.revoke.own", "api_key.issue_for_service",
	"audit.read.own", "audit.read.organisation", "audit.read.tenant", "audit.read.classified",
	"decision_log.read", "events.read", "webhooks.read", "webhook.manage",
	"taxonomy.read", "taxonomy.create", "taxonomy.update", "taxonomy.delete",
	"catalog_entries.read", "catalog_entry.create", "catalog_entry.update", "catalog_entry.update.own", "catalog_entry.publish",
	"catalog_entry.delete", "catalog_entry.delete.own",
	"shortlists.read", "shortlist.create", "shortlist.update", "shortlist.update.own", "shortlist.delete", "shortlist.delete.own",
	"wiki:page:write",
).addAll(tracker).addAll(memberPermissions)

// memberPermissions are the permissions that every member has without a role.
var memberPermissions = setOf("pages.read")

// tracker contains the permissions of the tracker. All except those about delegations can be
// delegated.
var tracker = setOf(
	"projects.read", "project.create", "project.update", "project.update.own", "project.delete",
	"tasks.read", "task.create", "task.update", "task.update.own", "tasks.update.any", "task.delete", "task.delete.own",
	"task.claim", "decision.answer", "initiatives.read", "initiative.create", "initiative.update", "initiative.delete", "stages.read", "stage.create",
	"stage.update", "stage.delete", "gate.create", "gate.update", "gate.delete", "gate.review", "gates.waive", "issues.read", "issue.create",
	"issue.update", "issue.update.own", "issue.assign", "issue.escalate", "issue.delete", "deliverables.read", "deliverable.create", "deliverable.update",
	"deliverable.update.own", "deliverable.review", "deliverable.delete", "comments.read", "comment.create", "comment.update.own", "comment.delete",
	"comment.delete.own", "time_entries.read", "time_entries.read.own", "time_entry.create", "time_entry.create.own", "time_entry.update",
	"time_entry.update.own", "time_entry.delete", "time_entry.delete.own", "delegations.read", "delegations.read.own", "delegation.create",
	"delegation.create.own", "delegation.revoke", "delegation.revoke.own", "runs.read",
)

// ownBy maps each permission that can be held as .own to the fields that make a record the
// holder's own. Creating and deleting count the creator; reading and updating also count the
// owner or assignee; time entries count only their person.
var ownBy = func() map[string]set {
	all := map[string]set{}
	add := func(fields set, names ...string) {
		for _, name := range names {
			all[name] = fields
		}
	}
	add(setOf("creator", "owner"),
		"projects.read", "project.update", "tasks.read", "task.update", "task.claim", "stages.read", "stage.create", "stage.update",
		"gate.create", "gate.update", "issues.read", "issue.update", "issue.assign", "issue.escalate", "deliverables.read",
		"deliverable.update", "delegations.read", "delegation.revoke", "runs.read", "catalog_entry.update")
	add(setOf("creator"),
		"project.create", "project.delete", "task.create", "tasks.update.any", "task.delete", "decision.answer", "initiatives.read",
		"initiative.create", "initiative.update", "initiative.delete", "stage.delete", "gate.delete", "gate.review", "gates.waive",
		"issue.create", "issue.delete", "deliverable.create", "deliverable.review", "deliverable.delete", "comments.read",
		"comment.create", "comment.update", "comment.delete", "delegation.create", "audit.read",
		"catalog_entry.delete", "shortlist.update", "shortlist.delete")
	add(setOf("owner"),
		"time_entries.read", "time_entry.create", "time_entry.update", "time_entry.delete", "api_key.read", "api_key.revoke")
	return all
}()

// OwnBy returns the fields that make a record one's own, by permission, sorted.
func OwnBy() map[string][]string {
	all := map[string][]string{}
	for name, fields := range ownBy {
		all[name] = stringsOf(fields.list())
	}
	return all
}

// delegable reports whether a permission can be delegated.
func (o Oracle) delegable(permission string) bool {
	return (tracker.has(permission) || o.hasFault(DelegatesAnyModule)) && (!strings.HasPrefix(permission, "delegation") || o.hasFault(DelegatesDelegations))
}

// Permissions returns the permissions, sorted.
func Permissions() []string { return stringsOf(catalogue.list()) }

// platform contains the permissions that administer tenants, for programme offices.
var platform = setOf("tenant.list", "tenant.create", "tenant.disable", "tenant.enable")

// IsPlatform reports whether the permission requires a programme office.
func IsPlatform(permission string) bool { return platform.has(permission) }

// The roles and permissions that make a user an administrator, whose personal keys have a
// shorter lifetime.
var (
	administrativeRoles  = setOf("Admin", "PLATFORM_ADMIN")
	administrativeGrants = setOf("role.assign", "role.update", "api_key.issue_for_service")
)
