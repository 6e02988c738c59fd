// Package jobs owns what runs outside of a request: River's tables, its workers
// and its schedules.
package jobs
