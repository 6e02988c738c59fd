// Package e2e contains end-to-end tests: the scripts in testdata run pt against a real
// server. It contains no production code.
package e2e
