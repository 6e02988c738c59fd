package cli

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// tokens estimates how many tokens a text costs a language model, rather too
// many than too few. Tokenizers cut a text into words with the space before
// them, numbers of up to three digits and runs of punctuation, then long or rare
// words into parts: here a word costs one token for every five letters that it
// has begun, a capital inside it begins another, and every sign of punctuation,
// every character beyond ASCII and every line end costs one.
func tokens(text string) int {
	n := 0
	for _, word := range regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+|[0-9]{1,3}`).FindAllString(text, -1) {
		n += (len(word) + 4) / 5
	}
	blank := false
	for _, r := range text {
		switch {
		case r == ' ':
			// One space belongs to the word after it; a run of them is one more.
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

func TestPrimeIsShort(t *testing.T) {
	t.Parallel()
	const most = 800
	got := invoke(t, nil, world{env: map[string]string{"PT_AUTH_TOKEN": ""}}, "prime")
	if got.code != ExitDone || got.err != "" {
		t.Fatalf("got %+v", got)
	}
	// Four characters a token is what English is usually reckoned at.
	t.Logf("%d bytes, %d tokens by the estimate, %d at four bytes each", len(got.out), tokens(got.out), len(got.out)/4)
	if n := tokens(got.out); n >= most {
		t.Errorf("%d tokens, want under %d", n, most)
	}
}

// What the primer names must be there.
func TestPrimeIsTrue(t *testing.T) {
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
		t.Fatalf("%d commands only", n)
	}
}
