package tracker

import (
	"time"

	"parapet/internal/op"
)

// MaxImportItems is the maximum number of items in one import request. Clients
// split larger files into several requests.
const MaxImportItems = 500

// MaxImportBody is the maximum size of an import request's body in bytes.
const MaxImportBody = 16 << 20

// ImportItem is a work item of another tracker: one line of the file that
// `pt import` reads. Only id and title are required.
//
// A malformed item does not fail the request: it is decoded with its Problem set
// and reported as failed.
type ImportItem struct {
	ID           string             `json:"id" doc:"The item's id in its source, at most 200 characters. Import matches items by it."`
	Title        string             `json:"title" doc:"The title, at most 500 characters. Untrusted text."`
	Description  string             `json:"description,omitempty" doc:"The description, at most 100,000 characters. Untrusted text."`
	Status       string             `json:"status,omitempty" doc:"open, in_progress, hooked, closed, or one of the project's statuses. Default: open."`
	Priority     *int               `json:"priority,omitempty" doc:"0 (URGENT), 1 (HIGH), 2 (MEDIUM), 3 or 4 (LOW). Default: 2."`
	IssueType    string             `json:"issue_type,omitempty" doc:"task, bug, feature, epic or chore. Any other value X becomes a task with the label type:X. Default: task."`
	Labels       []string           `json:"labels,omitempty" doc:"At most 50 labels of 1 to 50 characters each, including the label of an unknown issue_type."`
	CreatedAt    *time.Time         `json:"created_at,omitempty" doc:"When the item was created."`
	ClosedAt     *time.Time         `json:"closed_at,omitempty" doc:"When the item was closed."`
	Dependencies []ImportDependency `json:"dependencies,omitempty" doc:"The items that this item links to: at most 500, of which at most 200 of the type blocks."`

	problem string
}

// The types of dependency that import evaluates. Other types have no effect.
const (
	LinkBlocks      = "blocks"
	LinkParentChild = "parent-child"
)

// ImportDependency is a link of an item to another one.
type ImportDependency struct {
	DependsOnID string `json:"depends_on_id" doc:"The id of the other item."`
	Type        string `json:"type" doc:"blocks: this item depends on the other item. parent-child: the other item is the parent of this item. Other types have no effect."`
}

// The outcomes of importing one item.
const (
	OutcomeCreated   = "created"
	OutcomeUpdated   = "updated"
	OutcomeUnchanged = "unchanged"
	OutcomeFailed    = "failed"
)

// ImportResult is the result of importing one item.
type ImportResult struct {
	Index   int           `json:"index" doc:"The item's index in the request, from 0."`
	ID      string        `json:"id,omitempty" doc:"The item's id; absent if it has no valid id."`
	Outcome string        `json:"outcome" enum:"created|updated|unchanged|failed" doc:"The result of importing the item."`
	TaskID  op.UUID       `json:"taskId,omitempty" doc:"The id of the item's task."`
	Task    *op.Reference `json:"task,omitempty" doc:"The name of the record that taskId identifies."`
	Key     string        `json:"key,omitempty" doc:"The task's key."`
	Reason  string        `json:"reason,omitempty" doc:"Why the item failed."`
}

// ImportItemsIn is the input of ImportItems.
type ImportItemsIn struct {
	ProjectID op.UUID      `path:"projectId" format:"uuid" doc:"The project."`
	Items     []ImportItem `json:"items" required:"true" minLength:"1" maxLength:"500" doc:"The items."`
}

// ImportItemsOut is the result of ImportItems.
type ImportItemsOut struct {
	Created   int            `json:"created" doc:"The number of tasks created."`
	Updated   int            `json:"updated" doc:"The number of tasks updated because their item had changed."`
	Unchanged int            `json:"unchanged" doc:"The number of items that have not changed since their last import."`
	Failed    int            `json:"failed" doc:"The number of items that could not be imported."`
	Linked    int            `json:"linked" doc:"The number of tasks, including tasks of earlier batches, that this batch linked to their epic or parent."`
	SubTasks  int            `json:"subTasks" doc:"The number of tasks counted in linked that became sub-tasks."`
	Waiting   int            `json:"waiting" doc:"The number of dependencies created by this batch, including dependencies of tasks of earlier batches."`
	Results   []ImportResult `json:"results" doc:"One result per item, in the order of the request."`
}

// ImportItems creates or updates tasks from items of another tracker.
var ImportItems = op.Declare[ImportItemsIn, ImportItemsOut](Contract, op.Spec{
	Name: "import-items", Method: "POST", Path: "/api/projects/{projectId}/import", Permission: PermTaskCreate, Effect: op.Write,
	MaxBody: MaxImportBody, Bulk: true,
	Summary: "Import items of another tracker into a project.",
	Description: "Items are matched by id: importing an item again creates no second task and updates the task only if the item has changed. " +
		"The batch is one transaction; an item that can't be imported is reported as failed and does not affect the others. " +
		"A parent may come after its children, in this or a later batch.",
})
