package tracker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// importedTask is what an item says of its task: the form in which a batch goes
// to the database.
type importedTask struct {
	ID             op.UUID    `json:"id"`
	Number         int64      `json:"number"`
	Title          string     `json:"title"`
	Description    string     `json:"description"`
	Status         string     `json:"status"`
	StatusCategory string     `json:"status_category"`
	IssueType      string     `json:"issue_type"`
	Priority       string     `json:"priority"`
	Labels         []string   `json:"labels"`
	CreatedAt      time.Time  `json:"created_at"`
	CompletedAt    *time.Time `json:"completed_at"`

	SourceID    string       `json:"source_id"`
	Fingerprint string       `json:"fingerprint"`
	Source      importSource `json:"source"`

	links []importLink
}

// importSource keeps what the task's own fields do not give back.
type importSource struct {
	// Title is kept where the task's is not the same to the letter.
	Title     string     `json:"title,omitempty"`
	Status    string     `json:"status,omitempty"`
	Priority  *int       `json:"priority,omitempty"`
	IssueType string     `json:"issue_type,omitempty"`
	Labels    []string   `json:"labels,omitempty"`
	CreatedAt *time.Time `json:"created_at,omitempty"`
	ClosedAt  *time.Time `json:"closed_at,omitempty"`
}

// importLink is one dependency of an item.
type importLink struct {
	SourceID    string `json:"source_id"`
	DependsOnID string `json:"depends_on_id"`
	Type        string `json:"type"`
	Position    int    `json:"position"`
	// Applied says that the link has become an edge or a dependency of the tasks.
	Applied bool `json:"applied"`
}

// The bounds of an item.
const (
	maxSourceID     = 200
	maxTitle        = 500
	maxDescription  = 100_000
	maxImportLabels = 50
	maxImportLinks  = 500
	maxLinkType     = 50
	maxImportType   = 40
)

// importLabel marks a task whose item is of a kind that tasks do not have.
const importLabel = "type:"

// mapItem reads an item as a task of a project with these statuses. The error's
// text is the reason of the item's failure.
func mapItem(item *contract.ImportItem, statuses []contract.Status, now time.Time) (*importedTask, error) {
	if p := item.Problem(); p != "" {
		return nil, fmt.Errorf("the item is wrong: %s", p)
	}
	if err := checkItem(item); err != nil {
		return nil, err
	}
	t := &importedTask{
		SourceID: item.ID, Title: strings.TrimSpace(item.Title), Description: item.Description,
		CreatedAt: moment(item.CreatedAt, now),
		Source: importSource{
			Status: item.Status, Priority: item.Priority, IssueType: item.IssueType, Labels: item.Labels,
			CreatedAt: item.CreatedAt, ClosedAt: item.ClosedAt,
		},
	}
	if item.Title != t.Title {
		t.Source.Title = item.Title
	}
	status, err := mapStatus(item.Status, statuses)
	if err != nil {
		return nil, err
	}
	t.Status, t.StatusCategory = status.Name, status.Category
	if isOver(status.Category) {
		at := moment(item.ClosedAt, now)
		t.CompletedAt = &at
	}
	if t.Priority, err = mapPriority(item.Priority); err != nil {
		return nil, err
	}
	labels := item.Labels
	var known bool
	if t.IssueType, known = mapType(item.IssueType); !known {
		labels = append(slices.Clone(labels), importLabel+item.IssueType)
	}
	if t.Labels, err = checkLabels(labels); err != nil {
		return nil, fmt.Errorf("a label needs 1 to %d characters, with no space around it and no control character in it", maxLabel)
	}
	if len(t.Labels) > maxImportLabels {
		return nil, fmt.Errorf("the item has more than %d labels, with the one that stands for its issue_type", maxImportLabels)
	}
	if t.links, err = mapLinks(item); err != nil {
		return nil, err
	}
	t.Fingerprint, err = fingerprint(item)
	return t, err
}

func checkItem(item *contract.ImportItem) error {
	long := func(s string, most int) bool { return utf8.RuneCountInString(s) > most }
	switch {
	case item.ID == "":
		return fmt.Errorf("the item has no id")
	case long(item.ID, maxSourceID) || hasControl(item.ID):
		return fmt.Errorf("the id has more than %d characters, or a control character", maxSourceID)
	case strings.TrimSpace(item.Title) == "":
		return fmt.Errorf("the item has no title")
	case long(item.Title, maxTitle):
		return fmt.Errorf("the title has more than %d characters", maxTitle)
	case long(item.Description, maxDescription):
		return fmt.Errorf("the description has more than %d characters", maxDescription)
	case long(item.IssueType, maxImportType):
		return fmt.Errorf("the issue_type has more than %d characters", maxImportType)
	case len(item.Labels) > maxImportLabels:
		return fmt.Errorf("the item has more than %d labels", maxImportLabels)
	case len(item.Dependencies) > maxImportLinks:
		return fmt.Errorf("the item has more than %d dependencies", maxImportLinks)
	}
	return nil
}

// moment is the time that an item names: never in the future, and never before
// what a timestamp can hold.
func moment(at *time.Time, now time.Time) time.Time {
	if at == nil || at.After(now) || at.Year() < 1 {
		return now
	}
	return at.UTC().Truncate(time.Microsecond)
}

// mapStatus finds the project's status for an item's: of the same name, or of
// the category that the four well-known words stand for.
func mapStatus(name string, statuses []contract.Status) (contract.Status, error) {
	if i := slices.IndexFunc(statuses, func(s contract.Status) bool { return strings.EqualFold(s.Name, name) }); i >= 0 {
		return statuses[i], nil
	}
	switch name {
	case "", "open":
		return initialStatus(statuses), nil
	case "in_progress", "hooked":
		return statusOf(statuses, "IN_PROGRESS", contract.CategoryInProgress), nil
	case "closed":
		return statusOf(statuses, "DONE", contract.CategoryDone), nil
	default:
		return contract.Status{}, fmt.Errorf("unknown status %q; allowed: open, in_progress, hooked, closed, or a status of the project", truncate(name))
	}
}

func mapPriority(priority *int) (string, error) {
	if priority == nil {
		return contract.PriorityMedium, nil
	}
	switch *priority {
	case 0:
		return contract.PriorityUrgent, nil
	case 1:
		return contract.PriorityHigh, nil
	case 2:
		return contract.PriorityMedium, nil
	case 3, 4:
		return contract.PriorityLow, nil
	default:
		return "", fmt.Errorf("the priority %d is not one of 0 (highest) to 4", *priority)
	}
}

// mapType gives the kind of task, and whether it is the item's own kind.
func mapType(kind string) (string, bool) {
	switch kind {
	case "", "task":
		return contract.TypeTask, true
	case "bug":
		return contract.TypeBug, true
	case "feature":
		return contract.TypeFeature, true
	case "epic":
		return contract.TypeEpic, true
	case "chore":
		return contract.TypeChore, true
	default:
		return contract.TypeTask, false
	}
}

func mapLinks(item *contract.ImportItem) ([]importLink, error) {
	type pair struct{ to, kind string }
	seen := map[pair]bool{}
	var links []importLink
	waits := 0
	for _, d := range item.Dependencies {
		switch {
		case d.DependsOnID == "" || utf8.RuneCountInString(d.DependsOnID) > maxSourceID:
			return nil, fmt.Errorf("a dependency has no depends_on_id, or one of more than %d characters", maxSourceID)
		case d.Type == "" || utf8.RuneCountInString(d.Type) > maxLinkType:
			return nil, fmt.Errorf("a dependency has no type, or one of more than %d characters", maxLinkType)
		case d.DependsOnID == item.ID:
			return nil, fmt.Errorf("the item depends on itself")
		case seen[pair{d.DependsOnID, d.Type}]:
			continue
		}
		seen[pair{d.DependsOnID, d.Type}] = true
		links = append(links, importLink{SourceID: item.ID, DependsOnID: d.DependsOnID, Type: d.Type, Position: len(links)})
		if d.Type == contract.LinkBlocks {
			waits++
		}
	}
	if waits > contract.MaxDependencies {
		return nil, fmt.Errorf("the item waits for more than %d others", contract.MaxDependencies)
	}
	return links, nil
}

// fingerprint tells one state of an item from another.
func fingerprint(item *contract.ImportItem) (string, error) {
	text, err := json.Marshal(item)
	if err != nil {
		return "", fmt.Errorf("the item has a timestamp that cannot be written as JSON")
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// truncate bounds a text of the item's that goes into a reason.
func truncate(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
