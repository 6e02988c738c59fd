//go:build !race

package policytests_test

// perDetector divides the number of cases where the race detector slows them.
const perDetector = 1
