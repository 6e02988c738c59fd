package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/cli/config"
	"parapet/internal/client"
)

// defaultBaseURL is where a service on the own machine answers.
const defaultBaseURL = "http://localhost:3000"

// settings are what a command runs with: a flag beats the environment beats
// the profile.
type settings struct {
	profile string
	baseURL string
	token   string
	// tokenFrom says where the token is from, for auth status.
	tokenFrom string
	org       string
	project   string
	timeout   time.Duration
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// settings reads flags, environment, profile and credential.
func (inv *invocation) settings() (settings, error) {
	conf, err := inv.store.Config()
	if err != nil {
		return settings{}, err
	}
	s := settings{profile: first(inv.flags.profile, inv.Getenv("PT_PROFILE"), conf.Current, config.DefaultProfile)}
	if err := config.CheckProfile(s.profile); err != nil {
		return settings{}, usagef("profile %q: %w", s.profile, err)
	}
	p := conf.Profiles[s.profile]
	s.baseURL = first(inv.Getenv("PT_BASE_URL"), p.BaseURL, defaultBaseURL)
	base, err := client.ParseBaseURL(s.baseURL)
	if err != nil {
		return settings{}, usagef("PT_BASE_URL %q: %w", s.baseURL, err)
	}
	s.baseURL = base.String()
	s.org = first(inv.flags.org, inv.Getenv("PT_ORG"), p.Org)
	s.project = first(inv.Getenv("PT_PROJECT"), p.Project)
	if s.timeout, err = parseTimeout(first(inv.flags.timeout, inv.Getenv("PT_TIMEOUT"))); err != nil {
		return settings{}, err
	}
	return s, inv.credential(&s)
}

// credential finds the token: the environment's, else the profile's where it is
// for the address in use.
func (inv *invocation) credential(s *settings) error {
	if s.token = strings.TrimSpace(inv.Getenv("PT_AUTH_TOKEN")); s.token != "" {
		s.tokenFrom = "PT_AUTH_TOKEN"
		return nil
	}
	creds, err := inv.store.Credentials()
	if err != nil {
		return err
	}
	if c, ok := creds.Tokens[s.profile]; ok && c.BaseURL == s.baseURL {
		s.token, s.tokenFrom = c.Token, "profile "+s.profile
		if path := inv.store.Exposed(); path != "" {
			inv.warn("%s can be read by others: chmod 600 %s", path, path)
		}
	}
	return nil
}

// parseTimeout reads a duration, or a whole number of seconds.
func parseTimeout(value string) (time.Duration, error) {
	if value == "" {
		return client.DefaultTimeout, nil
	}
	d, err := time.ParseDuration(value)
	if n, nerr := strconv.Atoi(value); nerr == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d <= 0 || d > 24*time.Hour {
		return 0, usagef("the time limit %q is not a duration such as 10s", value)
	}
	return d, nil
}

// connect makes the client of a command that needs a credential.
func (inv *invocation) connect() (*client.Client, settings, error) {
	s, err := inv.settings()
	if err != nil {
		return nil, s, err
	}
	c, err := inv.connectWith(s)
	return c, s, err
}

// createsProfile annotates the command that takes a profile that does not exist.
const createsProfile = "creates-profile"

// checkProfile rejects a profile that --profile or PT_PROFILE names and that does
// not exist. It runs before every command, so a misspelt profile never makes a
// command act with other settings.
func (inv *invocation) checkProfile(cmd *cobra.Command, _ []string) error {
	name := first(inv.flags.profile, inv.Getenv("PT_PROFILE"))
	if name == "" || cmd.Annotations[createsProfile] != "" {
		return nil
	}
	if err := config.CheckProfile(name); err != nil {
		return usagef("profile %q: %w", name, err)
	}
	conf, err := inv.store.Config()
	if err != nil {
		inv.started = true // the command line is right, the file is not
		return err
	}
	if _, ok := conf.Profiles[name]; ok || name == config.DefaultProfile {
		return nil
	}
	return unknownProfile(name, conf)
}

// unknownProfile is the error of a profile that does not exist.
func unknownProfile(name string, conf config.Config) error {
	known := "there are none yet"
	if names := profileNames(conf); len(names) > 0 {
		known = "known: " + strings.Join(names, ", ")
	}
	return usagef("there is no profile %q (%s); pt auth login --profile %s creates it", name, known, name)
}

// connectWith makes that client from settings.
func (inv *invocation) connectWith(s settings) (*client.Client, error) {
	if s.token == "" {
		return nil, &notLoggedIn{fmt.Sprintf("There is no credential for %s.", s.baseURL)}
	}
	return inv.dial(s)
}

// dial makes a client from settings.
func (inv *invocation) dial(s settings) (*client.Client, error) {
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

// warn writes a warning to the error stream.
func (inv *invocation) warn(format string, args ...any) {
	fmt.Fprintf(inv.Err, "warning: "+format+"\n", args...)
}

// printNote writes a remark to the error stream.
func (inv *invocation) printNote(format string, args ...any) {
	fmt.Fprintf(inv.Err, format+"\n", args...)
}
