package tracker

import (
	"strconv"
	"strings"

	"parapet/internal/fault"
	"parapet/internal/op"
)

// taskKey formats a task's key.
func taskKey(prefix string, number int64) string {
	return prefix + "-" + strconv.FormatInt(number, 10)
}

// taskRef identifies a task of a project in a request: by id, or by number and project
// prefix. It identifies an issue of the tenant in the same way.
type taskRef struct {
	id     op.UUID
	prefix string
	number int64
}

// parseTaskRef parses the key (in any case) or the id of a task.
func parseTaskRef(text string) (taskRef, error) { return parseRef("task", "APOLLO-17", text) }

// parseIssueRef parses the key (in any case) or the id of an issue.
func parseIssueRef(text string) (taskRef, error) { return parseRef("issue", "ISS-17", text) }

func parseRef(noun, example, text string) (taskRef, error) {
	if id, err := op.ParseUUID(text); err == nil {
		return taskRef{id: id}, nil
	}
	if r, ok := parseTaskKey(text); ok {
		return r, nil
	}
	return taskRef{}, fault.Validation(noun, "The "+noun+" must be a key, such as "+example+", or an id.")
}

func parseTaskKey(text string) (taskRef, bool) {
	prefix, digits, ok := strings.Cut(text, "-")
	prefix = strings.ToUpper(prefix)
	if !ok || !isValidPrefix(prefix) || digits == "" || digits[0] < '1' || digits[0] > '9' {
		return taskRef{}, false
	}
	// ParseUint rejects a sign; 63 bits fit the bigint column.
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return taskRef{}, false
	}
	return taskRef{prefix: prefix, number: int64(n)}, true
}

// maxPrefix is the maximum length of a prefix.
const maxPrefix = 10

// isValidPrefix reports whether text is an upper-case letter followed by one to nine
// upper-case letters or digits.
func isValidPrefix(text string) bool {
	if len(text) < 2 || len(text) > maxPrefix || !isLetter(text[0]) {
		return false
	}
	for i := 1; i < len(text); i++ {
		if !isLetter(text[i]) && (text[i] < '0' || text[i] > '9') {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return c >= 'A' && c <= 'Z' }

// derivePrefix derives a prefix from a project's name: the initials of its words, or
// the first letters if the name is one word.
func derivePrefix(name string) string {
	words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	var b strings.Builder
	switch len(words) {
	case 0:
		return "PRJ"
	case 1:
		b.WriteString(words[0][:min(4, len(words[0]))])
	default:
		for _, w := range words[:min(4, len(words))] {
			b.WriteByte(w[0])
		}
	}
	prefix := b.String()
	if !isLetter(prefix[0]) {
		prefix = "P" + prefix
	}
	if len(prefix) < 2 {
		prefix += "X"
	}
	return prefix
}

// numberedPrefix returns the nth candidate for a prefix: base itself for n = 1, else
// base with n appended, shortened to fit.
func numberedPrefix(base string, n int) string {
	if n == 1 {
		return base
	}
	digits := strconv.Itoa(n)
	return base[:min(len(base), maxPrefix-len(digits))] + digits
}
