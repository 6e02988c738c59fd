package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/cli/config"
	"parapet/internal/client"
)

// defaultBaseURL is the URL of a service on the local machine.
const defaultBaseURL = "http://localhost:3000"

// tokenVariable is the environment variable with the credential.
const tokenVariable = "PT_AUTH_TOKEN" //nolint:gosec // the name of a variable

// settings are the settings of a command. Flags take precedence over environment
// variables, and those over the profile.
type settings struct {
	profile string
	baseURL string
	token   string
	// tokenFrom describes the source of the token, for pt auth status.
	tokenFrom string
	org       string
	project   string
	timeout   time.Duration
}

// firstNonEmpty returns the first value that is not empty, or "".
func firstNonEmpty(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// settings reads the settings and the credential from all sources.
func (inv *invocation) settings() (settings, error) {
	conf, err := inv.store.Config()
	if err != nil {
		return settings{}, err
	}
	s := settings{profile: firstNonEmpty(inv.flags.profile, inv.Getenv("PT_PROFILE"), conf.Current, config.DefaultProfile)}
	if err := config.CheckProfile(s.profile); err != nil {
		return settings{}, usagef("profile %q: %w", s.profile, err)
	}
	p := conf.Profiles[s.profile]
	s.baseURL = firstNonEmpty(inv.Getenv("PT_BASE_URL"), p.BaseURL, defaultBaseURL)
	base, err := client.ParseBaseURL(s.baseURL)
	if err != nil {
		return settings{}, usagef("PT_BASE_URL %q: %w", s.baseURL, err)
	}
	s.baseURL = base.String()
	s.org = firstNonEmpty(inv.flags.org, inv.Getenv("PT_ORG"), p.Org)
	s.project = firstNonEmpty(inv.Getenv("PT_PROJECT"), p.Project)
	if s.timeout, err = parseTimeout(firstNonEmpty(inv.flags.timeout, inv.Getenv("PT_TIMEOUT"))); err != nil {
		return settings{}, err
	}
	return s, inv.readCredential(&s)
}

// readCredential sets the token from PT_AUTH_TOKEN, else from the profile. It ignores a
// stored credential that belongs to another URL.
func (inv *invocation) readCredential(s *settings) error {
	if s.token = strings.TrimSpace(inv.Getenv(tokenVariable)); s.token != "" {
		s.tokenFrom = tokenVariable
		return nil
	}
	creds, err := inv.store.Credentials()
	if err != nil {
		return err
	}
	if c, ok := creds.Tokens[s.profile]; ok && c.BaseURL == s.baseURL {
		s.token, s.tokenFrom = c.Token, "profile "+s.profile
		if path := inv.store.Exposed(); path != "" {
			inv.warn("other users can read %s; run: chmod 600 %s", path, path)
		}
	}
	return nil
}

// parseTimeout parses a time limit: a duration or a number of seconds. The empty text is
// the default timeout.
func parseTimeout(value string) (time.Duration, error) {
	if value == "" {
		return client.DefaultTimeout, nil
	}
	d, err := parseDuration(value, time.Second)
	if err != nil || d > 24*time.Hour {
		return 0, usagef("time limit %q must be a duration of at most 24h, such as 10s", value)
	}
	return d, nil
}

// connect returns the client and the settings of a command that needs a credential.
func (inv *invocation) connect() (*client.Client, settings, error) {
	s, err := inv.settings()
	if err != nil {
		return nil, s, err
	}
	c, err := inv.connectWith(s)
	return c, s, err
}

// createsProfile is the annotation of commands that accept a profile that does not exist.
const createsProfile = "creates-profile"

// checkProfile returns an error if --profile or PT_PROFILE names a profile that does not
// exist. It runs before every command, so that a misspelled profile never makes a command
// use other settings.
func (inv *invocation) checkProfile(cmd *cobra.Command, _ []string) error {
	name := firstNonEmpty(inv.flags.profile, inv.Getenv("PT_PROFILE"))
	if name == "" || cmd.Annotations[createsProfile] != "" {
		return nil
	}
	if err := config.CheckProfile(name); err != nil {
		return usagef("profile %q: %w", name, err)
	}
	conf, err := inv.store.Config()
	if err != nil {
		inv.started = true // the command line is valid, so this is not a usage error
		return err
	}
	if _, ok := conf.Profiles[name]; ok || name == config.DefaultProfile {
		return nil
	}
	return unknownProfile(name, conf)
}

// unknownProfile is the error of a profile that does not exist.
func unknownProfile(name string, conf config.Config) error {
	known := "there are no profiles yet"
	if names := profileNames(conf); len(names) > 0 {
		known = "existing: " + strings.Join(names, ", ")
	}
	return usagef("unknown profile %q (%s); create it with pt auth login --profile %s", name, known, name)
}

// connectWith returns a client with these settings, or an error if they have no
// credential.
func (inv *invocation) connectWith(s settings) (*client.Client, error) {
	if s.token == "" {
		return nil, &notLoggedInError{fmt.Sprintf("No credential for %s.", s.baseURL)}
	}
	return inv.dial(s)
}

// dial returns a client with these settings, with or without a credential.
func (inv *invocation) dial(s settings) (*client.Client, error) {
	inv.credential = s
	cfg := client.Config{
		BaseURL: s.baseURL, Token: s.token, ActAsOrg: s.org, Timeout: s.timeout,
		UserAgent: "pt/" + inv.Version, Clock: inv.Clock,
	}
	if slices.Contains(strings.Split(inv.Getenv("PT_DEBUG"), ","), "api") {
		cfg.Trace = inv.Err
	}
	c, err := client.New(cfg)
	if err != nil {
		return nil, usage(err)
	}
	return c, nil
}

// warn prints a warning to standard error.
func (inv *invocation) warn(format string, args ...any) {
	fmt.Fprintf(inv.Err, "warning: "+format+"\n", args...)
}

// printNote prints a message to standard error.
func (inv *invocation) printNote(format string, args ...any) {
	fmt.Fprintf(inv.Err, format+"\n", args...)
}
