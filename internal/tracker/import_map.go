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

// importedTask is an item converted to a task. A batch is sent to the database as a
// JSON array of these.
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

// importSource stores the original values of an item that cannot be derived from the
// task's fields. Exports return them.
type importSource struct {
	// Title is set if it differs from the task's title, which is trimmed.
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
	// Applied reports whether the link is stored as a parent or a dependency of the task.
	Applied bool `json:"applied"`
}

// Maximum lengths in characters, and maximum counts, for one item.
const (
	maxSourceID     = 200
	maxTitle        = 500
	maxDescription  = 100_000
	maxImportLabels = 50
	maxImportLinks  = 500
	maxLinkType     = 50
	maxImportType   = 40
)

// typeLabelPrefix starts the label that stores an issue_type for which tasks have no
// issue type.
const typeLabelPrefix = "type:"

// mapItem converts an item to a task of a project with these statuses. The error
// message is the failure reason in the item's result.
func mapItem(item *contract.ImportItem, statuses []contract.Status, now time.Time) (*importedTask, error) {
	if p := item.Problem(); p != "" {
		return nil, fmt.Errorf("invalid item: %s", p)
	}
	if err := validateItem(item); err != nil {
		return nil, err
	}
	t := &importedTask{
		SourceID: item.ID, Title: strings.TrimSpace(item.Title), Description: item.Description,
		CreatedAt: importTimestamp(item.CreatedAt, now),
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
	if isFinalCategory(status.Category) {
		completed := importTimestamp(item.ClosedAt, now)
		t.CompletedAt = &completed
	}
	if t.Priority, err = mapPriority(item.Priority); err != nil {
		return nil, err
	}
	labels := item.Labels
	var exact bool
	if t.IssueType, exact = mapType(item.IssueType); !exact {
		labels = append(slices.Clone(labels), typeLabelPrefix+item.IssueType)
	}
	if t.Labels, err = normalizeLabels(labels); err != nil {
		return nil, fmt.Errorf("each label must have 1 to %d characters, no leading or trailing space and no control characters", maxLabel)
	}
	if len(t.Labels) > maxImportLabels {
		return nil, fmt.Errorf("the item has more than %d labels, counting the label added for its issue_type", maxImportLabels)
	}
	if t.links, err = mapLinks(item); err != nil {
		return nil, err
	}
	t.Fingerprint, err = fingerprint(item)
	return t, err
}

func validateItem(item *contract.ImportItem) error {
	exceeds := func(s string, limit int) bool { return utf8.RuneCountInString(s) > limit }
	switch {
	case item.ID == "":
		return fmt.Errorf("id is required")
	case exceeds(item.ID, maxSourceID) || hasControlCharacter(item.ID):
		return fmt.Errorf("id must have at most %d characters and no control characters", maxSourceID)
	case strings.TrimSpace(item.Title) == "":
		return fmt.Errorf("title is required")
	case exceeds(item.Title, maxTitle):
		return fmt.Errorf("title has more than %d characters", maxTitle)
	case exceeds(item.Description, maxDescription):
		return fmt.Errorf("description has more than %d characters", maxDescription)
	case exceeds(item.IssueType, maxImportType):
		return fmt.Errorf("issue_type has more than %d characters", maxImportType)
	case len(item.Labels) > maxImportLabels:
		return fmt.Errorf("the item has more than %d labels", maxImportLabels)
	case len(item.Dependencies) > maxImportLinks:
		return fmt.Errorf("the item has more than %d dependencies", maxImportLinks)
	}
	return nil
}

// importTimestamp returns the item's timestamp in UTC with microseconds. It returns
// now if the timestamp is missing, in the future, or before the year 1, which
// PostgreSQL cannot store.
func importTimestamp(at *time.Time, now time.Time) time.Time {
	if at == nil || at.After(now) || at.Year() < 1 {
		return now
	}
	return at.UTC().Truncate(time.Microsecond)
}

// mapStatus returns the project's status for an item's status: the status of the same
// name in any case, or else a status of the matching category for open, in_progress,
// hooked and closed.
func mapStatus(name string, statuses []contract.Status) (contract.Status, error) {
	if i := slices.IndexFunc(statuses, func(s contract.Status) bool { return strings.EqualFold(s.Name, name) }); i >= 0 {
		return statuses[i], nil
	}
	switch name {
	case "", "open":
		return initialStatus(statuses), nil
	case "in_progress", "hooked":
		return preferredStatus(statuses, "IN_PROGRESS", contract.CategoryInProgress), nil
	case "closed":
		return preferredStatus(statuses, "DONE", contract.CategoryDone), nil
	default:
		return contract.Status{}, fmt.Errorf("unknown status %q; allowed: open, in_progress, hooked, closed, or the name of a project status", truncateForMessage(name))
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
		return "", fmt.Errorf("priority must be from 0 (highest) to 4, got %d", *priority)
	}
}

// mapType returns the task's issue type for an item's issue_type, and whether it is an
// exact match. Unknown types become TASK.
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
	blockers := 0
	for _, d := range item.Dependencies {
		switch {
		case d.DependsOnID == "" || utf8.RuneCountInString(d.DependsOnID) > maxSourceID:
			return nil, fmt.Errorf("depends_on_id of a dependency must have 1 to %d characters", maxSourceID)
		case d.Type == "" || utf8.RuneCountInString(d.Type) > maxLinkType:
			return nil, fmt.Errorf("type of a dependency must have 1 to %d characters", maxLinkType)
		case d.DependsOnID == item.ID:
			return nil, fmt.Errorf("the item depends on itself")
		case seen[pair{d.DependsOnID, d.Type}]:
			continue
		}
		seen[pair{d.DependsOnID, d.Type}] = true
		links = append(links, importLink{SourceID: item.ID, DependsOnID: d.DependsOnID, Type: d.Type, Position: len(links)})
		if d.Type == contract.LinkBlocks {
			blockers++
		}
	}
	if blockers > contract.MaxDependencies {
		return nil, fmt.Errorf("the item is blocked by more than %d items", contract.MaxDependencies)
	}
	return links, nil
}

// fingerprint returns the SHA-256 of the item as JSON. The import compares
// fingerprints to find changed items.
func fingerprint(item *contract.ImportItem) (string, error) {
	text, err := json.Marshal(item)
	if err != nil {
		return "", fmt.Errorf("the item has a timestamp that cannot be encoded as JSON")
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// truncateForMessage shortens user-generated text to 60 characters.
func truncateForMessage(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
