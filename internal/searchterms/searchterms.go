// Package searchterms builds the queries of the modules' search indexes. An index stores the
// terms of each record. A term starts with its type (w for a word, t for a trigram) and a part
// of the tenant's id, so that a search reads only the entries of (almost) one tenant. The
// migrations that create the indexes document the rules; Words and Trigrams implement the same
// rules in Go.
package searchterms

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parapet/internal/op"
)

// Words returns the words of a text in lower case: sequences of letters and digits.
// Outside ASCII, every character except punctuation counts as a letter.
func Words(text string) []string { return splitWords(strings.ToLower(text)) }

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

// Trigrams returns the distinct trigrams of the words, sorted. Each word is padded
// with two leading spaces and one trailing space.
func Trigrams(words []string) []string {
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

// Terms builds search queries (tsquery) for one tenant.
type Terms struct{ scope string }

// New returns a query builder whose terms contain the last 8 characters of the
// tenant's id.
func New(tenant op.UUID) Terms { return Terms{scope: string(tenant[len(tenant)-8:])} }

// term returns a quoted term of a type. It needs no escaping: words and trigrams
// contain no quotes or backslashes.
func (t Terms) term(kind, text string) string { return "'" + kind + t.scope + text + "'" }

// wordQuery returns a query for tasks with a word that starts with the given one, or equals
// it if whole is set. A word of three or more characters also matches anywhere in the
// title, by its trigrams.
func (t Terms) wordQuery(word string, whole bool) string {
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

// Query returns the tsquery for a search text, or "" if the text contains no word to
// search for. All words must match; OR and a leading minus work as in a web search.
// Words in quotes match whole words only.
func (t Terms) Query(search string) string {
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

// HasOperators reports whether the search text contains OR, a leading minus or quotes.
func HasOperators(search string) bool {
	return slices.ContainsFunc(searchTokens(search), func(t searchToken) bool { return t.quoted || t.negated || t.text == "OR" })
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

// SimilarTitle returns a tsquery that matches all titles with at least the share part/whole of
// the trigrams of this one, and few others; empty for a title without words. If the share is
// 60 %, such a title has at least one of any 40 % of the trigrams plus one. The query uses the
// rarest such set. Titles are indexed with either of two lower-case conversions;
// see lowerASCII.
func (t Terms) SimilarTitle(title string, part, whole int) string {
	var parts []string
	for _, text := range []string{strings.ToLower(title), lowerASCII(title)} {
		set := Trigrams(splitWords(text))
		slices.SortStableFunc(set, func(a, b string) int { return cmp.Compare(trigramFrequency(a), trigramFrequency(b)) })
		needed := (len(set)*part + whole - 1) / whole
		for _, trigram := range set[:min(len(set), len(set)-needed+1)] {
			parts = append(parts, t.term("t", trigram))
		}
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), " | ")
}

// lettersByFrequency lists the space and the letters of English text, most common
// first. The order affects only the number of rows read, not the result.
const lettersByFrequency = " etaoinsrhldcumfpgwybvkxjqz"

// trigramFrequency returns a score that is higher the more common the characters of the
// trigram are.
func trigramFrequency(trigram string) int {
	sum := 0
	for _, r := range trigram {
		if i := strings.IndexRune(lettersByFrequency, r); i >= 0 {
			sum += len(lettersByFrequency) - i
		}
	}
	return sum
}
