package tracker

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"parapet/internal/agentcmd"
	contract "parapet/internal/contract/tracker"
)

// The normal form of a repository path is its own normal form, except a remote of a
// host without a dot: that reads as a relative path.
func FuzzRepoPath(f *testing.F) {
	for _, seed := range []string{
		"/src/mono", "git@github.com:acme/monolith.git", "https://u:p@GitHub.com:8443/acme/./x.git?a#b", `C:\src\x`, "file:///src/../x", "ssh://h/%00", "/..", "a.b/c", "h:.git", "h.x:a.git.git", "h.x:a/.git", "h.x:a .git", "file:///a%20", "ssh://[::1]/a",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		normal, ok := normalRepo(text)
		if !ok {
			return
		}
		if len(normal) > maxRepoPath || !utf8.ValidString(normal) || hasControl(normal) {
			t.Fatalf("%q became %q", text, normal)
		}
		host, _, _ := strings.Cut(normal, "/")
		if strings.Contains(host, ":") {
			return // an IPv6 address
		}
		plain := host != "" && (strings.Trim(host, ".") == "" || !strings.Contains(host, "."))
		if again, ok := normalRepo(normal); again != normal && (ok || !plain) {
			t.Fatalf("%q became %q, and that %q (%t)", text, normal, again, ok)
		}
	})
}

// The kept form of a custom field's value is read as itself.
func FuzzFieldValue(f *testing.F) {
	for _, seed := range []string{"-12.50", "+0.0", "1e3", "0x10", "2027-03-31", "2027-03-31T17:00:00+14:00", "TRUE", " red ", "İ", "1_000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // no request with such a text is read
		}
		for _, kind := range []string{contract.FieldNumber, contract.FieldDate, contract.FieldBoolean, contract.FieldChoice, contract.FieldText} {
			row := &fieldRow{Type: kind, Options: []string{"red", "blue"}}
			value, problem := row.parseValue(text)
			if problem != "" {
				if value != "" {
					t.Fatalf("%s %q: %q beside %q", kind, text, value, problem)
				}
				continue
			}
			if again, problem := row.parseValue(value); problem != "" || again != value {
				t.Fatalf("%s %q became %q, and that %q (%s)", kind, text, value, again, problem)
			}
		}
	})
}

// What is typed to search becomes a text search query of quoted terms alone: no text
// can end a term or bring in an operator of its own.
func FuzzSearchQuery(f *testing.F) {
	for _, seed := range []string{"land on moon", `"whole word" -not OR x`, `it's \ :* & | ! ( )`, "APO-17", "\u212aelvin", "ſ İ", "OR -", `""`, "日本 語"} {
		f.Add(seed)
	}
	terms := termsOf("018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f")
	f.Fuzz(func(t *testing.T, typed string) {
		if !utf8.ValidString(typed) {
			return // no request with such a text is read
		}
		query := terms.query(typed)
		outside := true
		depth := 0
		for _, part := range strings.Split(query, "'") {
			if outside {
				if strings.Trim(part, " &|!():*") != "" {
					t.Fatalf("%q became %q: %q is outside of a term", typed, query, part)
				}
				depth += strings.Count(part, "(") - strings.Count(part, ")")
			} else if strings.ContainsAny(part, `\&|!():*`) {
				t.Fatalf("%q became %q: the term %q", typed, query, part)
			}
			outside = !outside
		}
		if outside || depth != 0 {
			t.Fatalf("%q became %q", typed, query)
		}
	})
}

// An outcome that is taken is one object with a known status. Every other leaves the
// run as it is. What the database cannot store counts as an error of the output too;
// TestACommandWithoutAnAnswerIsAskedAgain has such outcomes.
func FuzzOutcome(f *testing.F) {
	for _, seed := range []string{
		`{"status":"SUCCEEDED","summary":" Landed. ","notes":[1,"two",null]}`, `{"status":"FAILED"}`, `{}`, `[]`, `null`, `{"summary":"\u0000"}`, `{"a":"\ud800"}`,
		`{"a":1e400000}`, `{"a":1e-400000}`, "{\"a\":\"\xff\"}", `{"status":"DONE"}`, `{"a":1,"a":2}`, `{"Status":"FAILED"}`, `{"\u0000":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, output []byte) {
		r := runRow{Status: contract.RunRunning}
		if err := r.read(output); err != nil {
			if !errors.Is(err, agentcmd.ErrOutput) || r.Status != contract.RunRunning || r.Outcome != nil || r.Summary != nil {
				t.Fatalf("%q left %+v: %v", output, r, err)
			}
			return
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(r.Outcome, &object); err != nil || object == nil {
			t.Fatalf("%q was taken: %v", output, err)
		}
		if s := value(r.Summary); !utf8.ValidString(s) || utf8.RuneCountInString(s) > maxRunSummary {
			t.Fatalf("%q gave the summary %q", output, s)
		}
		if failed := r.Status == contract.RunFailed; !failed && r.Status != contract.RunSucceeded || failed != (r.Error != nil) {
			t.Fatalf("%q gave the status %q and the error %q", output, r.Status, value(r.Error))
		}
	})
}
