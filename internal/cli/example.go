package cli

import (
	"fmt"
	"net/http"
	"strings"

	"parapet/internal/op"
)

// exampleNames are what examples write for a record of a kind.
var exampleNames = map[op.Kind]string{
	op.KindPerson: "lin@acme.example", op.KindProject: "APOLLO", op.KindTask: "APOLLO-17", op.KindIssue: "ISS-4", op.KindInitiative: "Moon 2030",
	op.KindStage: "Design", op.KindDeliverable: "Flight plan", op.KindRole: "Member", op.KindOrganisation: "Acme", op.KindTenant: "acme",
}

// exampleArgs returns the arguments and flags of an example: all that are required, and
// for an update one field.
func (k *call) exampleArgs() []string {
	var words []string
	for _, a := range k.args {
		words = append(words, k.exampleValue(a.field))
	}
	isUpdate := false
	for _, f := range k.op.Fields {
		name := k.flagName(f)
		if name == "" || isSecret(f) {
			continue
		}
		isOnly := k.op.Method == http.MethodPatch && f.Source == op.FromBody && !isUpdate && !f.Required
		if f.Required || isOnly {
			words = append(words, "--"+name, k.exampleValue(f))
			isUpdate = isUpdate || isOnly
		}
	}
	if k.op.Effect == op.Destroy {
		words = append(words, "--yes")
	}
	return words
}

func (k *call) exampleValue(f op.Field) string {
	if name := exampleNames[op.KindOf(f.Name)]; name != "" && f.Kind != "" {
		return name
	}
	switch v := k.op.Example(f).(type) {
	case []any:
		return fmt.Sprint(v[0])
	default:
		return fmt.Sprint(v)
	}
}

// quoteArgs quotes words with spaces for a shell.
func quoteArgs(words []string) []string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if strings.ContainsAny(w, " ;&|<>()$`'") {
			w = `"` + w + `"`
		}
		quoted[i] = w
	}
	return quoted
}
