// Package catalog defines the public API of the catalog module: its operations, resource
// types and events. It contains no logic, so that clients can import it without linking
// server code.
package catalog

import "parapet/internal/op"

// Module is the module's name in operations, policies, the audit log and the decision log.
const Module = "catalog"

// Contract contains the module's operations and types of events.
var Contract = op.NewModule(Module)

// The permissions that the module's operations require.
const (
	PermTaxonomyRead   = "taxonomy.read"
	PermTaxonomyCreate = "taxonomy.create"
	PermTaxonomyUpdate = "taxonomy.update"
	PermTaxonomyDelete = "taxonomy.delete"

	PermEntriesRead  = "catalog_entries.read"
	PermEntryCreate  = "catalog_entry.create"
	PermEntryUpdate  = "catalog_entry.update"
	PermEntryPublish = "catalog_entry.publish"
	PermEntryDelete  = "catalog_entry.delete"

	PermShortlistsRead  = "shortlists.read"
	PermShortlistCreate = "shortlist.create"
	PermShortlistUpdate = "shortlist.update"
	PermShortlistDelete = "shortlist.delete"
)
