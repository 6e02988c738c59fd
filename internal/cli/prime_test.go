package cli

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// tokens returns a conservative estimate of the number of tokens of a text. Tokenizers
// split a text into words with the preceding space, numbers of up to three digits and
// runs of punctuation, and then split long or rare words. The estimate counts one token
// per five letters of a word (a capital letter starts a new word), per punctuation mark,
// per non-ASCII character and per newline.
func tokens(text string) int {
	n := 0
	for _, word := range regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+|[0-9]{1,3}`).FindAllString(text, -1) {
		n += (len(word) + 4) / 5
	}
	blank := false
	for _, r := range text {
		switch {
		case r == ' ':
			// A single space belongs to the next word; a run of spaces is one more token.
			if blank {
				n++
				blank = false
				continue
			}
			blank = true
			continue
		case r == '\n', unicode.IsPunct(r), unicode.IsSymbol(r), r > unicode.MaxASCII:
			n++
		}
		blank = false
	}
	return n
}

func TestPrime_HasFewerThan800Tokens(t *testing.T) {
	t.Parallel()
	const limit = 800
	got := invoke(t, nil, environment{env: map[string]string{"PT_AUTH_TOKEN": ""}}, "prime")
	if got.code != ExitDone || got.err != "" {
		t.Fatalf("prime without a credential: got %+v, want exit %d and no error", got, ExitDone)
	}
	// A common rule of thumb for English is four characters per token.
	t.Logf("%d bytes, estimated %d tokens, %d tokens of four bytes", len(got.out), tokens(got.out), len(got.out)/4)
	if n := tokens(got.out); n >= limit {
		t.Errorf("got %d tokens, want fewer than %d", n, limit)
	}
}

func TestPrime_NamesExistingCommandsAndFlags(t *testing.T) {
	t.Parallel()
	n := 0
	for line := range strings.SplitSeq(primeText, "\n") {
		_, rest, found := strings.Cut(line, "  pt ")
		if !found {
			continue
		}
		n++
		command, _, _ := strings.Cut(rest, "   ")
		words := strings.Fields(command)
		cmd, _, err := testRoot().Find(words)
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		for _, w := range strings.Fields(rest) {
			name, isFlag := strings.CutPrefix(strings.Trim(w, ",.;"), "--")
			if isFlag && cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
				t.Errorf("%q: %s has no flag %s", line, cmd.CommandPath(), w)
			}
		}
	}
	if n < 10 {
		t.Fatalf("got %d commands, want at least 10", n)
	}
}
