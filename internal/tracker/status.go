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

// validateStatuses checks the statuses of a project: each has a valid, distinct name
// (ignoring case) and a known category, and there is at least one to start with and
// one for done tasks.
func validateStatuses(statuses []contract.Status) error {
	const field = "customStatuses"
	seen := map[string]bool{}
	categories := map[string]bool{}
	for i, s := range statuses {
		at := fmt.Sprintf("%s.%d", field, i)
		switch {
		case !isValidStatusName(s.Name):
			return fault.Validation(at+".name", statusNameMessage)
		case seen[strings.ToLower(s.Name)]:
			return fault.Validation(at+".name", fmt.Sprintf("Duplicate status %s.", s.Name))
		case !slices.Contains(statusCategories(), s.Category):
			return fault.Validation(at+".category", fmt.Sprintf("category must be one of %s.", strings.Join(statusCategories(), ", ")))
		}
		seen[strings.ToLower(s.Name)] = true
		categories[s.Category] = true
	}
	if !categories[contract.CategoryTodo] || !categories[contract.CategoryDone] {
		return fault.Validation(field, "A project needs at least one status of category TODO and one of category DONE.")
	}
	return nil
}

// validateRenames checks renames against the project's statuses and returns those that
// change a name.
func validateRenames(statuses []contract.Status, renames []contract.StatusRename) ([]contract.StatusRename, error) {
	var effective []contract.StatusRename
	seenFrom := map[string]bool{}
	for i, r := range renames {
		at := fmt.Sprintf("renameStatuses.%d", i)
		switch {
		case !slices.ContainsFunc(statuses, func(s contract.Status) bool { return s.Name == r.From }):
			return nil, fault.Validation(at+".from", "The project has no status with this name.")
		case seenFrom[r.From]:
			return nil, fault.Validation(at+".from", "The status has more than one rename.")
		case !isValidStatusName(r.To):
			return nil, fault.Validation(at+".to", statusNameMessage)
		}
		seenFrom[r.From] = true
		if r.From != r.To {
			effective = append(effective, r)
		}
	}
	seen := map[string]bool{}
	for _, s := range applyRenames(statuses, effective) {
		if seen[strings.ToLower(s.Name)] {
			return nil, fault.Validation("renameStatuses", fmt.Sprintf("After the renames, two statuses would be named %s.", s.Name))
		}
		seen[strings.ToLower(s.Name)] = true
	}
	return effective, nil
}

// applyRenames returns a copy of the statuses with their new names.
func applyRenames(statuses []contract.Status, renames []contract.StatusRename) []contract.Status {
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

const statusNameMessage = "A status name must have 1 to 50 characters, no leading or trailing space and no control characters."

func isValidStatusName(name string) bool {
	return name != "" && utf8.RuneCountInString(name) <= 50 && name == strings.TrimSpace(name) && !hasControlCharacter(name)
}

func statusCategories() []string {
	return []string{contract.CategoryTodo, contract.CategoryInProgress, contract.CategoryReview, contract.CategoryDone, contract.CategoryCancelled}
}

func hasControlCharacter(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }

// findStatus returns the project's status with this name, in upper or lower case. The names
// of two statuses never differ only in case.
func findStatus(statuses []contract.Status, name string) (contract.Status, error) {
	for _, s := range statuses {
		if strings.ToLower(s.Name) == strings.ToLower(name) { //nolint:staticcheck // EqualFold equates more names than validateStatuses
			return s, nil
		}
	}
	names := make([]string, len(statuses))
	for i, s := range statuses {
		names[i] = s.Name
	}
	return contract.Status{}, fault.Validation("status", fmt.Sprintf("The project has no such status. Its statuses are: %s.", strings.Join(names, ", ")))
}

// initialStatus returns the default status of new tasks.
func initialStatus(statuses []contract.Status) contract.Status {
	return preferredStatus(statuses, contract.DefaultStatus, contract.CategoryTodo)
}

// preferredStatus returns the status with this name in this category, else the first
// status of the category, else the first status of all.
func preferredStatus(statuses []contract.Status, name, category string) contract.Status {
	first := -1
	for i, s := range statuses {
		if s.Category != category {
			continue
		}
		if s.Name == name {
			return s
		}
		if first < 0 {
			first = i
		}
	}
	return statuses[max(first, 0)]
}

// isFinalCategory reports whether tasks with a status of this category are done or
// cancelled.
func isFinalCategory(category string) bool {
	return category == contract.CategoryDone || category == contract.CategoryCancelled
}
