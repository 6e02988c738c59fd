package tracker

import (
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"parapet/internal/fault"
)

// maxRepoPath is the maximum length of a normalized path, in bytes.
const maxRepoPath = 1000

// normalizeRepo returns the normalized form of a repository path, in which it is
// stored and compared: a cleaned absolute path, or host/owner/name for a git remote
// URL of any form. It reports whether text is valid.
func normalizeRepo(text string) (string, bool) {
	normal, ok := normalizeRepoForm(strings.TrimSpace(text))
	// Percent-encoding in a URL can produce invalid UTF-8 and control characters.
	return normal, ok && utf8.ValidString(normal) && !hasControlCharacter(normal) && strings.TrimSpace(normal) == normal
}

func normalizeRepoForm(text string) (string, bool) {
	if drive := strings.ReplaceAll(text, `\`, "/"); len(drive) > 2 && drive[1:3] == ":/" && isLetter(drive[0]&^0x20) {
		return validAbsolutePath(strings.ToUpper(drive[:1]) + ":" + path.Clean(drive[2:]))
	}
	if strings.HasPrefix(text, "/") {
		return validAbsolutePath(path.Clean(text))
	}
	if scheme, _, ok := strings.Cut(text, "://"); ok {
		u, err := url.Parse(text)
		if err != nil {
			return "", false
		}
		switch strings.ToLower(scheme) {
		case "file":
			return validAbsolutePath(path.Clean("/" + u.Path))
		case "ssh", "git", "http", "https", "git+ssh", "git+https", "git+http":
			return normalizeRemote(u.Hostname(), u.Path)
		}
		return "", false
	}
	// The scp form, user@host:owner/name, has no slash before the colon.
	if before, rest, ok := strings.Cut(text, ":"); ok && !strings.Contains(before, "/") {
		_, host, found := strings.Cut(before, "@")
		if !found {
			host = before
		}
		return normalizeRemote(host, rest)
	}
	// A remote that is already normalized.
	if host, rest, ok := strings.Cut(text, "/"); ok && strings.Contains(host, ".") && strings.Trim(host, ".") != "" {
		return normalizeRemote(host, rest)
	}
	return "", false
}

// validAbsolutePath returns the cleaned path and reports whether it is valid. The root
// directory is not, because every path is below it.
func validAbsolutePath(clean string) (string, bool) {
	return clean, len(clean) <= maxRepoPath && strings.TrimRight(clean, "/") != "" && !strings.HasSuffix(clean, ":/") && !strings.HasPrefix(clean, "/../")
}

// normalizeRemote returns a git remote as host/path, without scheme, user, port and
// .git suffix. The host is lower-cased; the path keeps its case.
func normalizeRemote(host, rest string) (string, bool) {
	rest = strings.TrimPrefix(path.Clean("/"+rest), "/")
	// Remove repeated suffixes, so that normalizing twice gives the same result.
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

// requireRepoPath returns the normalized path, or a validation error for the field
// path.
func requireRepoPath(text string) (string, error) {
	normal, ok := normalizeRepo(text)
	if !ok {
		return "", fault.Validation("path", "The path must be an absolute path of a directory or the URL of a git remote, such as git@github.com:acme/lander.git.")
	}
	return normal, nil
}

// repoPrefixes returns the path and all of its parent directories, longest first.
func repoPrefixes(normalized string) []string {
	var prefixes []string
	for p := normalized; p != "" && p != "/"; {
		prefixes = append(prefixes, p)
		i := strings.LastIndexByte(p, '/')
		if i <= 0 {
			break
		}
		p = p[:i]
	}
	return prefixes
}
