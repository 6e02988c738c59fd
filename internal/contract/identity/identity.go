// Package identity is the contract of the identity module: its operations, the JSON
// types of its resources, and the events that it emits. It contains no logic.
package identity

// Module is the module's name in policies, audit entries and settings.
const Module = "identity"
