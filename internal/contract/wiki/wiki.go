// Package wiki defines the public API of the wiki module: its operations, types and events.
// It contains no logic, so that clients can import it without linking server code.
package wiki

import "parapet/internal/op"

// Module is the module's name in operations, policies, the audit log and the decision log.
const Module = "wiki"

// Contract contains the module's operations.
var Contract = op.NewModule(Module)

// The permissions that the module's operations require. Every active member has
// PermPagesRead; what a member can read depends on the clearance.
const (
	PermPagesRead = "pages.read"
	PermPageWrite = "wiki:page:write"
)

// The events of pages. The payload is the PageSummary, which does not contain the text.
var (
	EventPageCreated  = op.DeclareEvent[PageSummary](Contract, "wiki.page.created", "A page was created.")
	EventPageUpdated  = op.DeclareEvent[PageSummary](Contract, "wiki.page.updated", "A page has a new version.")
	EventPageDeleted  = op.DeclareEvent[PageSummary](Contract, "wiki.page.deleted", "A page was deleted. It can be restored.")
	EventPageRestored = op.DeclareEvent[PageSummary](Contract, "wiki.page.restored", "A deleted page was restored, with its versions.")
)
