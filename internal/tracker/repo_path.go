package tracker

import (
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"parapet/internal/fault"
)

// maxRepoPath is the length in bytes of the longest path in its normal form.
const maxRepoPath = 1000

// normalRepo gives the one form in which a repository path is kept and compared:
// an absolute path cleaned of dots and doubled slashes, or a git remote, whatever
// the form of its address, as host/owner/name. It tells whether text is either.
func normalRepo(text string) (string, bool) {
	normal, ok := repoForm(strings.TrimSpace(text))
	// An address can hide what a text can't keep behind percent signs.
	return normal, ok && utf8.ValidString(normal) && !hasControl(normal) && strings.TrimSpace(normal) == normal
}

func repoForm(text string) (string, bool) {
	if drive := strings.ReplaceAll(text, `\`, "/"); len(drive) > 2 && drive[1:3] == ":/" && isLetter(drive[0]&^0x20) {
		return absolutePath(strings.ToUpper(drive[:1]) + ":" + path.Clean(drive[2:]))
	}
	if strings.HasPrefix(text, "/") {
		return absolutePath(path.Clean(text))
	}
	if scheme, _, ok := strings.Cut(text, "://"); ok {
		u, err := url.Parse(text)
		if err != nil {
			return "", false
		}
		switch strings.ToLower(scheme) {
		case "file":
			return absolutePath(path.Clean("/" + u.Path))
		case "ssh", "git", "http", "https", "git+ssh", "git+https", "git+http":
			return remote(u.Hostname(), u.Path)
		}
		return "", false
	}
	// As scp writes it: user@host:owner/name. No slash stands before its colon.
	if before, rest, ok := strings.Cut(text, ":"); ok && !strings.Contains(before, "/") {
		_, host, found := strings.Cut(before, "@")
		if !found {
			host = before
		}
		return remote(host, rest)
	}
	// The normal form of a remote itself.
	if host, rest, ok := strings.Cut(text, "/"); ok && strings.Contains(host, ".") && strings.Trim(host, ".") != "" {
		return remote(host, rest)
	}
	return "", false
}

// absolutePath refuses the root: everything is below it.
func absolutePath(clean string) (string, bool) {
	return clean, len(clean) <= maxRepoPath && strings.TrimRight(clean, "/") != "" && !strings.HasSuffix(clean, ":/") && !strings.HasPrefix(clean, "/../")
}

// remote is a git remote without scheme, user, port and ending. Hosts know no
// case; the rest is kept as it is.
func remote(host, rest string) (string, bool) {
	rest = strings.TrimPrefix(path.Clean("/"+rest), "/")
	// Repeated endings go too, so the normal form is its own normal form.
	for strings.HasSuffix(rest, ".git") {
		rest = strings.TrimPrefix(path.Clean("/"+strings.TrimSuffix(rest, ".git")), "/")
	}
	host = strings.ToLower(host)
	if host == "" || rest == "" || strings.ContainsAny(host, " /@") {
		return "", false
	}
	normal := host + "/" + rest
	return normal, len(normal) <= maxRepoPath
}

// repoPathOf is normalRepo for a request that has to name a repository.
func repoPathOf(text string) (string, error) {
	normal, ok := normalRepo(text)
	if !ok {
		return "", fault.Validation("path", "The path must be that of a folder, from the root, or the address of a git remote such as git@github.com:acme/lander.git.")
	}
	return normal, nil
}

// repoPrefixes gives the path and every folder above it, the longest first.
func repoPrefixes(normal string) []string {
	var prefixes []string
	for p := normal; p != "" && p != "/"; {
		prefixes = append(prefixes, p)
		i := strings.LastIndexByte(p, '/')
		if i <= 0 {
			break
		}
		p = p[:i]
	}
	return prefixes
}
