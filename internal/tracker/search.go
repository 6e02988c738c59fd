package tracker

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parapet/internal/op"
)

// The search index of tasks holds terms, each of which begins with its kind and
// a part of the tenant's id: what they are made of is written in the migration
// that makes the index, and searchWords and trigrams are the same rules in Go.

// searchWords gives the words of a text in lower case: runs of letters and
// digits. Beyond ASCII everything but punctuation counts as a letter.
func searchWords(text string) []string { return splitWords(strings.ToLower(text)) }

func splitWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		switch {
		case r < 0x80:
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
		default:
			return r < 0xc0 || (r >= 0x2000 && r <= 0x206f) || (r >= 0x3000 && r <= 0x303f)
		}
	})
}

// lowerASCII is what lower makes of a text in a database whose locale is C.
func lowerASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}

// keySpellings gives the forms in which a word can be in the index: in lower case,
// and where the database's locale knows the case of ASCII alone, as it was typed
// or with a capital.
func keySpellings(word string) []string {
	lower := strings.ToLower(word)
	first, size := utf8.DecodeRuneInString(lower)
	forms := []string{lower, lowerASCII(word), lowerASCII(string(unicode.ToUpper(first)) + lower[size:])}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// trigrams gives the trigrams of words, sorted and each once. A word has
// two spaces before and one behind it.
func trigrams(words []string) []string {
	var all []string
	for _, word := range words {
		padded := []rune("  " + word + " ")
		for i := range len(padded) - 2 {
			all = append(all, string(padded[i:i+3]))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// terms writes queries to the search index for one tenant.
type terms struct{ scope string }

// termsOf begins every term with the end of the tenant's id.
func termsOf(tenant op.UUID) terms { return terms{scope: string(tenant[len(tenant)-8:])} }

// term quotes a term of a kind. Words and trigrams hold neither a quote nor a
// backslash: both are punctuation.
func (t terms) term(kind, text string) string { return "'" + kind + t.scope + text + "'" }

// word matches what has a word that begins with the given one, or is it where
// whole is set; and, from three characters on, what has it anywhere in its title.
func (t terms) word(word string, whole bool) string {
	if whole {
		return t.term("w", word)
	}
	begins := t.term("w", word) + ":*"
	runes := []rune(word)
	if len(runes) < 3 {
		return begins
	}
	var parts []string
	for i := range len(runes) - 2 {
		parts = append(parts, t.term("t", string(runes[i:i+3])))
	}
	return "(" + begins + " | (" + strings.Join(parts, " & ") + "))"
}

// query is the tsquery for what a person typed, or empty where that holds no
// word to look for. All words count; OR between words and a minus before one mean
// what they mean in a web search; in quotes words stand for themselves and not
// for their beginnings.
func (t terms) query(typed string) string {
	var groups, all []string
	found := false
	flush := func() {
		if len(all) > 0 && found {
			groups = append(groups, "("+strings.Join(all, " & ")+")")
		}
		all, found = nil, false
	}
	for _, token := range searchTokens(typed) {
		if token.text == "OR" && !token.quoted && !token.not {
			flush()
			continue
		}
		var one []string
		for _, word := range splitWords(token.text) {
			var forms []string
			for _, form := range keySpellings(word) {
				forms = append(forms, t.word(form, token.quoted || token.not))
			}
			one = append(one, "("+strings.Join(forms, " | ")+")")
		}
		if len(one) == 0 {
			continue
		}
		condition := strings.Join(one, " & ")
		if token.not {
			condition = "!(" + condition + ")"
		} else {
			found = true
		}
		all = append(all, condition)
	}
	flush()
	return strings.Join(groups, " | ")
}

// searchToken is a word of a search as it was typed, or all within quotes.
type searchToken struct {
	text        string
	quoted, not bool
}

// searchTokens cuts a search at spaces outside of quotes. A quote that is not
// closed reaches to the end.
func searchTokens(typed string) []searchToken {
	var tokens []searchToken
	for rest := strings.TrimSpace(typed); rest != ""; rest = strings.TrimSpace(rest) {
		var token searchToken
		if len(rest) > 1 && rest[0] == '-' && rest[1] != ' ' {
			token.not, rest = true, rest[1:]
		}
		if strings.HasPrefix(rest, `"`) {
			token.quoted = true
			token.text, rest, _ = strings.Cut(rest[1:], `"`)
		} else if i := strings.IndexAny(rest, " \t\r\n"); i >= 0 {
			token.text, rest = rest[:i], rest[i:]
		} else {
			token.text, rest = rest, ""
		}
		tokens = append(tokens, token)
	}
	return tokens
}

// searchTasks adds the condition that the task t of the project answers to what
// was typed, or has it as its key. What holds no word at all, such as a lone %, is
// looked for in the titles, within the project.
func (s *statement) searchTasks(of op.UUID, tenant, project, typed string) {
	query := termsOf(of).query(typed)
	if query == "" {
		s.add(` AND t.title ILIKE `, s.arg(containsPattern(typed)))
		return
	}
	s.add(` AND t.id IN (SELECT hit FROM projects.search_tasks(`, tenant, `, `, project, `, `, s.arg(query), `::text::tsquery) hit`)
	if ref, ok := parseTaskKey(typed); ok {
		s.add(` UNION ALL
SELECT k.id FROM projects.tasks k JOIN projects.projects kp ON kp.tenant_id = `, tenant, ` AND kp.id = `, project, `
WHERE k.tenant_id = `, tenant, ` AND k.project_id = `, project, ` AND k.number = `, s.arg(ref.number), ` AND kp.prefix = `, s.arg(ref.prefix))
	}
	s.add(`)`)
}
