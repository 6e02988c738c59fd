package contract_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"parapet/internal/contract"
	"parapet/internal/op"
)

var update = flag.Bool("update", false, "write docs/event-types.md")

const eventTypesPage = "../../docs/event-types.md"

const eventTypesHead = `# Event types

An event reports a change of a record. This page lists the types of events that a server emits. [HTTP API](http-api.md#event-types) explains their form.

` + "`pt audit event-type projects.task.created`" + ` and ` + "`GET /api/event-types/projects.task.created`" + ` show the JSON Schema of a type. The version of a type increases with an incompatible change of its schema; new members are compatible.

`

// TestDocs_ListEveryEventType compares the page of event types with the contracts.
func TestDocs_ListEveryEventType(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	page.WriteString(eventTypesHead)
	for _, m := range contract.Modules() {
		if len(m.Events()) == 0 {
			continue
		}
		list := slices.SortedFunc(slices.Values(m.Events()), func(a, b *op.EventType) int { return strings.Compare(a.Name, b.Name) })
		fmt.Fprintf(&page, "## Module %s\n\n| type | version | event |\n|---|---|---|\n", m.Name)
		for _, e := range list {
			fmt.Fprintf(&page, "| `%s` | %d | %s |\n", e.Name, e.Version, e.Doc)
		}
		page.WriteString("\n")
	}
	want := strings.TrimRight(page.String(), "\n") + "\n"
	if *update {
		if err := os.WriteFile(eventTypesPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(eventTypesPage)
	if err != nil || string(got) != want {
		t.Errorf("docs/event-types.md is out of date (%v): run go test ./internal/contract -update and read the difference", err)
	}
}
