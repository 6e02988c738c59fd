//go:build race

package policytests_test

// The race detector makes an evaluation some ten times slower, and looks for
// something else: a part of the cases will do.
const perDetector = 6
