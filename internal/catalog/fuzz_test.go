package catalog

import (
	"testing"
)

// FuzzParseEmbedding checks that an accepted embedding has a direction, so that its cosine
// similarity with itself is 1.
func FuzzParseEmbedding(f *testing.F) {
	for _, seed := range []string{"AACAPwAAAAA=", "AACAPwAAAAA", "AAAAAAAAAAA=", "AADAfwAAgD8=", "_-8", "", "AAA"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		vector, err := parseEmbedding(text)
		if err != nil {
			return
		}
		if c := cosine(vector, vector); len(vector) < 2 || len(vector) > maxDimension || c < 0.999 || c > 1.001 {
			t.Fatalf("%q: got %d numbers with the similarity %v to themselves", text, len(vector), c)
		}
	})
}
