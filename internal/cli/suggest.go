package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// noSuchCommand returns an error if args name an unknown command. The error suggests the
// command with the most similar name.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q%s", args[0], didYouMean(nearestCommand(args[0], names)))
}

// didYouMean returns the end of an error message that suggests a word, or "" without one.
func didYouMean(word string) string {
	if word == "" {
		return ""
	}
	return "; did you mean " + word + "?"
}

// nearestCommand returns the command that the user probably means, or "". A noun alone
// means the command that lists or gets it: tasks is list-tasks.
func nearestCommand(typed string, names []string) string {
	for _, name := range []string{"list-" + typed, "list-" + typed + "s", "get-" + typed} {
		if slices.Contains(names, name) {
			return name
		}
	}
	return nearest(typed, names)
}

// nearest returns the most similar of the names, or "" if none is similar. Upper and lower
// case are equal. Similar means that at most one edit for every three characters, and at
// most three edits, separate the words, or that the typed word is the start of the name.
func nearest(typed string, names []string) string {
	typed = strings.ToLower(typed)
	if len(typed) > maxSuggestion {
		return ""
	}
	best, bestEdits := "", 0
	for _, name := range slices.Sorted(slices.Values(names)) {
		lower := strings.ToLower(name)
		edits := editDistance(typed, lower)
		if len(typed) > 2 && strings.HasPrefix(lower, typed) {
			edits = 0
		}
		if edits > min(3, max(1, len(typed)/3)) {
			continue
		}
		if best == "" || edits < bestEdits {
			best, bestEdits = name, edits
		}
	}
	return best
}

// maxSuggestion is the longest text, in bytes, for which nearest looks for similar names.
const maxSuggestion = 64

// editDistance returns how many inserted, deleted, replaced or swapped neighboring bytes
// turn a into b.
func editDistance(a, b string) int {
	// rows[i%3][j] is the distance of a[:i] and b[:j]. A swap reads two rows back.
	var rows [3][]int
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	for i := range len(a) + 1 {
		row, above, swap := rows[i%3], rows[(i+2)%3], rows[(i+1)%3]
		for j := range len(b) + 1 {
			switch {
			case i == 0:
				row[j] = j
				continue
			case j == 0:
				row[j] = i
				continue
			}
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], swap[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
