package tracker

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Problem describes why the item is malformed; it is empty for a valid item.
func (i *ImportItem) Problem() string { return i.problem }

// importFields is ImportItem without UnmarshalJSON, to decode without recursion.
type importFields ImportItem

// UnmarshalJSON decodes an item strictly: names are case-sensitive, unknown names
// and NUL characters are not allowed. A malformed item is not an error but sets
// the item's Problem, so that it does not fail the other items of its batch.
// Invalid JSON is an error.
func (i *ImportItem) UnmarshalJSON(text []byte) error {
	var fields importFields
	if json.Unmarshal(text, &fields, json.RejectUnknownMembers(true)) == nil && !bytes.Equal(text, []byte("null")) {
		if item := ImportItem(fields); !item.containsNUL() {
			*i = item
			return nil
		}
	}
	*i = readFieldByField(text)
	return nil
}

// readFieldByField decodes a malformed item field by field, to name the invalid
// field in its problem.
func readFieldByField(text []byte) ImportItem {
	var item ImportItem
	var reason string
	var members map[string]jsontext.Value
	if json.Unmarshal(text, &members) != nil {
		reason = "the item is not a JSON object"
	}
	// The order makes the reason the same each time.
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := members[name]
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
			reason = fmt.Sprintf("unknown field %q", truncateName(name))
			continue
		}
		if err := json.Unmarshal(value, into, json.RejectUnknownMembers(true)); err != nil {
			reason = fmt.Sprintf("the field %s has the wrong type or format", name)
		}
	}
	if reason == "" && item.containsNUL() {
		reason = "the item contains a NUL character"
	}
	if reason != "" {
		// Only the id is kept, so that the result can name the item.
		item = ImportItem{ID: item.ID, problem: reason}
		if strings.ContainsRune(item.ID, 0) {
			item.ID = ""
		}
	}
	return item
}

// truncateName shortens a name from the request to at most 64 characters, for use
// in a message.
func truncateName(name string) string {
	if r := []rune(name); len(r) > 64 {
		return string(r[:64]) + "…"
	}
	return name
}

func (i *ImportItem) containsNUL() bool {
	hasNUL := func(text string) bool { return strings.IndexByte(text, 0) >= 0 }
	return hasNUL(i.ID) || hasNUL(i.Title) || hasNUL(i.Description) || hasNUL(i.Status) || hasNUL(i.IssueType) || slices.ContainsFunc(i.Labels, hasNUL) ||
		slices.ContainsFunc(i.Dependencies, func(d ImportDependency) bool { return hasNUL(d.DependsOnID) || hasNUL(d.Type) })
}
