package tracker

import "parapet/internal/op"

// ExportItemsIn is the input of ExportItems.
type ExportItemsIn struct {
	ProjectID op.UUID `path:"projectId" format:"uuid" doc:"The project."`
	Limit     int     `query:"limit" default:"100" minimum:"1" maximum:"200" doc:"The maximum number of items to return."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ExportItems returns the tasks of a project in the format of ImportItems.
var ExportItems = op.Declare[ExportItemsIn, op.Page[ImportItem]](Contract, op.Spec{
	Name: "export-items", Method: "GET", Path: "/api/projects/{projectId}/export", Permission: PermTasksRead, Effect: op.Read,
	Summary: "Export the tasks of a project as items for import-items.",
	Description: "Ordered by task key. An imported task keeps the item id of its import; other tasks use their task id, " +
		"so that an import into the same project matches them. Links to tasks of other projects are omitted, because an item can only link to items of its own project.",
})
