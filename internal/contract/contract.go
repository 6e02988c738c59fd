// Package contract lists the contracts of all modules, for clients and documents. A contract
// contains no server code.
package contract

import (
	"parapet/internal/contract/catalog"
	"parapet/internal/contract/identity"
	"parapet/internal/contract/tracker"
	"parapet/internal/contract/wiki"
	"parapet/internal/op"
)

// Modules lists the modules of the product.
func Modules() []*op.Module {
	return []*op.Module{identity.Contract, tracker.Contract, catalog.Contract, wiki.Contract}
}

// Operations returns the operations of all modules.
func Operations() []*op.Operation {
	var all []*op.Operation
	for _, m := range Modules() {
		all = append(all, m.Operations()...)
	}
	return all
}
