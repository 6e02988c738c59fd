//go:build !race

package oracle_test

const perDetector = 1
