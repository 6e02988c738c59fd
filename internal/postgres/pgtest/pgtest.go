// Package pgtest gives tests a real, migrated database of their own.
package pgtest
