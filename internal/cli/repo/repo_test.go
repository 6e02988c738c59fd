package repo

import (
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const config = `[core]
	bare = false
[remote "fork"]
	url = https://example.org/fork.git
[remote "origin"]
	; where it is from
	url = https://user:secret@Example.org/acme/apollo.git?x=1#y ; and more
	url = https://example.org/second.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
	remote = origin
	url = nothing
`

func TestFind_ReturnsLocationOfRepository(t *testing.T) {
	t.Parallel()
	dir := Absolute(t.TempDir())
	main := filepath.Join(dir, "main")
	write(t, filepath.Join(main, ".git", "HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(main, ".git", "config"), config)
	write(t, filepath.Join(main, "sub", "deep", "file"), "")
	write(t, filepath.Join(main, ".git", "worktrees", "linked", "commondir"), "../..\n")
	linked := filepath.Join(dir, "linked")
	write(t, filepath.Join(linked, ".git"), "gitdir: "+filepath.Join(main, ".git", "worktrees", "linked")+"\n")
	broken := filepath.Join(dir, "broken")
	write(t, filepath.Join(broken, ".git"), "nothing\n")
	if err := os.Symlink(filepath.Join(main, "sub"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	const origin = "https://example.org/acme/apollo.git"
	for name, want := range map[string]Location{
		main:                               {main, main, origin},
		filepath.Join(main, "sub", "deep"): {filepath.Join(main, "sub", "deep"), main, origin},
		filepath.Join(dir, "link"):         {filepath.Join(main, "sub"), main, origin},
		linked:                             {linked, linked, origin},
		broken:                             {Dir: broken},
		"":                                 {},
	} {
		if got := Find(name); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

func TestLocationAddress_AppendsSubdirectory(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]Location{
		"https://example.org/a/b.git":      {"/src/b", "/src/b", "https://example.org/a/b.git"},
		"https://example.org/a/b/sub/deep": {"/src/b/sub/deep", "/src/b", "https://example.org/a/b.git"},
		"git@example.org:a/b/sub":          {"/src/b/sub", "/src/b", "git@example.org:a/b.git"},
		"":                                 {"/src/b", "/src/b", ""},
	} {
		if got := p.Address(); got != want {
			t.Errorf("%+v: got %q, want %q", p, got, want)
		}
	}
}

func TestFind_UsesOriginOrOnlyRemote(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		"[remote \"up\"]\nURL = \"git@example.org:acme/apollo.git\"\n":                               "git@example.org:acme/apollo.git",
		"[remote \"a\"]\nurl = https://example.org/a\n[remote \"b\"]\nurl = https://example.org/b\n": "",
		"[remote \"origin\"]\nurl = /srv/git/apollo.git\n":                                           "",
		"[remote \"origin\"\nurl = https://example.org/a\n":                                          "",
		"": "",
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, ".git", "HEAD"), "")
		write(t, filepath.Join(dir, ".git", "config"), config)
		if got := Find(dir).Remote; got != want {
			t.Errorf("%q: got %q, want %q", config, got, want)
		}
	}
}

func TestAddress_RemovesCredentials(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://token@example.org/a/b.git":        "https://example.org/a/b.git",
		"https://user:pw@EXAMPLE.org:8443/a/b?t=1": "https://example.org:8443/a/b",
		"ssh://git:pw@example.org/a/b.git":         "ssh://git@example.org/a/b.git",
		"git@example.org:a/b.git":                  "git@example.org:a/b.git",
		"example.org:a/b.git":                      "example.org:a/b.git",
		"some.body:pw@example.org:a/b.git":         "",
		"file:///srv/git/b":                        "",
		"/srv/git/b":                               "",
		"C:\\git\\b":                               "",
		"APOLLO":                                   "",
		"Apollo: the lander":                       "",
		"the name: with a colon":                   "",
		"https://example.org":                      "",
	} {
		if got := Address(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestIsPath_RecognizesPaths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{".": true, "..": true, "./x": true, "/x": true, "../x": true, "x/y": false, "APOLLO": false, ".x": false, "": false} {
		if got := IsPath(text); got != want {
			t.Errorf("IsPath(%q): got %v, want %v", text, got, want)
		}
	}
}

func FuzzRemotes(f *testing.F) {
	f.Add(config)
	f.Add("[remote \"origin\"]\nurl=\"")
	f.Fuzz(func(t *testing.T, text string) {
		for _, address := range remotes([]byte(text)) {
			if a := Address(address); a != "" && Address(a) != a {
				t.Fatalf("Address is not idempotent: %q, then %q", a, Address(a))
			}
		}
	})
}
