//go:build race

package policytests_test

// perDetector divides the number of cases: the race detector makes an evaluation about ten
// times slower, and finds races with fewer cases, too.
const perDetector = 6
