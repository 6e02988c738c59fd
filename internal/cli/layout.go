package cli

import (
	"reflect"
	"strings"
	"unicode"

	"parapet/internal/cli/markdown"
	"parapet/internal/op"
)

// layout is how pt shows the values of a type. The zero layout is complete: it shows all
// members in their order. A list of members is a text, separated by spaces.
type layout struct {
	// columns are the columns of a table, each as "member" or "member=Label". A nested member
	// is "gate.name"; an underscore in a label is a space. A column with the suffix "?" is
	// omitted if no row has a value. The default is defaultColumns.
	columns string
	// drop are the columns that a narrow terminal leaves out, after the ids, in this order.
	// After them, it leaves out the others from the right, except the first and the one that
	// is shortened.
	drop string
	// title is the heading of a page, with members in braces: "{key} {title}". The default is
	// the first member that titleMembers lists.
	title string
	// labels names members on a page, each as "member=Label".
	labels string
	// omit are the members that a page does not show. lines are lists that it shows with one
	// line for each item.
	omit, lines string
	// addresses shows people by their address instead of their name, because two people can
	// have the same name.
	addresses bool
	// values are the texts of members that need more than their value, and of columns
	// that are not members.
	values map[string]valueFunc
}

// valueFunc returns the text of a value of the layout's type, or of a type that embeds it.
// The document formats times.
type valueFunc func(d *markdown.Doc, v reflect.Value) string

// value returns a valueFunc for a type.
func value[T any](f func(*T) string) valueFunc {
	return timed(func(_ *markdown.Doc, v *T) string { return f(v) })
}

// timed returns a valueFunc for a type whose text has a time.
func timed[T any](f func(*markdown.Doc, *T) string) valueFunc {
	return func(d *markdown.Doc, v reflect.Value) string {
		if typed, ok := partOf[T](v); ok {
			return f(d, typed)
		}
		return ""
	}
}

// partOf returns v, or the part of v of the given type that v embeds.
func partOf[T any](v reflect.Value) (*T, bool) {
	if typed, ok := v.Addr().Interface().(*T); ok {
		return typed, true
	}
	for i := range v.NumField() {
		if v.Type().Field(i).Anonymous {
			if typed, ok := partOf[T](v.Field(i)); ok {
				return typed, true
			}
		}
	}
	return nil, false
}

// layoutOf returns the layout of a type, or of the type that it embeds.
func layoutOf(t reflect.Type) layout {
	if l, ok := layouts()[t]; ok {
		return l
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && f.Type.Kind() == reflect.Struct {
			return layoutOf(f.Type)
		}
	}
	return layout{}
}

// member is a JSON member of a record, with its value.
type member struct {
	name string
	v    reflect.Value
}

// record is a value of a struct type with its layout.
type record struct {
	layout
	v       reflect.Value
	members []member
}

// newRecord returns the record of an addressable struct value.
func newRecord(v reflect.Value) record {
	return record{layoutOf(v.Type()), v, appendMembers(nil, v)}
}

// appendMembers appends the members of a struct, including those of structs that it embeds.
func appendMembers(all []member, v reflect.Value) []member {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			all = appendMembers(all, v.Field(i))
		case f.IsExported() && name != "-" && name != "":
			all = append(all, member{name, v.Field(i)})
		}
	}
	return all
}

// member returns the value of a member. ok is false if there is no such member.
func (r record) member(name string) (v reflect.Value, ok bool) {
	for _, m := range r.members {
		if m.name == name {
			return m.v, true
		}
	}
	return reflect.Value{}, false
}

// reference returns the reference next to an id, or nil. hasReference reports whether the
// type has one.
func (r record) reference(id string) (reference *op.Reference, hasReference bool) {
	name := op.ReferenceName(id)
	if name == "" {
		return nil, false
	}
	v, ok := r.member(name)
	if !ok {
		return nil, false
	}
	reference, hasReference = v.Interface().(*op.Reference)
	return reference, hasReference
}

// memberLabels are the labels of members that labelOf does not derive.
var memberLabels = map[string]string{
	"id": "ID", "jti": "JTI", "dueDate": "Due", "startDate": "Start", "endDate": "End", "issueType": "Type", "estimatePoints": "Estimate",
	"displayName": "Name", "email": "Address", "emailVerified": "Address verified", "principalKind": "Kind", "expiry": "Expires", "expiresAt": "Expires", "body": "Comment",
	"isCrossProject": "Other project", "sessionId": "Session", "requestId": "Request", "parentTaskId": "Parent", "blockedBy": "Waits for",
}

// labelOf returns the label of a member: "Story point scale" for storyPointScale. A time
// loses its suffix: "Created" for createdAt.
func labelOf(name string) string {
	if label := memberLabels[name]; label != "" {
		return label
	}
	name = strings.TrimSuffix(name, "At")
	var b strings.Builder
	for i, r := range name {
		switch {
		case i == 0:
			b.WriteRune(unicode.ToUpper(r))
		case unicode.IsUpper(r):
			b.WriteString(" " + string(unicode.ToLower(r)))
		default:
			b.WriteRune(r)
		}
	}
	label := b.String()
	if rest, isID := strings.CutSuffix(label, " id"); isID {
		label = rest + " ID"
	}
	return label
}

// label returns the label of a member. An id that is shown by its name loses its suffix:
// "Project" for projectId.
func (r record) label(name string) string {
	if label := pairs(r.labels)[name]; label != "" {
		return strings.ReplaceAll(label, "_", " ")
	}
	if _, hasReference := r.reference(name); hasReference && memberLabels[name] == "" {
		name = strings.TrimSuffix(name, "Id")
	}
	return labelOf(name)
}

// titleMembers are the members that name a record, in order of preference.
var titleMembers = []string{"title", "name", "displayName", "label", "email"}

// titleText returns the heading of a record: its key or prefix and its name, or the kind of
// record. used has the members that the heading shows.
func (r record) titleText(d *markdown.Doc) (text string, used map[string]bool) {
	used = map[string]bool{}
	pattern := r.title
	if pattern == "" {
		for _, name := range titleMembers {
			if _, ok := r.member(name); ok {
				pattern = "{" + name + "}"
				break
			}
		}
	}
	var b strings.Builder
	for pattern != "" {
		before, rest, found := strings.Cut(pattern, "{")
		b.WriteString(before)
		if !found {
			break
		}
		name, after, _ := strings.Cut(rest, "}")
		b.WriteString(r.text(d, name, false))
		used[name] = true
		pattern = after
	}
	if text = strings.TrimSpace(b.String()); text == "" {
		return labelOf(strings.TrimSuffix(strings.TrimSuffix(r.v.Type().Name(), "Summary"), "Out")), used
	}
	return text, used
}

// nameOf returns the name of a record for a question: "APOLLO-17 Write the plan" for a task,
// "Lunar lander (LUNA)" for a project.
func nameOf(v reflect.Value) string {
	r, d := newRecord(v), markdown.New(markdown.Style{})
	if _, isProject := r.member("prefix"); isProject {
		return r.text(d, "name", false) + " (" + r.text(d, "prefix", false) + ")"
	}
	text, _ := r.titleText(d)
	return text
}
