package cli

import (
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"parapet/internal/op"
)

var pathParam = regexp.MustCompile(`\{[a-zA-Z.]+\}`)

// derivedGoldens returns a golden case for each command that has none: the command with the
// arguments of its derived example. The fake service sends the example of the response.
var derivedGoldens = sync.OnceValue(func() goldenGroup {
	g := goldenGroup{routes: map[string]reply{}}
	for _, o := range operationForms() {
		for _, path := range o.paths {
			if (o.find != nil && o.log == nil) || (o.example != "" && !strings.Contains(path, " ")) {
				continue // a case of its own
			}
			k, _ := newCall(&invocation{}, o.Operation, o.form, path)
			args := k.exampleArgs()
			body, err := o.ExampleOutput()
			if err != nil {
				panic(err)
			}
			if returnsNothing(o.Operation) {
				body = nil
			}
			w := environment{}
			for range k.secrets {
				w.stdin += "correct horse battery staple\n"
			}
			n := -1
			target := pathParam.ReplaceAllStringFunc(o.Path, func(param string) string {
				n++
				value := k.exampleValue(k.args[n].field)
				if strings.HasSuffix(param, "...}") {
					return value
				}
				return url.PathEscape(value)
			})
			g.routes[o.Method+" "+target] = reply{status: http.StatusOK, body: string(body)}
			g.cases = append(g.cases, goldenCase{strings.ReplaceAll(path, " ", "-"), append(strings.Fields(path), args...), w})
		}
	}
	return g
})

// TestOperations_EachHasCommand fails if a user of pt cannot call an operation, or cannot
// set one of its fields.
func TestOperations_EachHasCommand(t *testing.T) {
	t.Parallel()
	root := testRoot()
	for _, o := range operationForms() {
		if o.via != "" {
			if cmd, rest, err := root.Find(strings.Fields(o.via)); err != nil || len(rest) > 0 || cmd == root {
				t.Errorf("the operation %s is called by pt %s, which does not exist", o.Name, o.via)
			}
			continue
		}
		for _, path := range o.paths {
			cmd, rest, err := root.Find(strings.Fields(path))
			if err != nil || len(rest) > 0 || cmd == root {
				t.Errorf("the operation %s has no command pt %s", o.Name, path)
				continue
			}
			k, _ := newCall(&invocation{}, o.Operation, o.form, path)
			for _, f := range o.Fields {
				isArgument := slices.ContainsFunc(k.args, func(a *argument) bool { return a.field.Name == f.Name })
				hasCustom := slices.ContainsFunc(o.custom, func(c customFlag) bool { return c.field == f.Name && cmd.Flags().Lookup(c.name) != nil })
				name := k.flagName(f)
				hasFlag := name != "" && (isSecret(f) || cmd.Flags().Lookup(name) != nil)
				if isExcluded := pairs(o.flags)[f.Name] == "-"; !isArgument && !hasCustom && !hasFlag && !isExcluded {
					t.Errorf("pt %s has no argument and no flag for the field %s", path, f.Name)
				}
			}
			if key := cmd.Flags().Lookup("idempotency-key"); (key != nil) != (o.Effect.Changes() && !o.Secret) {
				t.Errorf("pt %s: exactly the repeatable changes must have --idempotency-key", path)
			}
			if all := cmd.Flags().Lookup("all"); (all != nil) != (cmd.Flags().Lookup("cursor") != nil) {
				t.Errorf("pt %s: a list must have both --all and --cursor", path)
			}
			if o.Effect == op.Destroy && cmd.Flags().Lookup("yes") == nil {
				t.Errorf("pt %s is destructive and has no --yes", path)
			}
		}
	}
	for _, global := range []string{"json", "jq", "fields", "org", "profile", "timeout"} {
		if root.PersistentFlags().Lookup(global) == nil {
			t.Errorf("global flag --%s is missing", global)
		}
	}
}

// TestForms_NameOperationsAndMembers fails if a form or a layout names something that the
// contract does not have.
func TestForms_NameOperationsAndMembers(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, o := range operations() {
		known[o.Name] = true
	}
	for _, s := range sections() {
		for name, f := range s.forms {
			if !known[name] {
				t.Errorf("the form %s names no operation", name)
				continue
			}
			o := operations()[slices.IndexFunc(operations(), func(o *op.Operation) bool { return o.Name == name })]
			for _, list := range []string{f.args, f.pathFlags, f.flags} {
				for field := range pairs(list) {
					if !slices.ContainsFunc(o.Fields, func(of op.Field) bool { return of.Name == field }) && f.log == nil {
						t.Errorf("the form %s names the field %s, which the operation does not have", name, field)
					}
				}
			}
		}
	}
	inheriting := map[reflect.Type][]reflect.Type{}
	for _, o := range operations() {
		if out := o.Out; out.NumField() > 0 && out.Field(0).Anonymous {
			inheriting[out.Field(0).Type] = append(inheriting[out.Field(0).Type], out)
		}
	}
	for typ, l := range layouts() {
		r := newRecord(reflect.New(typ).Elem())
		for _, t := range inheriting[typ] {
			r.members = appendMembers(r.members, reflect.New(t).Elem())
		}
		check := func(what, name string) {
			first, _, _ := strings.Cut(name, ".")
			if _, ok := r.member(first); !ok && r.values[first] == nil {
				t.Errorf("%s of %s name %q, which is not a member", what, typ, name)
			}
		}
		for word := range strings.FieldsSeq(l.columns) {
			name, _, _ := strings.Cut(strings.TrimSuffix(word, "?"), "=")
			check("columns", name)
		}
		for _, list := range []string{l.labels, l.omit, l.lines} {
			for name := range pairs(list) {
				check("labels, omit or lines", name)
			}
		}
		for _, part := range strings.Split(l.title, "{")[1:] {
			name, _, _ := strings.Cut(part, "}")
			check("title", name)
		}
	}
}

func TestRoot_WithoutCommandListsAllCommandsAndTopics(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"", "help", "nosuch"} {
		root := newRootCmd(&invocation{}, word)
		for _, path := range []string{"list-tasks", "users list", "auth login", "version", "environment"} {
			if cmd, rest, err := root.Find(strings.Fields(path)); err != nil || len(rest) > 0 || cmd == root {
				t.Errorf("the first word %q: pt %s is missing", word, path)
			}
		}
	}
	if n := len(newRootCmd(&invocation{}, "list-tasks").Commands()); n != 1 {
		t.Errorf("the first word list-tasks: got %d commands, want only this one, because building all takes time", n)
	}
}
