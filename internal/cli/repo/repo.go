// Package repo owns how a folder tells which project it belongs to: its absolute
// path, and the address that its git repository is fetched from.
//
// It promises that it starts no process and writes nothing, that it reads files
// of git of a bounded size only, and that what it gives of an address holds no
// password, no token and no query.
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

// Location is what is known of a folder.
type Location struct {
	// Dir is the folder's absolute path, its symbolic links followed.
	Dir string
	// Root is the top of the git work tree that it is in, or "".
	Root string
	// Remote is the address of the repository's remote, or "".
	Remote string
}

// Address gives the address of the folder: that of the remote, and the folder's
// place below the top of the repository. It is "" where there is no remote.
func (p Location) Address() string {
	below, err := filepath.Rel(p.Root, p.Dir)
	if p.Remote == "" || err != nil || below == "." {
		return p.Remote
	}
	return strings.TrimSuffix(strings.TrimRight(p.Remote, "/"), ".git") + "/" + filepath.ToSlash(below)
}

// maxFile bounds what is read of a file of git.
const maxFile = 1 << 20

// Find looks at a folder.
func Find(dir string) Location {
	p := Location{Dir: Absolute(dir)}
	if p.Dir == "" {
		return p
	}
	for folder := p.Dir; ; folder = filepath.Dir(folder) {
		if git := gitDir(folder); git != "" {
			p.Root, p.Remote = folder, remote(git)
			return p
		}
		if folder == filepath.Dir(folder) {
			return p
		}
	}
}

// Absolute gives a folder's path from the root, its symbolic links followed
// where it is there; "" where there is no such path.
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

// IsPath tells whether a text means a folder: it begins as a path does.
func IsPath(text string) bool {
	if text == "." || text == ".." || filepath.IsAbs(text) {
		return true
	}
	return strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../")
}

// Address gives the address of a repository as it may be told to others, or ""
// where the text is none: a folder of this machine, or no address at all.
func Address(text string) string {
	text = strings.TrimSpace(text)
	if host, rest, ok := scp(text); ok {
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

// scp takes apart git's short form of an ssh address: user@host:path.
func scp(text string) (host, rest string, ok bool) {
	host, rest, ok = strings.Cut(text, ":")
	if !ok || strings.Contains(text, "://") || strings.ContainsAny(host, "/ \t\\") || rest == "" || len(host) < 2 {
		return "", "", false
	}
	// Whose rest goes on with an @ names a secret before it, or is none.
	if strings.ContainsAny(rest, " \t@") || !strings.ContainsAny(host, "@.") {
		return "", "", false
	}
	return host, rest, true
}

// gitDir gives the folder where git keeps the repository whose work tree begins
// at folder, or "".
func gitDir(folder string) string {
	dot := filepath.Join(folder, ".git")
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
	// A linked work tree or a submodule: the file names the folder.
	target, ok := strings.CutPrefix(string(read(dot)), "gitdir:")
	if !ok {
		return ""
	}
	return FindFrom(folder, strings.TrimSpace(target))
}

// FindFrom gives a path that is meant from a folder unless it is absolute.
func FindFrom(folder, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(folder, name)
}

// remote gives the address of the remote origin, else of the only one there is.
func remote(git string) string {
	if common := strings.TrimSpace(string(read(filepath.Join(git, "commondir")))); common != "" {
		git = FindFrom(git, common)
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

// remotes reads the addresses of a configuration of git, the first of each remote.
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

// unquote takes the quotes and the comment off a value.
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

// read gives a file's content, or nothing where it can't be read or is too large.
func read(name string) []byte {
	f, err := os.Open(name) //nolint:gosec // a file of the user's own repository
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

// Normalize gives a path or an address in the form in which two of the same can be
// held against each other: an absolute path, or host/owner/name.
func Normalize(text string) string {
	text = strings.TrimSpace(text)
	if filepath.IsAbs(text) {
		return filepath.Clean(text)
	}
	if host, rest, ok := scp(text); ok {
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
