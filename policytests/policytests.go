// Package policytests holds the tests of the policies: Rego tests, and decision
// tables as data. They run with `go test ./policytests/...`, with plain
// `opa test policies policytests`, and before a reload takes effect.
package policytests

import "embed"

// FS holds the folders rego (tests) and tables (their cases).
//
//go:embed rego tables
var FS embed.FS
