//go:build race

package authz_test

// raceDivisor divides the number of cases, because the race detector makes an evaluation
// about ten times slower. It also finds races with fewer cases.
const raceDivisor = 5
