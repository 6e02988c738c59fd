package tracker

import "parapet/internal/op"

// ExportItemsIn asks for the tasks of a project as items.
type ExportItemsIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project's id."`
	Limit     int     `query:"limit" default:"100" minimum:"1" maximum:"200" doc:"How many items to return at most."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the page before."`
}

// ExportItems gives the tasks of a project in the form that an import takes.
var ExportItems = op.New[ExportItemsIn, op.Page[ImportItem]](op.Spec{
	Name: "export-items", Module: Module, Method: "GET", Path: "/api/projects/{projectId}/export", Permission: PermTasksRead, Effect: op.Read,
	Summary: "Give the tasks of a project as items that an import takes.",
	Description: "The order is that of the keys. An imported item comes out as it came in, but for what has changed since; a task that was made here has its own id, " +
		"by which an import into the same project knows it again. Links to tasks of other projects are left out: an item names items of its own project.",
})
