package tracker

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
)

// checkStatuses holds a set of statuses against the rules: names of 1 to 50
// visible characters, distinct whatever their case, known categories, and at
// least one status to begin with and one to end with.
func checkStatuses(statuses []contract.Status) error {
	const field = "customStatuses"
	seen := map[string]bool{}
	categories := map[string]bool{}
	for i, s := range statuses {
		at := fmt.Sprintf("%s.%d", field, i)
		switch {
		case !validStatusName(s.Name):
			return fault.Validation(at+".name", statusNameRule)
		case seen[strings.ToLower(s.Name)]:
			return fault.Validation(at+".name", fmt.Sprintf("The status %s is named twice.", s.Name))
		case !slices.Contains(statusCategories(), s.Category):
			return fault.Validation(at+".category", fmt.Sprintf("The category must be one of %s.", strings.Join(statusCategories(), ", ")))
		}
		seen[strings.ToLower(s.Name)] = true
		categories[s.Category] = true
	}
	if !categories[contract.CategoryTodo] || !categories[contract.CategoryDone] {
		return fault.Validation(field, "A project needs at least one status of the category TODO and one of the category DONE.")
	}
	return nil
}

// checkRenames holds renamings against the statuses that there are, and gives
// those that change something.
func checkRenames(statuses []contract.Status, renames []contract.StatusRename) ([]contract.StatusRename, error) {
	var real []contract.StatusRename
	given := map[string]bool{}
	for i, r := range renames {
		at := fmt.Sprintf("renameStatuses.%d", i)
		switch {
		case !slices.ContainsFunc(statuses, func(s contract.Status) bool { return s.Name == r.From }):
			return nil, fault.Validation(at+".from", "The project has no status of this name.")
		case given[r.From]:
			return nil, fault.Validation(at+".from", "The status is renamed twice.")
		case !validStatusName(r.To):
			return nil, fault.Validation(at+".to", statusNameRule)
		}
		given[r.From] = true
		if r.From != r.To {
			real = append(real, r)
		}
	}
	seen := map[string]bool{}
	for _, s := range renamed(statuses, real) {
		if seen[strings.ToLower(s.Name)] {
			return nil, fault.Validation("renameStatuses", fmt.Sprintf("Two statuses would have the name %s.", s.Name))
		}
		seen[strings.ToLower(s.Name)] = true
	}
	return real, nil
}

// renamed gives the statuses under their new names.
func renamed(statuses []contract.Status, renames []contract.StatusRename) []contract.Status {
	out := slices.Clone(statuses)
	for i := range out {
		for _, r := range renames {
			if statuses[i].Name == r.From {
				out[i].Name = r.To
			}
		}
	}
	return out
}

const statusNameRule = "A status needs a name of 1 to 50 characters, with no space around it and no control character in it."

func validStatusName(name string) bool {
	return name != "" && utf8.RuneCountInString(name) <= 50 && name == strings.TrimSpace(name) && !hasControl(name)
}

func statusCategories() []string {
	return []string{contract.CategoryTodo, contract.CategoryInProgress, contract.CategoryReview, contract.CategoryDone, contract.CategoryCancelled}
}

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }

// findStatus gives the project's status of this exact name.
func findStatus(statuses []contract.Status, name string) (contract.Status, error) {
	for _, s := range statuses {
		if s.Name == name {
			return s, nil
		}
	}
	names := make([]string, len(statuses))
	for i, s := range statuses {
		names[i] = s.Name
	}
	return contract.Status{}, fault.Validation("status", fmt.Sprintf("The project has no such status. It has: %s.", strings.Join(names, ", ")))
}

// initialStatus is that of a task whose creator names none.
func initialStatus(statuses []contract.Status) contract.Status {
	return statusOf(statuses, contract.DefaultStatus, contract.CategoryTodo)
}

// statusOf gives the status of this name in this category, or else the first
// one of the category, or else of the set.
func statusOf(statuses []contract.Status, name, category string) contract.Status {
	best := -1
	for i, s := range statuses {
		if s.Category != category {
			continue
		}
		if s.Name == name {
			return s
		}
		if best < 0 {
			best = i
		}
	}
	return statuses[max(best, 0)]
}

// isOver tells whether work in this category is done with.
func isOver(category string) bool {
	return category == contract.CategoryDone || category == contract.CategoryCancelled
}
