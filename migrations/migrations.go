// Package migrations owns the SQL that makes the database, one folder a schema,
// embedded in the program. internal/postgres/migrate runs it.
//
// A file is <schema>/<NNNN>_<name>.sql. Numbers rise by one in a folder; a file
// that has been released never changes, since its checksum is kept. Folders run
// in the order of Schemas, so that a file may rely on the schemas before its own.
package migrations

import "embed"

// FS holds all migrations.
//
//go:embed */*.sql
var FS embed.FS

// Schemas gives the schema folders in the order in which they run. A folder that
// is not there is skipped; one that is not listed fails the run.
func Schemas() []string {
	return []string{"parapet", "audit", "events", "identity", "projects", "catalog", "wiki"}
}
