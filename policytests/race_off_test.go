//go:build !race

package policytests_test

// perDetector divides the number of cases under the race detector.
const perDetector = 1
