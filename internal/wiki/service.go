// Package wiki implements the wiki module: pages by path with their versions. It owns the
// database schema wiki and is its only writer.
//
// It guarantees the following:
//
//   - A path means one page in every form in which it can be written (internal/wikipath).
//   - A write adds a version and never changes one. Concurrent writes of a page each keep
//     their version. A write that changes nothing adds none.
//   - Every active member can read a page within the member's clearance. A version also keeps
//     the classification that it was written with.
//   - Lists and single reads show the same pages, because both apply the same policy rule.
package wiki

import (
	contract "parapet/internal/contract/wiki"
	"parapet/internal/executor"
	"parapet/internal/module"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// New returns what the module adds to a process. The executor must be created for
// contract.Module.
func New(m *executor.Module) module.Module {
	return module.Module{Operations: pageOperations(m)}
}

// Names returns the names of the module's records. pool connects as parapet_wiki.
func Names(pool *postgres.Pool) executor.Names {
	return executor.Names{Pool: pool, Records: []executor.NamedRecords{{
		Kind: op.KindPage, Permission: contract.PermPagesRead, Columns: pageColumns,
		ID: "g.id", Key: "g.path", Name: "g.title", From: `wiki.pages g WHERE g.tenant_id = $1`,
	}}}
}
