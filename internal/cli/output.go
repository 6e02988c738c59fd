package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/itchyny/gojq"

	"parapet/internal/cli/markdown"
	"parapet/internal/cli/text"
)

// schemaVersion is the version of the JSON document that --json prints.
const schemaVersion = 1

// document is the output with --json. NextCursor is nil on the last page.
type document struct {
	SchemaVersion int     `json:"schemaVersion"`
	Data          any     `json:"data"`
	NextCursor    *string `json:"nextCursor"`
}

// view is an output that can be printed as JSON and as Markdown.
type view struct {
	data any
	// next is the cursor of the next page of a list, or "".
	next     string
	markdown func(*markdown.Doc)
}

func (inv *invocation) wantsJSON() bool {
	return inv.flags.json || inv.flags.jq != "" || len(inv.flags.fields) > 0
}

// show prints a view in the format that the flags select.
func (inv *invocation) show(ctx context.Context, v view) error {
	if !inv.wantsJSON() {
		d := markdown.New(inv.style())
		v.markdown(d)
		return inv.print(ctx, d.String())
	}
	doc := document{SchemaVersion: schemaVersion, Data: v.data}
	if v.next != "" {
		doc.NextCursor = &v.next
	}
	encoded, err := json.Marshal(doc, json.Deterministic(true))
	if err != nil {
		return err
	}
	if len(inv.flags.fields) > 0 {
		if encoded, err = selectFields(encoded, inv.flags.fields); err != nil {
			return err
		}
	}
	return inv.printJSON(ctx, encoded)
}

// printJSON prints JSON, filtered with --jq if it is set.
func (inv *invocation) printJSON(ctx context.Context, doc []byte) error {
	if inv.flags.jq != "" {
		return inv.printQuery(ctx, doc)
	}
	value := jsontext.Value(doc)
	if inv.OutTerminal {
		if err := value.Indent(jsontext.WithIndent("  ")); err != nil {
			return err
		}
	}
	return inv.print(ctx, string(text.JSON(value))+"\n")
}

// selectFields reduces the data of a document, or each of its items, to the named
// fields.
func selectFields(doc []byte, names []string) ([]byte, error) {
	var d struct {
		SchemaVersion int            `json:"schemaVersion"`
		Data          jsontext.Value `json:"data"`
		NextCursor    *string        `json:"nextCursor"`
	}
	if err := json.Unmarshal(doc, &d); err != nil {
		return nil, err
	}
	var data any
	if d.Data.Kind() == '[' {
		var items []map[string]jsontext.Value
		if err := json.Unmarshal(d.Data, &items); err != nil {
			return nil, err
		}
		selected := make([]jsontext.Value, 0, len(items))
		for _, item := range items {
			s, err := selectMembers(item, names)
			if err != nil {
				return nil, err
			}
			selected = append(selected, s)
		}
		data = selected
	} else {
		var item map[string]jsontext.Value
		if err := json.Unmarshal(d.Data, &item); err != nil {
			return nil, err
		}
		selected, err := selectMembers(item, names)
		if err != nil {
			return nil, err
		}
		data = selected
	}
	return json.Marshal(document{d.SchemaVersion, data, d.NextCursor})
}

// selectMembers returns a JSON object with the named members, in the order of the names.
// A member that the item lacks is null.
func selectMembers(item map[string]jsontext.Value, names []string) (jsontext.Value, error) {
	var b strings.Builder
	enc := jsontext.NewEncoder(&b)
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return nil, err
	}
	for _, name := range names {
		value, ok := item[name]
		if !ok {
			value = jsontext.Value("null")
		}
		if err := errors.Join(enc.WriteToken(jsontext.String(name)), enc.WriteValue(value)); err != nil {
			return nil, err
		}
	}
	if err := enc.WriteToken(jsontext.EndObject); err != nil {
		return nil, err
	}
	return jsontext.Value(strings.TrimSpace(b.String())), nil
}

// checkOutput validates --jq and --fields before the first request. data is the type of
// the output.
func (inv *invocation) checkOutput(data reflect.Type) error {
	if inv.flags.time != timeRelative && inv.flags.time != timeAbsolute {
		return usagef("--time %q must be relative or absolute", inv.flags.time)
	}
	if inv.flags.jq != "" {
		if _, err := parseQuery(inv.flags.jq); err != nil {
			return err
		}
	}
	if len(inv.flags.fields) == 0 {
		return nil
	}
	var known []string
	if data != nil {
		known = jsonNames(data)
	}
	if known == nil {
		return usagef("this command does not support --fields")
	}
	seen := map[string]bool{}
	for _, name := range inv.flags.fields {
		if !slices.Contains(known, name) {
			return usagef("unknown field %q in --fields; allowed: %s", name, strings.Join(known, ", "))
		}
		if seen[name] {
			return usagef("duplicate field %q in --fields", name)
		}
		seen[name] = true
	}
	return nil
}

// jsonNames returns the names of the JSON members of a struct type, or of the items of a
// slice type.
func jsonNames(t reflect.Type) []string {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			names = append(names, jsonNames(f.Type)...)
		case f.IsExported() && name != "-":
			names = append(names, name)
		}
	}
	return names
}

func parseQuery(expression string) (*gojq.Code, error) {
	query, err := gojq.Parse(expression)
	if err != nil {
		return nil, usagef("--jq: %w", err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, usagef("--jq: %w", err)
	}
	return code, nil
}

// printQuery prints the results of the --jq expression, one per line: strings unquoted,
// other values as JSON.
func (inv *invocation) printQuery(ctx context.Context, doc []byte) error {
	code, err := parseQuery(inv.flags.jq)
	if err != nil {
		return err
	}
	var input any
	if err := json.Unmarshal(doc, &input); err != nil {
		return err
	}
	results := code.RunWithContext(ctx, input)
	for {
		value, ok := results.Next()
		if !ok {
			return nil
		}
		var line string
		switch v := value.(type) {
		case error:
			var halt *gojq.HaltError
			if errors.As(v, &halt) && halt.Value() == nil {
				return nil
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("--jq: %w", v)
		case string:
			line = v
			if inv.OutTerminal {
				line = text.Block(v)
			}
		default:
			encoded, err := gojq.Marshal(v)
			if err != nil {
				return err
			}
			line = string(text.JSON(encoded))
		}
		if _, err := fmt.Fprintln(inv.Out, line); err != nil {
			return err
		}
	}
}

// formatTime formats a time in UTC, with a precision of one second.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
