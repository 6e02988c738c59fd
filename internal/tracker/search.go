package tracker

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// The search index stores terms. A term starts with its type (w for a word, t for a
// trigram) and a part of the tenant's id. The migration that creates the index documents
// the rules; searchWords and trigrams implement the same rules in Go.

// searchWords returns the words of a text in lower case: sequences of letters and digits.
// Outside ASCII, every character except punctuation counts as a letter.
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

// lowerASCII lower-cases the letters A to Z, as the SQL function lower does in a
// database with locale C.
func lowerASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}

// indexForms returns the forms in which the index can contain a word: in lower case
// and, if the database's locale lower-cases only ASCII, as typed or with a capital.
func indexForms(word string) []string {
	lower := strings.ToLower(word)
	first, size := utf8.DecodeRuneInString(lower)
	forms := []string{lower, lowerASCII(word), lowerASCII(string(unicode.ToUpper(first)) + lower[size:])}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// trigrams returns the distinct trigrams of the words, sorted. Each word is padded
// with two leading spaces and one trailing space.
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

// terms builds search queries (tsquery) for one tenant.
type terms struct{ scope string }

// newTerms returns a query builder whose terms contain the last 8 characters of the
// tenant's id.
func newTerms(tenant op.UUID) terms { return terms{scope: string(tenant[len(tenant)-8:])} }

// term returns a quoted term of a type. It needs no escaping: words and trigrams
// contain no quotes or backslashes.
func (t terms) term(kind, text string) string { return "'" + kind + t.scope + text + "'" }

// wordQuery returns a query for tasks with a word that starts with the given one, or equals
// it if whole is set. A word of three or more characters also matches anywhere in the
// title, by its trigrams.
func (t terms) wordQuery(word string, whole bool) string {
	if whole {
		return t.term("w", word)
	}
	prefix := t.term("w", word) + ":*"
	runes := []rune(word)
	if len(runes) < 3 {
		return prefix
	}
	var parts []string
	for i := range len(runes) - 2 {
		parts = append(parts, t.term("t", string(runes[i:i+3])))
	}
	return "(" + prefix + " | (" + strings.Join(parts, " & ") + "))"
}

// query returns the tsquery for a search text, or "" if the text contains no word to
// search for. All words must match; OR and a leading minus work as in a web search.
// Words in quotes match whole words only.
func (t terms) query(search string) string {
	var groups, all []string
	hasPositive := false
	flush := func() {
		if len(all) > 0 && hasPositive {
			groups = append(groups, "("+strings.Join(all, " & ")+")")
		}
		all, hasPositive = nil, false
	}
	for _, token := range searchTokens(search) {
		if token.text == "OR" && !token.quoted && !token.negated {
			flush()
			continue
		}
		var one []string
		for _, word := range splitWords(token.text) {
			var forms []string
			for _, form := range indexForms(word) {
				forms = append(forms, t.wordQuery(form, token.quoted || token.negated))
			}
			one = append(one, "("+strings.Join(forms, " | ")+")")
		}
		if len(one) == 0 {
			continue
		}
		condition := strings.Join(one, " & ")
		if token.negated {
			condition = "!(" + condition + ")"
		} else {
			hasPositive = true
		}
		all = append(all, condition)
	}
	flush()
	return strings.Join(groups, " | ")
}

// searchToken is a word or a quoted phrase of a search text.
type searchToken struct {
	text            string
	quoted, negated bool
}

// searchTokens splits a search text at spaces outside of quotes. An unclosed quote
// extends to the end.
func searchTokens(search string) []searchToken {
	var tokens []searchToken
	for rest := strings.TrimSpace(search); rest != ""; rest = strings.TrimSpace(rest) {
		var token searchToken
		if len(rest) > 1 && rest[0] == '-' && rest[1] != ' ' {
			token.negated, rest = true, rest[1:]
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

// addTaskSearch adds the condition that the task t matches the search text, or has it as its
// key. It searches a project, or the whole tenant if project is empty. A text without any
// word, such as "%", is searched for in the titles.
func addTaskSearch(st *postgres.Statement, tenantID op.UUID, tenant, project, search string) {
	query := newTerms(tenantID).query(search)
	if query == "" {
		st.Add(` AND t.title ILIKE `, st.Arg(containsPattern(search)))
		return
	}
	if project == "" {
		st.Add(` AND t.id IN (SELECT hit FROM projects.search_tenant_tasks(`, tenant, `, `, st.Arg(query), `::text::tsquery) hit`)
	} else {
		st.Add(` AND t.id IN (SELECT hit FROM projects.search_tasks(`, tenant, `, `, project, `, `, st.Arg(query), `::text::tsquery) hit`)
	}
	if ref, ok := parseTaskKey(search); ok {
		st.Add(` UNION ALL
SELECT k.id FROM projects.tasks k JOIN projects.projects kp ON kp.tenant_id = `, tenant, ` AND kp.id = k.project_id
WHERE k.tenant_id = `, tenant, ` AND k.number = `, st.Arg(ref.number), ` AND kp.prefix = `, st.Arg(ref.prefix))
		if project != "" {
			st.Add(` AND k.project_id = `, project)
		}
	}
	st.Add(`)`)
}

// containsPattern returns the ILIKE pattern for texts that contain part. Wildcards in
// part are escaped.
func containsPattern(part string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(part) + "%"
}
