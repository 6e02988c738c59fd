package tracker

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Problem tells what is wrong with the form of the item, or "".
func (i *ImportItem) Problem() string { return i.problem }

// importFields is an ImportItem without its methods.
type importFields ImportItem

// UnmarshalJSON reads an item strictly: exact names, no unknown ones, no NUL. A
// wrong form is kept as the item's Problem and is no error, so that one bad item
// of a batch fails alone; text that is not JSON at all is an error.
func (i *ImportItem) UnmarshalJSON(text []byte) error {
	var fields importFields
	if json.Unmarshal(text, &fields, json.RejectUnknownMembers(true)) == nil && !bytes.Equal(text, []byte("null")) {
		if item := ImportItem(fields); !item.holdsNUL() {
			*i = item
			return nil
		}
	}
	*i = readFieldByField(text)
	return nil
}

// readFieldByField reads an item field by field, to name the one that is wrong.
func readFieldByField(text []byte) ImportItem {
	var item ImportItem
	var reason string
	var members map[string]jsontext.Value
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
		if err := json.Unmarshal(value, into, json.RejectUnknownMembers(true)); err != nil {
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
	return item
}

// cut bounds a name that a stranger wrote to what a message can hold.
func cut(name string) string {
	if r := []rune(name); len(r) > 64 {
		return string(r[:64]) + "…"
	}
	return name
}

func (i *ImportItem) holdsNUL() bool {
	holds := func(text string) bool { return strings.IndexByte(text, 0) >= 0 }
	return holds(i.ID) || holds(i.Title) || holds(i.Description) || holds(i.Status) || holds(i.IssueType) || slices.ContainsFunc(i.Labels, holds) ||
		slices.ContainsFunc(i.Dependencies, func(d ImportDependency) bool { return holds(d.DependsOnID) || holds(d.Type) })
}
