package tracker

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Problem tells what is wrong with the form of the item, or "".
func (i *ImportItem) Problem() string { return i.problem }

// UnmarshalJSON reads an item strictly: exact names, no unknown ones, no NUL. A
// wrong form is kept as the item's Problem and is no error, so that one bad item
// of a batch fails alone; text that is not JSON at all is an error.
func (i *ImportItem) UnmarshalJSON(text []byte) error {
	var item ImportItem
	var reason string
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		reason = "it is not a JSON object"
	}
	for name, value := range members {
		var into any
		switch name {
		case "id":
			into = &item.ID
		case "title":
			into = &item.Title
		case "description":
			into = &item.Description
		case "status":
			into = &item.Status
		case "priority":
			into = &item.Priority
		case "issue_type":
			into = &item.IssueType
		case "labels":
			into = &item.Labels
		case "created_at":
			into = &item.CreatedAt
		case "closed_at":
			into = &item.ClosedAt
		case "dependencies":
			into = &item.Dependencies
		default:
			reason = fmt.Sprintf("there is no field %q", cut(name))
			continue
		}
		if err := json.Unmarshal(value, into); err != nil {
			reason = fmt.Sprintf("the field %s has the wrong type or form", name)
		}
	}
	if reason == "" && item.holdsNUL() {
		reason = "it holds a NUL character"
	}
	if reason != "" {
		// The id alone, where it can be read, so that a report can name the item.
		item = ImportItem{ID: item.ID, problem: reason}
		if strings.ContainsRune(item.ID, 0) {
			item.ID = ""
		}
	}
	*i = item
	return nil
}

// UnmarshalJSON reads a dependency with exact names.
func (d *ImportDependency) UnmarshalJSON(text []byte) error {
	var members map[string]*string
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	*d = ImportDependency{}
	for name, value := range members {
		switch {
		case value == nil:
			return fmt.Errorf("%q is null", cut(name))
		case name == "depends_on_id":
			d.DependsOnID = *value
		case name == "type":
			d.Type = *value
		default:
			return fmt.Errorf("there is no field %q", cut(name))
		}
	}
	return nil
}

// cut bounds a name that a stranger wrote to what a message can hold.
func cut(name string) string {
	if r := []rune(name); len(r) > 64 {
		return string(r[:64]) + "…"
	}
	return name
}

func (i *ImportItem) holdsNUL() bool {
	texts := append([]string{i.ID, i.Title, i.Description, i.Status, i.IssueType}, i.Labels...)
	for _, d := range i.Dependencies {
		texts = append(texts, d.DependsOnID, d.Type)
	}
	return strings.ContainsRune(strings.Join(texts, ""), 0)
}
