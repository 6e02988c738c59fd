// Package policytests embeds the tests of the policies: Rego tests, and decision tables as
// data. They run with `go test ./policytests/...`, with `opa test policies policytests`, and
// before a reload takes effect.
package policytests

import "embed"

// FS contains the folders rego (tests) and tables (their cases).
//
//go:embed rego tables
var FS embed.FS
