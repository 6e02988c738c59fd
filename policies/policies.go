// Package policies embeds the policies: Rego rules, their data, the schemas of their
// inputs and the list of allowed built-in functions. Package authz compiles and
// evaluates them. README.md explains how to read, test and change them.
package policies

import "embed"

// FS contains the folders parapet (rules and data), schemas and capabilities.
//
//go:embed parapet schemas capabilities
var FS embed.FS
