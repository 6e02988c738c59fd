package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// schemaVersion is the version of the form that --json prints.
const schemaVersion = 1

// document is what --json prints. nextCursor is null where nothing follows.
type document struct {
	SchemaVersion int     `json:"schemaVersion"`
	Data          any     `json:"data"`
	NextCursor    *string `json:"nextCursor"`
}

// view is an answer that can be shown both ways.
type view struct {
	data any
	// next is the cursor of what follows, in a list.
	next     string
	markdown func(*markdown.Doc)
}

func (inv *invocation) wantsJSON() bool {
	return inv.flags.json || inv.flags.jq != "" || len(inv.flags.fields) > 0
}

// show prints an answer in the form that the flags ask for.
func (inv *invocation) show(ctx context.Context, v view) error {
	if !inv.wantsJSON() {
		d := markdown.New(inv.style())
		v.markdown(d)
		_, err := io.WriteString(inv.Out, d.String())
		return err
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
		if encoded, err = pick(encoded, inv.flags.fields); err != nil {
			return err
		}
	}
	return inv.printJSON(ctx, encoded)
}

// printJSON prints JSON, through --jq where one was given.
func (inv *invocation) printJSON(ctx context.Context, doc []byte) error {
	if inv.flags.jq != "" {
		return inv.query(ctx, doc)
	}
	value := jsontext.Value(doc)
	if inv.OutTerminal {
		if err := value.Indent(jsontext.WithIndent("  ")); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(inv.Out, "%s\n", text.JSON(value))
	return err
}

// style is how Markdown is laid out: rendered on a terminal alone.
func (inv *invocation) style() markdown.Style {
	forced := inv.Getenv("CLICOLOR_FORCE") != "" && inv.Getenv("CLICOLOR_FORCE") != "0"
	s := markdown.Style{Rendered: inv.OutTerminal || forced, Width: inv.Width}
	s.Color = s.Rendered && (forced || (inv.Getenv("NO_COLOR") == "" && inv.Getenv("TERM") != "dumb"))
	return s
}

// pick keeps the named members of the data, or of each item of it.
func pick(doc []byte, names []string) ([]byte, error) {
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
		kept := make([]jsontext.Value, 0, len(items))
		for _, item := range items {
			k, err := keep(item, names)
			if err != nil {
				return nil, err
			}
			kept = append(kept, k)
		}
		data = kept
	} else {
		var item map[string]jsontext.Value
		if err := json.Unmarshal(d.Data, &item); err != nil {
			return nil, err
		}
		k, err := keep(item, names)
		if err != nil {
			return nil, err
		}
		data = k
	}
	return json.Marshal(document{d.SchemaVersion, data, d.NextCursor})
}

// keep writes the named members in the order of the names; one that the item
// lacks is null, so that every item has the same members.
func keep(item map[string]jsontext.Value, names []string) (jsontext.Value, error) {
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

// checkOutput refuses a --jq that does not parse and a --fields that the answer
// does not have before anything is asked of the service.
func (inv *invocation) checkOutput(data reflect.Type) error {
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
		known = members(data)
	}
	if known == nil {
		return usagef("--fields does not apply here")
	}
	seen := map[string]bool{}
	for _, name := range inv.flags.fields {
		if !slices.Contains(known, name) {
			return usagef("there is no field %q; known: %s", name, strings.Join(known, ", "))
		}
		if seen[name] {
			return usagef("the field %q is named twice", name)
		}
		seen[name] = true
	}
	return nil
}

// members gives the names of the JSON members of a type, or of its items.
func members(t reflect.Type) []string {
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
			names = append(names, members(f.Type)...)
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

// query prints what the --jq expression gives: texts as they are, the rest as
// JSON, one a line.
func (inv *invocation) query(ctx context.Context, doc []byte) error {
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

// formatTime shows a time to the second, in UTC.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func optionalTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return formatTime(*t)
}
