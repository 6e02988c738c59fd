// Package archtest holds the house rules as tests: who may import whom, what a
// package must say about itself, what may stand at the top of the repository.
// It promises that a rule which is broken fails `go test ./internal/archtest`
// with the reason for the rule, and that a rule about a package that does not
// exist is noticed too (see planned). It has no code that runs in the product.
package archtest
