// Package migrations contains the SQL migrations of the database, one folder per schema,
// embedded in the program. internal/postgres/migrate runs them.
//
// A file is <schema>/<NNNN>_<name>.sql. Numbers increase by one in each folder. A released
// file never changes, because its checksum is stored. Folders run in the order of Schemas,
// so a file may use the schemas before its own.
package migrations

import "embed"

// FS contains all migrations.
//
//go:embed */*.sql
var FS embed.FS

// Schemas returns the schema folders in the order in which they run. A missing folder is
// skipped; a folder that is not listed is an error.
func Schemas() []string {
	return []string{"parapet", "audit", "events", "identity", "projects", "catalog", "wiki"}
}
