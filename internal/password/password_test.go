package password

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func newHasher(tb testing.TB, concurrent int) *Hasher {
	tb.Helper()
	h, err := New(Params{}, concurrent)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

func TestVerify_AcceptsOnlyTheHashedPassword(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	h := newHasher(t, 2)
	stored, err := h.Hash(ctx, "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(stored, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("got hash %q, want argon2id with the minimum parameters", stored)
	}
	again, err := h.Hash(ctx, "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	if stored == again {
		t.Error("two hashes of one password are equal, want random salts")
	}
	for _, c := range []struct {
		name, stored, password string
		want                   bool
	}{
		{"right", stored, "correct horse battery", true},
		{"wrong", stored, "correct horse batterz", false},
		{"empty password", stored, "", false},
		{"no hash", "", "correct horse battery", false},
		{"no hash, empty password", "", "", false},
		{"plain text stored", "correct horse battery", "correct horse battery", false},
	} {
		got, err := h.Verify(ctx, c.stored, c.password)
		if err != nil || got != c.want {
			t.Errorf("%s: got %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

func TestVerify_NormalizesUnicode(t *testing.T) {
	t.Parallel()
	h := newHasher(t, 1)
	stored, err := h.Hash(t.Context(), "caf\u00e9 au lait pour deux")
	if err != nil {
		t.Fatal(err)
	}
	if ok, _ := h.Verify(t.Context(), stored, "cafe\u0301 au lait pour deux"); !ok {
		t.Error("Verify: got false for the decomposed form of the same password")
	}
}

func TestNew_RaisesParametersToMinimum(t *testing.T) {
	t.Parallel()
	h, err := New(Params{MemoryKiB: 8, Passes: 1, Lanes: 0}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if h.params != MinParams() {
		t.Errorf("got params %+v, want MinParams()", h.params)
	}
	weak := hash{params: Params{MemoryKiB: 8, Passes: 1, Lanes: 1}, salt: make([]byte, 16), key: make([]byte, 32)}
	if _, err := parse(weak.String()); err == nil {
		t.Error("parse: accepted a hash with parameters below the minimum")
	}
}

func TestHash_StopsWaitingWhenContextEnds(t *testing.T) {
	t.Parallel()
	h := newHasher(t, 1)
	if err := h.slots.Acquire(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := h.Hash(ctx, "correct horse battery"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v, want context.DeadlineExceeded", err)
	}
}

func TestCheck_RejectsShortOrGuessablePasswords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		password string
		want     error
	}{
		{"correct horse battery", nil},
		{"zażółć gęślą", nil},
		{"short", ErrLength},
		{strings.Repeat("x", MaxLength+1), ErrLength},
		{"aaaaaaaaaaaaaa", ErrGuessable},
		{"abababababababab", ErrGuessable},
		{"First.Last2026!", ErrGuessable},
		{"first.last@acme.example", ErrGuessable},
		{"correct horse\x00battery", ErrCharacters},
		{"correct horse\xff battery", ErrCharacters},
	} {
		if err := Check(c.password, "first.last@acme.example"); !errors.Is(err, c.want) {
			t.Errorf("Check(%q) = %v, want %v", c.password, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Add("$argon2id$v=19$m=+19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA")
	f.Add("$argon2i$v=19$m=4294967295,t=0,p=255$$")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := parse(text)
		if err != nil {
			return
		}
		if h.String() != text {
			t.Errorf("parse(%q).String() = %q, want the same text", text, h.String())
		}
		if h.params.MemoryKiB > maxMemoryKiB || h.params.Passes > maxPasses || h.params.Lanes > maxLanes || h.params.Lanes == 0 {
			t.Errorf("parse(%q): accepted parameters %+v above the limits", text, h.params)
		}
	})
}
