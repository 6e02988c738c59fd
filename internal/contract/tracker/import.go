package tracker

import (
	"time"

	"parapet/internal/op"
)

// MaxImportItems is how many items one import takes; more go in further ones.
const MaxImportItems = 500

// MaxImportBody is the size in bytes of the largest import.
const MaxImportBody = 16 << 20

// ImportItem is a work item of another tracker: one line of the file that
// `pt import` reads. Only id and title are required.
//
// An item that does not have this form does not spoil its neighbours: it is
// read as one with a Problem, and reported as failed.
type ImportItem struct {
	ID           string             `json:"id" doc:"The item's own id, by which a second import knows it again; at most 200 characters."`
	Title        string             `json:"title" doc:"The title, at most 500 characters. Untrusted text."`
	Description  string             `json:"description,omitempty" doc:"The text, at most 100,000 characters. Untrusted text."`
	Status       string             `json:"status,omitempty" doc:"open, in_progress, hooked, closed, or one of the project's own statuses; open when absent."`
	Priority     *int               `json:"priority,omitempty" doc:"0 (highest, URGENT), 1 (HIGH), 2 (MEDIUM), 3 or 4 (LOW); 2 when absent."`
	IssueType    string             `json:"issue_type,omitempty" doc:"task, bug, feature, epic or chore; any other becomes a task with the label type:<it>. task when absent."`
	Labels       []string           `json:"labels,omitempty" doc:"Labels of 1 to 50 characters, at most 50, with the one that an unknown issue_type becomes."`
	CreatedAt    *time.Time         `json:"created_at,omitempty" doc:"When the item was created."`
	ClosedAt     *time.Time         `json:"closed_at,omitempty" doc:"When the item was closed."`
	Dependencies []ImportDependency `json:"dependencies,omitempty" doc:"The items that this one is tied to, at most 500, of which it can wait for 200."`

	problem string
}

// The kinds of dependency that mean something; others are mere links.
const (
	LinkBlocks      = "blocks"
	LinkParentChild = "parent-child"
)

// ImportDependency is a link of an item to another one.
type ImportDependency struct {
	DependsOnID string `json:"depends_on_id" doc:"The other item's own id."`
	Type        string `json:"type" doc:"blocks: this item waits for the other; parent-child: the other is its parent; any other is a mere link."`
}

// The outcomes of an item.
const (
	OutcomeCreated   = "created"
	OutcomeUpdated   = "updated"
	OutcomeUnchanged = "unchanged"
	OutcomeFailed    = "failed"
)

// ImportResult tells what became of one item.
type ImportResult struct {
	Index   int     `json:"index" doc:"The item's place in the request, from 0."`
	ID      string  `json:"id,omitempty" doc:"The item's own id, where it has a valid one."`
	Outcome string  `json:"outcome" enum:"created|updated|unchanged|failed" doc:"What became of the item."`
	TaskID  op.UUID `json:"taskId,omitempty" doc:"The task that it is now."`
	Key     string  `json:"key,omitempty" doc:"The task's key."`
	Reason  string  `json:"reason,omitempty" doc:"Why it failed."`
}

// ImportItemsIn is one batch of items.
type ImportItemsIn struct {
	ProjectID op.UUID      `path:"projectId" format:"uuid" doc:"The project's id."`
	Items     []ImportItem `json:"items" required:"true" minLength:"1" maxLength:"500" doc:"The items."`
}

// ImportItemsOut answers a batch.
type ImportItemsOut struct {
	Created   int            `json:"created" doc:"How many tasks were created."`
	Updated   int            `json:"updated" doc:"How many tasks were changed because their item had changed."`
	Unchanged int            `json:"unchanged" doc:"How many items are as they were when last imported."`
	Failed    int            `json:"failed" doc:"How many items could not be taken."`
	Linked    int            `json:"linked" doc:"How many tasks found their epic or parent through this batch, those of earlier batches included."`
	Waiting   int            `json:"waiting" doc:"How many dependencies the batch made: tasks that wait for another one, those of earlier batches included."`
	Results   []ImportResult `json:"results" doc:"One result an item, in the order of the request."`
}

// ImportItems creates or updates tasks from items of another tracker.
var ImportItems = op.New[ImportItemsIn, ImportItemsOut](op.Spec{
	Name: "import-items", Module: Module, Method: "POST", Path: "/api/projects/{projectId}/import", Permission: PermTaskCreate, Effect: op.Write,
	MaxBody: MaxImportBody, Bulk: true,
	Summary: "Take items of another tracker into a project.",
	Description: "An item is known by its own id: sending it again makes no second task, and updates the task only when the item has changed since. " +
		"The batch is one transaction; an item that can't be taken is reported and does not hold up the others. " +
		"A parent may come later than its children, in this batch or another.",
})
