// Package config stores the profiles of pt in config.json and its credentials in
// credentials.json. Both files are in the directory that PT_CONFIG_DIR or the XDG rules
// determine.
//
// Both files are written atomically and with mode 0600. A file that cannot be parsed is
// an error that names the file, and is never overwritten. Each token is stored with the
// URL of its service, so that the caller can restrict it to that URL.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/client"
)

// DefaultProfile is the name of the default profile.
const DefaultProfile = "default"

const (
	configFile      = "config.json"
	credentialsFile = "credentials.json"
	// version is the format version of both files.
	version = 1
	// maxFile is the maximum size of a file in bytes.
	maxFile = 1 << 20
)

// Config is the content of config.json.
type Config struct {
	Version int `json:"version"`
	// Current is the profile that is used if a command names none.
	Current  string             `json:"current,omitempty"`
	Profiles map[string]Profile `json:"profiles,omitempty"`
}

// Profile has the settings of a profile. Each field may be empty.
type Profile struct {
	BaseURL string `json:"baseUrl,omitempty"`
	Org     string `json:"org,omitempty"`
	Project string `json:"project,omitempty"`
}

// Credentials is the content of credentials.json.
type Credentials struct {
	Version int `json:"version"`
	// Tokens maps the name of a profile to its credential.
	Tokens map[string]Credential `json:"tokens,omitempty"`
}

// Credential is a token and the base URL of the only service that it may be sent to.
type Credential struct {
	BaseURL string `json:"baseUrl"`
	Token   string `json:"token"`
}

var profilePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckProfile returns an error if name is not a valid profile name.
func CheckProfile(name string) error {
	if !profilePattern.MatchString(name) {
		return errors.New("must have 1 to 64 letters, digits, dots, dashes and underscores, and start with a letter or digit")
	}
	return nil
}

// ParseConfig parses config.json. Unknown and duplicate members, an unknown version and
// invalid profiles are errors.
func ParseConfig(text []byte) (Config, error) {
	var c Config
	if err := parse(text, &c); err != nil {
		return Config{}, err
	}
	if c.Version != version {
		return Config{}, fmt.Errorf("version %d is not supported by this version of pt; it must be %d", c.Version, version)
	}
	if c.Current != "" {
		if err := CheckProfile(c.Current); err != nil {
			return Config{}, fmt.Errorf("current: %w", err)
		}
	}
	for name, p := range c.Profiles {
		if err := CheckProfile(name); err != nil {
			return Config{}, fmt.Errorf("profile %q: %w", name, err)
		}
		if p.BaseURL == "" {
			continue
		}
		if _, err := client.ParseBaseURL(p.BaseURL); err != nil {
			return Config{}, fmt.Errorf("profile %q: baseUrl: %w", name, err)
		}
	}
	return c, nil
}

// ParseCredentials parses credentials.json, as strictly as ParseConfig. Its errors never
// contain a token.
func ParseCredentials(text []byte) (Credentials, error) {
	var c Credentials
	if err := parse(text, &c); err != nil {
		// The invalid text may contain a token, so the error has only its position.
		var syntax *jsontext.SyntacticError
		if errors.As(err, &syntax) {
			return Credentials{}, fmt.Errorf("not valid JSON at byte %d", syntax.ByteOffset)
		}
		return Credentials{}, errors.New("not in the format that pt writes")
	}
	if c.Version != version {
		return Credentials{}, fmt.Errorf("version %d is not supported by this version of pt; it must be %d", c.Version, version)
	}
	for name, t := range c.Tokens {
		if err := CheckProfile(name); err != nil {
			return Credentials{}, fmt.Errorf("profile of a token: %w", err)
		}
		if _, err := client.ParseBaseURL(t.BaseURL); err != nil {
			return Credentials{}, fmt.Errorf("token of profile %q: baseUrl: %w", name, err)
		}
	}
	return c, nil
}

func parse(text []byte, into any) error {
	return json.Unmarshal(text, into, json.RejectUnknownMembers(true))
}

// Dir returns the configuration directory: PT_CONFIG_DIR, else $XDG_CONFIG_HOME/pt, else
// ~/.config/pt. It returns "" if the environment has none of these variables.
func Dir(env func(string) string) string {
	if dir := env("PT_CONFIG_DIR"); dir != "" {
		return dir
	}
	// The XDG specification requires ignoring relative paths.
	if dir := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "pt")
	}
	if home := env("HOME"); home != "" {
		return filepath.Join(home, ".config", "pt")
	}
	return ""
}

// Store reads and writes the two files in a directory.
type Store struct {
	dir string
}

// NewStore returns a store for a directory. The directory is created when the store
// first writes. A store for "" is empty and cannot write.
func NewStore(dir string) *Store { return &Store{dir: dir} }

// Config reads the profiles. A missing file counts as empty.
func (s *Store) Config() (Config, error) {
	text, err := s.read(configFile)
	if err != nil || text == nil {
		return Config{Version: version}, err
	}
	c, err := ParseConfig(text)
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", filepath.Join(s.dir, configFile), err)
	}
	return c, nil
}

// Credentials reads the credentials. A missing file counts as empty.
func (s *Store) Credentials() (Credentials, error) {
	text, err := s.read(credentialsFile)
	if err != nil || text == nil {
		return Credentials{Version: version}, err
	}
	c, err := ParseCredentials(text)
	if err != nil {
		return Credentials{}, fmt.Errorf("%s: %w", filepath.Join(s.dir, credentialsFile), err)
	}
	return c, nil
}

// Exposed returns the path of the credential file if other users can access it, else "".
func (s *Store) Exposed() string {
	path := filepath.Join(s.dir, credentialsFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return ""
	}
	return path
}

// ChangeConfig reads config.json, calls change and writes the result.
func (s *Store) ChangeConfig(change func(*Config)) error {
	c, err := s.Config()
	if err != nil {
		return err
	}
	if c.Profiles == nil {
		c.Profiles = map[string]Profile{}
	}
	change(&c)
	return s.write(configFile, c)
}

// ChangeCredentials reads credentials.json, calls change and writes the result.
func (s *Store) ChangeCredentials(change func(*Credentials)) error {
	c, err := s.Credentials()
	if err != nil {
		return err
	}
	if c.Tokens == nil {
		c.Tokens = map[string]Credential{}
	}
	change(&c)
	return s.write(credentialsFile, c)
}

func (s *Store) read(name string) ([]byte, error) {
	if s.dir == "" {
		return nil, nil
	}
	path := filepath.Join(s.dir, name)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return os.ReadFile(path) //nolint:gosec // the user chooses the directory
}

func (s *Store) write(name string, content any) error {
	if s.dir == "" {
		return errors.New("no configuration directory; set PT_CONFIG_DIR or HOME")
	}
	text, err := json.Marshal(content, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	// CreateTemp creates the file with mode 0600. The rename makes the write atomic.
	f, err := os.CreateTemp(s.dir, name+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(append(text, '\n')); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(s.dir, name))
}
