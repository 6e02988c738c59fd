package cli

import (
	"strings"

	"parapet/internal/cli/markdown"
)

// writePermissionNames writes a list of permissions below a heading.
func writePermissionNames(d *markdown.Doc, level int, names []string) {
	d.Heading(level, "Permissions")
	if len(names) == 0 {
		d.Line("No permissions.")
		return
	}
	writePermissionFields(d, names)
}

// writePermissionFields writes one line for the permissions of each kind of record: "task:
// create, delete.own, update".
func writePermissionFields(d *markdown.Doc, names []string) {
	var kinds []string
	actions := map[string][]string{}
	for _, name := range names {
		kind, action, _ := strings.Cut(name, ".")
		if actions[kind] == nil {
			kinds = append(kinds, kind)
		}
		actions[kind] = append(actions[kind], action)
	}
	for _, kind := range kinds {
		d.Field(kind, strings.Join(actions[kind], ", "))
	}
}
