package cli

import (
	"reflect"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/identity"
	"parapet/internal/contract/tracker"
)

// pageForm is what a page has besides the layout of its type.
type pageForm struct {
	// write replaces the page.
	write pagePart
	// after writes what follows the fields, such as a table.
	after pagePart
}

// pagePart writes a page, or a part of it, below a heading of the given level. v points to
// the record.
type pagePart func(d *markdown.Doc, level int, v any)

// writing returns a pagePart for a type and the types that embed it.
func writing[T any](f func(d *markdown.Doc, level int, v *T)) pagePart {
	return func(d *markdown.Doc, level int, v any) {
		if typed, ok := partOf[T](reflect.ValueOf(v).Elem()); ok {
			f(d, level, typed)
		}
	}
}

// pageForms returns the forms of the pages that the default does not fit.
func pageForms() map[reflect.Type]pageForm {
	return map[reflect.Type]pageForm{
		reflect.TypeFor[tracker.Task](): {after: writing(func(d *markdown.Doc, _ int, t *tracker.Task) {
			for _, f := range t.CustomFields {
				d.Field(f.Name, f.Value)
			}
		})},
		reflect.TypeFor[tracker.Gate](): {after: writing(func(d *markdown.Doc, _ int, g *tracker.Gate) {
			if len(g.Reviews) > 0 {
				writeItems(d, g.Reviews, "reviews")
			}
		})},
		reflect.TypeFor[tracker.DecisionRequest](): {write: writing(writeDecision)},
		reflect.TypeFor[tracker.ProjectOverview](): {write: writing(writeOverview)},
		reflect.TypeFor[tracker.Workspace]():       {write: writing(writeWorkspace)},
		reflect.TypeFor[tracker.Pipeline](): {write: writing(func(d *markdown.Doc, _ int, p *tracker.Pipeline) {
			writeItems(d, p.Stages, "stages")
		})},
		reflect.TypeFor[identity.Role](): {after: writing(func(d *markdown.Doc, level int, r *identity.Role) {
			writePermissionNames(d, level+1, r.Permissions)
		})},
		reflect.TypeFor[identity.PermissionsOut](): {write: writing(func(d *markdown.Doc, _ int, out *identity.PermissionsOut) {
			writeItems(d, out.Permissions, "permissions")
		})},
	}
}
