// Package identity is the contract of the identity module: its operations, the
// public form of its resources, and the events that it emits. It holds no logic
// beyond that.
package identity

// Module is the module's name, as policies, audit entries and settings know it.
const Module = "identity"
