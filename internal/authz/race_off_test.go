//go:build !race

package authz_test

// perDetector divides the number of cases under the race detector.
const perDetector = 1
