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

// taskRef is how a request names a task within a project: by id, or by number
// with the prefix that the caller believes the project to have. An issue is named
// likewise, within the tenant.
type taskRef struct {
	id     op.UUID
	prefix string
	number int64
}

// parseTaskRef reads a task's key (in any case) or id.
func parseTaskRef(text string) (taskRef, error) { return parseRef("task", "APOLLO-17", text) }

// parseIssueRef reads an issue's key (in any case) or id.
func parseIssueRef(text string) (taskRef, error) { return parseRef("issue", "ISS-17", text) }

func parseRef(noun, example, text string) (taskRef, error) {
	if id, err := op.ParseUUID(text); err == nil {
		return taskRef{id: id}, nil
	}
	if r, ok := parseTaskKey(text); ok {
		return r, nil
	}
	return taskRef{}, fault.Validation(noun, "The "+noun+" must be named by its key, such as "+example+", or by its id.")
}

func parseTaskKey(text string) (taskRef, bool) {
	prefix, digits, ok := strings.Cut(text, "-")
	prefix = strings.ToUpper(prefix)
	if !ok || !validPrefix(prefix) || digits == "" || digits[0] < '1' || digits[0] > '9' {
		return taskRef{}, false
	}
	// ParseUint takes digits alone, no sign; 63 bits are what the column holds.
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return taskRef{}, false
	}
	return taskRef{prefix: prefix, number: int64(n)}, true
}

// maxPrefix is the length of the longest prefix.
const maxPrefix = 10

// validPrefix tells whether text, in upper case, is a prefix: a letter and one
// to nine letters or digits.
func validPrefix(text string) bool {
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

// derivePrefix makes a prefix of a project's name: the initials of its words, or
// the first letters of its only word.
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

// numberedPrefix is the nth choice (from 1) where the derived prefix is taken.
func numberedPrefix(base string, n int) string {
	if n == 1 {
		return base
	}
	digits := strconv.Itoa(n)
	return base[:min(len(base), maxPrefix-len(digits))] + digits
}
