// Package catalog implements the catalog module: catalog entries, the tenant's taxonomy and
// shortlists of entries. It owns the database schema catalog and is its only writer.
//
// It guarantees the following:
//
//   - The taxonomy of a tenant is a tree without cycles, of at most 10 levels and 10,000 nodes.
//     The positions of siblings have no gaps, also after concurrent changes.
//   - Lists and single reads show the same entries. A draft is visible only to users who may
//     change it.
//   - A shortlist shows only the entries that its reader may read. Nothing in it, such as a
//     position, reveals the others.
//
// Each record type has a file with its rules (taxonomy.go) and one with its SQL
// (taxonomy_store.go).
package catalog

import (
	"slices"

	"parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/module"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Deps are the dependencies of the module.
type Deps struct {
	// Executor runs the operations. It must be created for contract.Module.
	Executor *executor.Module
	// Directory looks up users and organisations of the identity module.
	Directory identity.Directory
}

// Service implements the operations of the catalog module.
type Service struct {
	executor  *executor.Module
	directory identity.Directory
}

// New returns the module's service.
func New(d Deps) *Service {
	return &Service{executor: d.Executor, directory: d.Directory}
}

// Module returns what the module adds to a process.
func (s *Service) Module() module.Module {
	return module.Module{Operations: s.Operations()}
}

// Operations returns the module's operations, bound to their handlers.
func (s *Service) Operations() []op.Bound {
	return slices.Concat(s.taxonomyOperations(), s.entryOperations(), s.shortlistOperations(), s.searchOperations())
}

// Names returns the names of the module's records. pool connects as parapet_catalog.
func Names(pool *postgres.Pool) executor.Names {
	return executor.Names{Pool: pool, Records: []executor.NamedRecords{taxonomyNames, publicEntryNames, draftNames, shortlistNames}}
}
