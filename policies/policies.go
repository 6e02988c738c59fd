// Package policies holds the rules of the product: Rego, the data they decide
// by, the schemas of their inputs, and the list of builtins they may use. It
// embeds them; internal/authz compiles and asks them. README.md says how to
// read, test and change them.
package policies

import "embed"

// FS holds the folders parapet (Rego and data), schemas and capabilities.
//
//go:embed parapet schemas capabilities
var FS embed.FS
