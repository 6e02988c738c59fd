//go:build race

package authz_test

// perDetector divides the number of cases: the race detector makes an evaluation about ten
// times slower, and finds races with fewer cases, too.
const perDetector = 5
