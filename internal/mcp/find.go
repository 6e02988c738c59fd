package mcp

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"parapet/internal/fault"
	"parapet/internal/op"
)

// findHint returns the hint for an error about a record that does not exist, is not visible
// to the caller or is not given: it names the tool that finds the record. arguments are
// those of the call. The hint is empty if the error is of another kind or if no tool finds
// such a record. It names tools that the client can see, or else a tool with its toolset.
func (t *tool) findHint(f *fault.Error, arguments json.RawMessage, visible func(*tool) bool) string {
	if f.Code != fault.CodeNotFound && f.Code != fault.CodeValidation {
		return ""
	}
	field, noun := t.missingRecord(f)
	if noun == "" {
		return ""
	}
	finders := t.finders(noun)
	if finders == nil && field.Name != "" {
		noun = fieldNoun(field) // an "agent run" is a run
		finders = t.finders(noun)
	}
	if finders == nil {
		return ""
	}
	problem := "the " + noun + " is unknown"
	if field.Name != "" {
		problem = fmt.Sprintf("correct the argument %s", field.Argument)
		if value := t.recordText(field, noun, arguments); value != "" && f.Code == fault.CodeNotFound {
			problem = value + " does not exist or is not visible to you"
		}
	}
	var ways []string
	for _, finder := range finders {
		if visible(finder) {
			ways = append(ways, finder.findText(noun))
		}
	}
	if ways == nil {
		ways = []string{finders[0].findText(noun) + fmt.Sprintf(" (enable its toolset %s)", finders[0].toolset)}
	}
	return problem + "; " + strings.Join(ways, "; ")
}

// findText says what a tool that finds records does.
func (t *tool) findText(noun string) string {
	verb, _, _ := strings.Cut(t.definition.Name, "_")
	switch verb {
	case "list":
		return fmt.Sprintf("%s lists %s", t.definition.Name, op.Plural(noun))
	case "get":
		return fmt.Sprintf("%s shows %s", t.definition.Name, op.Plural(noun))
	default:
		return fmt.Sprintf("%s finds the %s", t.definition.Name, noun)
	}
}

// missingRecord returns the field of the operation and the noun for the record that an error
// is about. The field is empty if it is unknown which one it is. The noun is empty if the
// error is not about a record.
func (t *tool) missingRecord(f *fault.Error) (op.Field, string) {
	_, noun, isMissing := strings.Cut(strings.TrimSuffix(f.Message, "."), "There is no such ")
	noun, _, _ = strings.Cut(noun, " \"") // a message may quote the name of the record
	switch noun {
	case "user":
		noun = string(op.KindPerson)
	case "epic":
		noun = string(op.KindTask)
	}
	for _, field := range t.op.Fields {
		own := fieldNoun(field)
		switch {
		case f.Code == fault.CodeValidation && f.Field == field.Argument && isMissing:
			return field, noun // the message is more exact: dependsOn identifies a task
		case f.Code == fault.CodeValidation && f.Field == field.Argument:
			return field, own
		case f.Code == fault.CodeNotFound && isMissing && (noun == own || strings.HasSuffix(noun, " "+own)):
			return field, noun
		}
	}
	if f.Code == fault.CodeNotFound && isMissing {
		return op.Field{}, noun
	}
	return op.Field{}, ""
}

// fieldNoun returns the noun for the record that a field identifies: "time entry" for
// timeEntryId. Fields that identify no record have a noun too, but no tool finds it.
func fieldNoun(f op.Field) string {
	switch f.Argument {
	case "field":
		return "custom field"
	case "binding":
		return "repository path"
	case "dependsOn":
		return string(op.KindTask)
	case "roles", "permissions":
		return strings.TrimSuffix(f.Argument, "s")
	case "failedCriteria":
		return "criterion"
	case "serviceUser":
		return "service principal"
	}
	if kind := op.KindOf(f.Name); kind != "" {
		return string(kind)
	}
	var noun strings.Builder
	for _, r := range f.Argument {
		if unicode.IsUpper(r) {
			noun.WriteByte(' ')
		}
		noun.WriteRune(unicode.ToLower(r))
	}
	return noun.String()
}

// parentFinder returns the words of the tool that shows records which have no list of their
// own, or "".
func parentFinder(noun string) string {
	switch noun {
	case "gate":
		return "list stages"
	case "grant":
		return "get role"
	case "repository path":
		return "get project"
	case "service principal":
		return "list users"
	default:
		return ""
	}
}

// finders returns the other tools that find records, by the names of the operations: for a
// project, find-project and list-projects.
func (t *tool) finders(noun string) []*tool {
	var found []*tool
	for _, name := range []string{"find " + noun, "list " + op.Plural(noun), parentFinder(noun)} {
		if other := t.all[strings.ReplaceAll(name, " ", "_")]; other != nil && other != t {
			found = append(found, other)
		}
	}
	return found
}

// recordText returns the noun and the value that a call gives for the record of a field, or
// "". A call without a project gives the key of one of its tasks.
func (t *tool) recordText(f op.Field, noun string, arguments json.RawMessage) string {
	if value := t.argumentText(f, arguments); value != "" {
		return noun + " " + strconv.Quote(truncate(value, 100))
	}
	if f.Argument != "project" || !t.op.DerivesProject() {
		return ""
	}
	for _, task := range t.op.Fields {
		if value := t.argumentText(task, arguments); task.Argument == "task" && value != "" {
			return fmt.Sprintf("the %s of the task %s", noun, strconv.Quote(truncate(value, 100)))
		}
	}
	return ""
}

// argumentText returns the text that a call gives for a field, or "".
func (t *tool) argumentText(f op.Field, arguments json.RawMessage) string {
	members := objectMembers(arguments)
	for _, name := range []string{f.Argument, f.Name} {
		var text string
		if json.Unmarshal(members[name], &text) == nil {
			return text
		}
	}
	return ""
}
