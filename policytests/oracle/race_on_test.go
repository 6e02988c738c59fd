//go:build race

package oracle_test

// The race detector makes an evaluation some ten times slower, and looks for
// something else than disagreements: a fortieth of the cases will do.
const perDetector = 40
