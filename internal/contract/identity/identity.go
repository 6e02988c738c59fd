// Package identity is the contract of the identity module: its operations, the JSON
// types of its resources, and the events that it emits. It contains no logic.
package identity

import "parapet/internal/op"

// Module is the module's name in policies, audit entries and settings.
const Module = "identity"

// Contract contains the module's operations.
var Contract = op.NewModule(Module)
