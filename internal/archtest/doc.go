// Package archtest tests the architecture rules: which package may import which, what a
// package comment must contain, and which files the root of the repository contains. A
// violation fails `go test ./internal/archtest` with the reason for the rule. A rule about a
// package that does not exist fails, too (see planned).
package archtest
