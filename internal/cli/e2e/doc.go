// Package e2e runs scripts of the real pt against the real server. It owns no
// code of the product: it promises that what the scripts in testdata show is
// what a person sees who types the same.
package e2e
