// Package repo identifies the repository of a directory, by its absolute path and by the
// URL of its git remote.
//
// It starts no process, writes no file and reads only git files of limited size. The
// URLs that it returns contain no password, token or query.
package repo

import (
	"bufio"
	"bytes"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Location describes a directory.
type Location struct {
	// Dir is the absolute path of the directory, with symbolic links resolved.
	Dir string
	// Root is the top directory of the git work tree that contains Dir, or "".
	Root string
	// Remote is the URL of the repository's remote, or "".
	Remote string
}

// Address returns the URL of the remote, followed by the path of the directory relative
// to the top of the repository. It returns "" if there is no remote.
func (p Location) Address() string {
	below, err := filepath.Rel(p.Root, p.Dir)
	if p.Remote == "" || err != nil || below == "." {
		return p.Remote
	}
	return strings.TrimSuffix(strings.TrimRight(p.Remote, "/"), ".git") + "/" + filepath.ToSlash(below)
}

// maxFile is the maximum size of a git file in bytes.
const maxFile = 1 << 20

// Find returns the location of a directory.
func Find(dir string) Location {
	p := Location{Dir: Absolute(dir)}
	if p.Dir == "" {
		return p
	}
	for ancestor := p.Dir; ; ancestor = filepath.Dir(ancestor) {
		if git := gitDir(ancestor); git != "" {
			p.Root, p.Remote = ancestor, remote(git)
			return p
		}
		if ancestor == filepath.Dir(ancestor) {
			return p
		}
	}
}

// Absolute returns the absolute path of a directory. It resolves symbolic links if the
// directory exists. It returns "" for the empty path.
func Absolute(dir string) string {
	if dir == "" {
		return ""
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	return abs
}

// IsPath reports whether text is a path: ".", "..", an absolute path, or a path that
// starts with "./" or "../".
func IsPath(text string) bool {
	if text == "." || text == ".." || filepath.IsAbs(text) {
		return true
	}
	return strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../")
}

// Address returns the URL of a remote repository without credentials and query, or "" if
// text is not such a URL.
func Address(text string) string {
	text = strings.TrimSpace(text)
	if host, rest, ok := splitSCP(text); ok {
		return host + ":" + rest
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Path == "" {
		return ""
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https", "ssh", "git", "git+ssh", "git+https":
	default:
		return ""
	}
	clean := url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host), Path: u.Path, RawPath: u.RawPath}
	if strings.HasSuffix(clean.Scheme, "ssh") && u.User != nil {
		clean.User = url.User(u.User.Username())
	}
	return clean.String()
}

// splitSCP splits the scp-like form of an SSH URL, user@host:path. host includes the user.
func splitSCP(text string) (host, rest string, ok bool) {
	host, rest, ok = strings.Cut(text, ":")
	if !ok || strings.Contains(text, "://") || strings.ContainsAny(host, "/ \t\\") || rest == "" || len(host) < 2 {
		return "", "", false
	}
	// An @ in the path may follow a password, so such a text is rejected.
	if strings.ContainsAny(rest, " \t@") || !strings.ContainsAny(host, "@.") {
		return "", "", false
	}
	return host, rest, true
}

// gitDir returns the git directory of the work tree whose top directory is root, or "".
func gitDir(root string) string {
	dot := filepath.Join(root, ".git")
	info, err := os.Stat(dot)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		if _, err := os.Stat(filepath.Join(dot, "HEAD")); err != nil {
			return ""
		}
		return dot
	}
	// In a linked work tree or a submodule, the file .git contains the path.
	target, ok := strings.CutPrefix(string(read(dot)), "gitdir:")
	if !ok {
		return ""
	}
	return Resolve(root, strings.TrimSpace(target))
}

// Resolve returns name as a path relative to dir, or unchanged if it is absolute.
func Resolve(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// remote returns the URL of the remote origin, else of the only remote, else "".
func remote(git string) string {
	if common := strings.TrimSpace(string(read(filepath.Join(git, "commondir")))); common != "" {
		git = Resolve(git, common)
	}
	addresses := remotes(read(filepath.Join(git, "config")))
	if origin := addresses["origin"]; origin != "" {
		return Address(origin)
	}
	if len(addresses) == 1 {
		for _, only := range addresses {
			return Address(only)
		}
	}
	return ""
}

// remotes parses a git configuration and returns the first URL of each remote.
func remotes(config []byte) map[string]string {
	found := map[string]string{}
	section := ""
	lines := bufio.NewScanner(bytes.NewReader(config))
	lines.Buffer(make([]byte, 0, 4<<10), maxFile)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if name, ok := strings.CutPrefix(line, "["); ok {
			section = ""
			if name, ok = strings.CutPrefix(name, `remote "`); ok {
				if name, _, ok = strings.Cut(name, `"]`); ok {
					section = name
				}
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || section == "" || !strings.EqualFold(strings.TrimSpace(key), "url") || found[section] != "" {
			continue
		}
		found[section] = unquote(strings.TrimSpace(value))
	}
	return found
}

// unquote removes the quotes and the comment from a value.
func unquote(value string) string {
	if inner, ok := strings.CutPrefix(value, `"`); ok {
		inner, _, _ = strings.Cut(inner, `"`)
		return inner
	}
	for _, mark := range []string{" #", " ;", "\t#", "\t;"} {
		value, _, _ = strings.Cut(value, mark)
	}
	return strings.TrimSpace(value)
}

// read returns the content of a file, or nil if it cannot be read or is too large.
func read(name string) []byte {
	f, err := os.Open(name) //nolint:gosec // a git file of the user's repository
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil || len(text) > maxFile {
		return nil
	}
	return text
}

// Normalize returns a comparable form of a path or URL: a clean absolute path, or
// host/owner/name.
func Normalize(text string) string {
	text = strings.TrimSpace(text)
	if filepath.IsAbs(text) {
		return filepath.Clean(text)
	}
	if host, rest, ok := splitSCP(text); ok {
		text = host + "/" + rest
	} else if u, err := url.Parse(text); err == nil && u.Host != "" {
		text = u.Hostname() + "/" + u.Path
	}
	_, host, ok := strings.Cut(text, "@")
	if !ok {
		host = text
	}
	host, rest, _ := strings.Cut(host, "/")
	return strings.ToLower(host) + "/" + strings.TrimSuffix(strings.Trim(rest, "/"), ".git")
}
