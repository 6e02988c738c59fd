package archtest

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"
)

// forbiddenInNames are words that no identifier contains, each with the term to use.
var forbiddenInNames = map[string]string{
	"lent": "delegated", "lend": "delegate", "lends": "delegates", "lender": "delegator", "lenders": "delegators", "lending": "delegating",
	"hearer": "listener", "hearers": "listeners", "hears": "handles", "heard": "received", "ear": "recorder", "ears": "recorders",
	"told": "notified", "tells": "notifies", "telling": "notifying", "elsewhere": "the other tenant",
	"laid": "planned", "chore": "maintenance", "chores": "maintenance", "whoever": "a noun", "whatever": "a noun", "whom": "a noun",
	"mere": "nothing", "said": "a noun", "asked": "requested", "refused": "rejected", "refuses": "rejects", "refusal": "error", "refusals": "errors", "behind": "after", "parted": "separated", "moments": "times", "ourselves": "a noun",
}

// forbiddenInText are phrases that no message, help text or comment contains, each with
// the words to use.
var forbiddenInText = map[string]string{
	"lent": "delegated", "lends": "delegates", "lender": "delegator", "lenders": "delegators",
	"hearer": "listener", "hearers": "listeners", "parted by": "separated by", "in force": "active", "is told": "is notified",
	"are told": "are notified", "was told": "was notified", "whoever": "the subject of the sentence", "at a moment": "at a time",
	"the moment of": "the time of", "is refused": "is rejected", "are refused": "are rejected", "was refused": "was rejected",
	"refusal": "error or denial", "refusals": "errors or denials", "a double": "a duplicate", "doubles": "duplicates",
	"chores": "maintenance", "may not be known": "is not visible to the caller", "stands in": "is in", "nobody's": "has no owner",
	"no step": "what it is instead", "to be had": "available",
}

// glossaryExceptions are the places where a forbidden word is the right one, by file
// (from the root) and word, with the reason.
var glossaryExceptions = map[[2]string]string{
	{"jobs/maintenance.go", "chores"}:              "the kind of a stored River job; queued jobs of earlier versions have it",
	{"internal/app/metrics.go", "refused"}:         "the metric parapet_pool_refused_total has this name",
	{"internal/client/outcome_test.go", "refused"}: "connection refused is the operating system's term",
	{"CONTRIBUTING.md", "lent"}:                    "the glossary names the word to replace",
	{"CONTRIBUTING.md", "lender"}:                  "the glossary names the word to replace",
	{"CONTRIBUTING.md", "in force"}:                "the glossary names the words to replace",
	{"CONTRIBUTING.md", "a double"}:                "the glossary names the words to replace",
	{"CONTRIBUTING.md", "parted by"}:               "the glossary names the words to replace",
	{"CONTRIBUTING.md", "may not be known"}:        "the glossary names the words to replace",
}

// TestGlossary_NamesUseTheFieldsTerms checks the words of every declared Go name.
func TestGlossary_NamesUseTheFieldsTerms(t *testing.T) {
	t.Parallel()
	r := repo(t)
	for _, p := range r.packages {
		for _, file := range p.files {
			for name, position := range declaredNames(file.tree) {
				for _, word := range wordsOf(name) {
					term, forbidden := forbiddenInNames[word]
					if !forbidden || excepted(file.path, word) {
						continue
					}
					t.Errorf("%s:%d: name %s contains %q; use %s", file.path, r.fset.Position(position).Line, name, word, term)
				}
			}
		}
	}
}

// TestGlossary_TextUsesTheFieldsTerms checks comments and messages in Go, Rego and
// policy data, and the documents.
func TestGlossary_TextUsesTheFieldsTerms(t *testing.T) {
	t.Parallel()
	r := repo(t)
	check := func(path string, line int, text string) {
		for _, phrase := range phrasesIn(text) {
			if !excepted(path, phrase) {
				t.Errorf("%s:%d: %q; use %q", path, line, phrase, forbiddenInText[phrase])
			}
		}
	}
	for _, p := range r.packages {
		for _, file := range p.files {
			if strings.HasSuffix(file.path, "archtest/glossary_test.go") {
				continue
			}
			for _, group := range file.tree.Comments {
				check(file.path, r.fset.Position(group.Pos()).Line, group.Text())
			}
			ast.Inspect(file.tree, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if ok && literal.Kind == token.STRING && !file.test {
					if text, err := strconv.Unquote(literal.Value); err == nil && !isSQL(text) {
						check(file.path, r.fset.Position(literal.Pos()).Line, text)
					}
				}
				return true
			})
		}
	}
	for _, path := range textFiles(t, r.root) {
		text, err := os.ReadFile(filepath.Join(r.root, path))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			check(path, i+1, line)
		}
	}
}

// TestGlossary_ExceptionsHaveReasonsAndAreNeeded keeps the list of exceptions short.
func TestGlossary_ExceptionsHaveReasonsAndAreNeeded(t *testing.T) {
	t.Parallel()
	root := repo(t).root
	for exception, reason := range glossaryExceptions {
		text, err := os.ReadFile(filepath.Join(root, exception[0]))
		if err != nil || !strings.Contains(strings.ToLower(string(text)), exception[1]) {
			t.Errorf("%s does not contain %q any more: remove the exception", exception[0], exception[1])
		}
		if len(reason) < 10 {
			t.Errorf("the exception %v has no reason", exception)
		}
	}
}

func excepted(path, word string) bool {
	_, ok := glossaryExceptions[[2]string{path, word}]
	return ok
}

// declaredNames returns the names that a file declares, with their positions.
func declaredNames(file *ast.File) map[string]token.Pos {
	names := map[string]token.Pos{}
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Obj != nil && id.Pos() == id.Obj.Pos() {
			names[id.Name] = id.Pos()
		}
		switch n := n.(type) {
		case *ast.FuncDecl:
			names[n.Name.Name] = n.Name.Pos()
		case *ast.Field:
			for _, id := range n.Names {
				names[id.Name] = id.Pos()
			}
		}
		return true
	})
	return names
}

// wordsOf splits a Go name into lower-case words: lastHTTPError is last, http, error.
func wordsOf(name string) []string {
	var words []string
	runes := []rune(name)
	start := 0
	for i := 1; i <= len(runes); i++ {
		ends := i == len(runes) || runes[i] == '_' || unicode.IsUpper(runes[i]) &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if ends {
			words = append(words, strings.ToLower(strings.Trim(string(runes[start:i]), "_")))
			start = i
		}
	}
	return words
}

var forbiddenPhrases = sync.OnceValue(func() *regexp.Regexp {
	var phrases []string
	for phrase := range forbiddenInText {
		phrases = append(phrases, strings.ReplaceAll(regexp.QuoteMeta(phrase), " ", `\s+`))
	}
	return regexp.MustCompile(`(?i)\b(` + strings.Join(phrases, "|") + `)\b`)
})

// phrasesIn returns the forbidden phrases in a text, in lower case.
func phrasesIn(text string) []string {
	var found []string
	for _, phrase := range forbiddenPhrases().FindAllString(text, -1) {
		found = append(found, strings.Join(strings.Fields(strings.ToLower(phrase)), " "))
	}
	return found
}

var sqlVerb = regexp.MustCompile(`\b(SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER|GRANT|FROM)\b`)

func isSQL(text string) bool { return sqlVerb.MatchString(text) }

// textFiles are the documents, the Rego files and the policy data, from the root.
func textFiles(t *testing.T, root string) []string {
	t.Helper()
	var paths []string
	for _, dir := range []string{"docs", "policies", "policytests/rego", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			switch filepath.Ext(path) {
			case ".md", ".rego", ".yaml", ".json":
				relative, err := filepath.Rel(root, path)
				paths = append(paths, filepath.ToSlash(relative))
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return paths
}
