//go:build !race

package authz_test

// raceDivisor divides the number of cases. Without the race detector, all cases run.
const raceDivisor = 1
