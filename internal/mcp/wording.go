package mcp

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"parapet/internal/fault"
	"parapet/internal/op"
)

// wording rewrites texts about an operation for a tool: the names of operations become the
// names of their tools, and the names of input fields become the names of arguments.
type wording struct {
	// tools maps the names of all operations that are tools to the names of the tools.
	tools map[string]string
	// arguments maps the names of the operation's fields to the names of its arguments.
	arguments map[string]string
}

func newWording(o *op.Operation, tools map[string]string) wording {
	w := wording{tools: tools, arguments: map[string]string{}}
	for _, f := range o.Fields {
		w.arguments[f.Name] = f.Argument
	}
	return w
}

// toolNames maps the name of each operation to the name of its tool, for the operations that
// are exposed as tools.
func toolNames(operations []*op.Operation) map[string]string {
	names := map[string]string{}
	for _, o := range operations {
		if isExposed(o) {
			names[o.Name] = o.ToolName()
		}
	}
	return names
}

// words matches a quoted text or a word, which may contain hyphens.
var words = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*`)

// rewrite returns the text with the names of tools and arguments. It does not change quoted
// values, except for a quoted name of a field.
func (w wording) rewrite(text string) string {
	return words.ReplaceAllStringFunc(text, func(word string) string {
		if name, err := strconv.Unquote(word); err == nil {
			if argument, ok := w.arguments[name]; ok {
				return strconv.Quote(argument)
			}
			return word
		}
		if argument, ok := w.arguments[word]; ok {
			return argument
		}
		// The name of an operation without a hyphen is an ordinary word, such as me.
		if tool, ok := w.tools[word]; ok && strings.Contains(word, "-") {
			return tool
		}
		return word
	})
}

// rewriteSchema rewrites the descriptions in a schema.
func (w wording) rewriteSchema(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.Description = w.rewrite(s.Description)
	w.rewriteSchema(s.Items)
	for _, p := range s.Properties {
		w.rewriteSchema(p)
	}
}

// fieldNames matches the name of a field with the noun before it.
var fieldNames = regexp.MustCompile(`\b([Tt]he|Duplicate) (?:field|parameter) ("?)([A-Za-z]+)`)

// httpTerms replaces terms of the HTTP API in messages. A text about the body of a request is
// about the arguments; the text of a comment is called "the field body".
var httpTerms = strings.NewReplacer(
	"The body is ", "The arguments are ", "The body must ", "The arguments must ", "The body could ", "The arguments could ",
	"There is no such route.", "The server does not offer this tool.",
	"the header x-act-as-org", "the choice of another organisation (x-act-as-org)",
)

// rewriteError returns a copy of an error with the names of tools and arguments.
func (w wording) rewriteError(f *fault.Error) *fault.Error {
	c := *f
	c.Message = w.rewriteMessage(f.Message)
	if argument, ok := w.arguments[f.Field]; ok {
		c.Field = argument
	} else if f.Field == "body" {
		c.Field = ""
	}
	c.Reasons = nil
	for _, r := range f.Reasons {
		r.Message, r.Remedy = w.rewriteMessage(r.Message), w.rewriteMessage(r.Remedy)
		c.Reasons = append(c.Reasons, r)
	}
	return &c
}

// rewriteMessage rewrites a message of an error.
func (w wording) rewriteMessage(message string) string {
	return w.rewrite(fieldNames.ReplaceAllStringFunc(httpTerms.Replace(message), func(text string) string {
		m := fieldNames.FindStringSubmatch(text)
		if _, ok := w.arguments[m[3]]; !ok {
			return text
		}
		return m[1] + " argument " + m[2] + m[3]
	}))
}
