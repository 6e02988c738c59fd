// Package config owns what pt keeps between runs: profiles (which service, as
// which organisation) in config.json, and credentials in credentials.json, both
// in the folder that PT_CONFIG_DIR or the XDG rules name.
//
// It promises that a credential file is for its owner alone (0600) and is
// written whole or not at all, that a file which can't be read is an error that
// names it and never overwritten, and that a token is kept with the address it
// is for: it is given back for that address only.
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

// DefaultProfile is the profile that is used when none was named.
const DefaultProfile = "default"

const (
	configFile      = "config.json"
	credentialsFile = "credentials.json"
	// version is the form of both files.
	version = 1
	// maxFile bounds what is read of a file.
	maxFile = 1 << 20
)

// Config is the content of config.json.
type Config struct {
	Version int `json:"version"`
	// Current is the profile of commands that name none.
	Current  string             `json:"current,omitempty"`
	Profiles map[string]Profile `json:"profiles,omitempty"`
}

// Profile is what a name stands for; each field may be empty.
type Profile struct {
	BaseURL string `json:"baseUrl,omitempty"`
	Org     string `json:"org,omitempty"`
	Project string `json:"project,omitempty"`
}

// Credentials is the content of credentials.json.
type Credentials struct {
	Version int `json:"version"`
	// Tokens are the tokens by profile.
	Tokens map[string]Credential `json:"tokens,omitempty"`
}

// Credential is a token and the only address that it is sent to.
type Credential struct {
	BaseURL string `json:"baseUrl"`
	Token   string `json:"token"`
}

var profilePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckProfile says what is wrong with a profile's name.
func CheckProfile(name string) error {
	if !profilePattern.MatchString(name) {
		return errors.New("a profile's name has 1 to 64 letters, digits, dots, dashes and underscores")
	}
	return nil
}

// ParseConfig reads config.json. It is strict: an unknown or doubled member, an
// unknown version, a profile that can't be one are errors.
func ParseConfig(text []byte) (Config, error) {
	var c Config
	if err := parse(text, &c); err != nil {
		return Config{}, err
	}
	if c.Version != version {
		return Config{}, fmt.Errorf("version %d isn't known to this pt", c.Version)
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

// ParseCredentials reads credentials.json, as strictly. No error quotes a token.
func ParseCredentials(text []byte) (Credentials, error) {
	var c Credentials
	if err := parse(text, &c); err != nil {
		// What does not parse may hold a token: say where, not what.
		var syntax *jsontext.SyntacticError
		if errors.As(err, &syntax) {
			return Credentials{}, fmt.Errorf("not valid JSON at byte %d", syntax.ByteOffset)
		}
		return Credentials{}, errors.New("not in the form that pt writes")
	}
	if c.Version != version {
		return Credentials{}, fmt.Errorf("version %d isn't known to this pt", c.Version)
	}
	for name, t := range c.Tokens {
		if err := CheckProfile(name); err != nil {
			return Credentials{}, fmt.Errorf("a token's profile: %w", err)
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

// Dir gives the folder: PT_CONFIG_DIR, else $XDG_CONFIG_HOME/pt, else ~/.config/pt.
// It is "" where the environment names none of them: then nothing is kept.
func Dir(env func(string) string) string {
	if dir := env("PT_CONFIG_DIR"); dir != "" {
		return dir
	}
	// The XDG rules ask to ignore a path that is not absolute.
	if dir := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "pt")
	}
	if home := env("HOME"); home != "" {
		return filepath.Join(home, ".config", "pt")
	}
	return ""
}

// Store reads and writes the two files of a folder.
type Store struct {
	dir string
}

// NewStore gives the store of a folder; the folder need not be there yet.
func NewStore(dir string) *Store { return &Store{dir: dir} }

// Config reads the profiles; where there is no file there are none.
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

// Credentials reads the tokens; where there is no file there are none.
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

// Exposed gives the credential file's path where others than its owner may read
// it, else "".
func (s *Store) Exposed() string {
	path := filepath.Join(s.dir, credentialsFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return ""
	}
	return path
}

// ChangeConfig reads config.json, has change work on it and writes it.
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

// ChangeCredentials does the same with credentials.json.
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
	return os.ReadFile(path) //nolint:gosec // the folder is the user's own choice
}

func (s *Store) write(name string, content any) error {
	if s.dir == "" {
		return errors.New("there is no folder to keep settings in: set PT_CONFIG_DIR or HOME")
	}
	text, err := json.Marshal(content, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	// CreateTemp makes the file 0600; the rename puts it there whole.
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
