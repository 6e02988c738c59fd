package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/cli/config"
	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func newAuthCmd(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Log in and out, show and switch credentials",
		Example: `  pt auth login --email worker@example.org
  pt auth status`,
		Args:                       noSuchCommand,
		SuggestionsMinimumDistance: 2,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLoginCmd(inv), newStatusCmd(inv), newLogoutCmd(inv), newSwitchCmd(inv), newRequestResetCmd(inv), newResetPasswordCmd(inv))
	return cmd
}

type loginOptions struct {
	inv       *invocation
	baseURL   string
	email     string
	tenant    string
	withToken bool
}

// loggedIn is what is told of a login: never the token.
type loggedIn struct {
	Profile   string          `json:"profile"`
	BaseURL   string          `json:"baseUrl"`
	User      identity.Person `json:"user"`
	TenantID  op.UUID         `json:"tenantId"`
	ExpiresAt time.Time       `json:"expiresAt"`
}

func newLoginCmd(inv *invocation) *cobra.Command {
	o := &loginOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Log in and keep the credential",
		Long: `Logs in and keeps the credential in the profile (--profile, else "default"), which
becomes the one in use.

With --email it asks for the password, without showing it; where the input is no
terminal, the password is its first line. With --with-token it reads an API key
from the input and keeps it after the service has accepted it.

The credential is kept in a file that its owner alone can read, together with the
address of the service: it is sent nowhere else.`,
		Example: `  pt auth login --email worker@example.org --base-url https://parapet.example.org
  pt auth login --with-token --profile ci < key.txt`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{createsProfile: "true"},
	}
	f := cmd.Flags()
	f.StringVar(&o.baseURL, "base-url", "", "the service's `address` (PT_BASE_URL, else the profile's, else "+defaultBaseURL+")")
	f.StringVar(&o.email, "email", "", "log in with this e-mail `address` and its password")
	f.StringVar(&o.tenant, "tenant", "", "the tenant's `id` to log in to, where it is not the account's own")
	f.BoolVar(&o.withToken, "with-token", false, "read a token from the input")
	oneOf(cmd, "email", "with-token")
	atMostOne(cmd, "tenant", "with-token")
	return inv.runs(cmd, reflect.TypeFor[loggedIn](), o.run)
}

func (o *loginOptions) run(ctx context.Context, _ []string) error {
	s, err := o.inv.settings()
	if err != nil {
		return err
	}
	if o.baseURL != "" {
		base, err := client.ParseBaseURL(o.baseURL)
		if err != nil {
			return usagef("--base-url %q: %w", o.baseURL, err)
		}
		s.baseURL = base.String()
	}
	var in loggedIn
	if o.withToken {
		in, s.token, err = o.byToken(ctx, s)
	} else {
		in, s.token, err = o.byPassword(ctx, s)
	}
	if err != nil {
		return err
	}
	if err := o.keep(s); err != nil {
		return err
	}
	if o.inv.Getenv("PT_AUTH_TOKEN") != "" {
		o.inv.warn("PT_AUTH_TOKEN is set and is used in place of what was kept")
	}
	if strings.HasPrefix(s.baseURL, "http://") && !local(s.baseURL) {
		o.inv.warn("%s is not encrypted: the credential can be read on the way", s.baseURL)
	}
	return o.inv.show(ctx, view{data: in, markdown: func(d *markdown.Doc) {
		d.Line(fmt.Sprintf("Logged in to %s as %s until %s (profile %s).", in.BaseURL, first(in.User.Email, string(in.User.ID)), formatTime(in.ExpiresAt), in.Profile))
	}})
}

func local(baseURL string) bool {
	u, err := client.ParseBaseURL(baseURL)
	return err == nil && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
}

func (o *loginOptions) byPassword(ctx context.Context, s settings) (loggedIn, string, error) {
	in := &identity.LoginIn{Email: o.email}
	if o.tenant != "" {
		id, err := op.ParseUUID(o.tenant)
		if err != nil {
			return loggedIn{}, "", usagef("--tenant: %w", err)
		}
		in.TenantID = id
	}
	var err error
	if in.Password, err = o.inv.password(ctx, o.email); err != nil {
		return loggedIn{}, "", err
	}
	// The login is public: no credential and no organisation go with it.
	s.token, s.org = "", ""
	c, err := o.inv.dial(s)
	if err != nil {
		return loggedIn{}, "", err
	}
	out, err := callOperation(ctx, c, identity.Login, in)
	if fault.HasCode(err, fault.CodeUnauthorized) {
		return loggedIn{}, "", &refusedLogin{err}
	}
	if err != nil {
		return loggedIn{}, "", err
	}
	return loggedIn{s.profile, s.baseURL, out.User, out.TenantID, out.ExpiresAt}, out.Token, nil
}

func (o *loginOptions) byToken(ctx context.Context, s settings) (loggedIn, string, error) {
	raw, err := io.ReadAll(io.LimitReader(o.inv.In, 64<<10))
	if err != nil {
		return loggedIn{}, "", err
	}
	s.token, s.org = strings.TrimSpace(string(raw)), ""
	if _, ok := tokenFactsOf(s.token); !ok {
		return loggedIn{}, "", usagef("the input holds no token: it must be one JWT and nothing else")
	}
	c, err := o.inv.dial(s)
	if err != nil {
		return loggedIn{}, "", err
	}
	me, err := callOperation(ctx, c, identity.Me, &identity.MeIn{})
	if err != nil {
		return loggedIn{}, "", err
	}
	return loggedIn{s.profile, s.baseURL, me.User, me.TenantID, me.ExpiresAt}, s.token, nil
}

// keep writes the credential first: a profile without one is harmless, and so
// is a credential that no profile points to.
func (o *loginOptions) keep(s settings) error {
	err := o.inv.store.ChangeCredentials(func(c *config.Credentials) {
		c.Tokens[s.profile] = config.Credential{BaseURL: s.baseURL, Token: s.token}
	})
	if err != nil {
		return err
	}
	return o.inv.store.ChangeConfig(func(c *config.Config) {
		p := c.Profiles[s.profile]
		p.BaseURL = s.baseURL
		if o.inv.flags.org != "" {
			p.Org = o.inv.flags.org
		}
		c.Profiles[s.profile] = p
		c.Current = s.profile
	})
}

// statusOut is who is calling, with what and for how long.
type statusOut struct {
	identity.MeOut
	Profile  string `json:"profile"`
	BaseURL  string `json:"baseUrl"`
	Source   string `json:"credentialSource"`
	DaysLeft int    `json:"daysToExpiry"`
}

// expiryWarningDays is the floor of days to expiry below which a key's owner is warned.
const expiryWarningDays = 14

func newStatusCmd(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the owner, tenant, roles, clearance and expiry of the credential",
		Long: `Shows who the credential belongs to, the tenant it acts in, its roles and
clearance, and the days until it expires. A key with less than 14 days is warned of.`,
		Example: `  pt auth status
  pt auth status --json --jq .data.daysToExpiry`,
		Args: cobra.NoArgs,
	}
	return inv.runs(cmd, reflect.TypeFor[statusOut](), func(ctx context.Context, _ []string) error {
		c, s, err := inv.connect()
		if err != nil {
			return err
		}
		me, err := callOperation(ctx, c, identity.Me, &identity.MeIn{})
		if err != nil {
			if f, ok := tokenFactsOf(s.token); ok && fault.HasCode(err, fault.CodeUnauthorized) && !f.expires.IsZero() && f.expires.Before(inv.Clock.Now()) {
				return &notLoggedIn{fmt.Sprintf("The credential of %s expired at %s.", s.tokenFrom, formatTime(f.expires))}
			}
			return err
		}
		return inv.showStatus(ctx, s, me)
	})
}

func (inv *invocation) showStatus(ctx context.Context, s settings, me *identity.MeOut) error {
	left := me.ExpiresAt.Sub(inv.Clock.Now())
	out := statusOut{*me, s.profile, s.baseURL, s.tokenFrom, int(left / op.Days(1))}
	// A session lives for hours: only of a key is its end a surprise.
	if me.TokenKind != "session" && left < op.Days(expiryWarningDays) {
		inv.warn("the key expires in %s: have another one issued", daysText(left))
	}
	return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) {
		d.Heading(1, first(me.User.DisplayName, me.User.Email, string(me.User.ID)))
		d.Field("User", strings.TrimSpace(string(me.User.ID)+" "+me.User.Email))
		d.Field("Kind", first(me.User.IntegrationKey, me.User.PrincipalKind))
		d.Field("Tenant", fmt.Sprintf("%s (%s, %s)", me.TenantSlug, me.TenantName, me.TenantID))
		d.Field("Organisation", string(me.OrganisationID))
		d.Field("Roles", strings.Join(me.Roles, ", "))
		d.Field("Clearance", me.Clearance)
		d.Field("Credential", me.TokenKind+" from "+s.tokenFrom)
		d.Field("Expires", formatTime(me.ExpiresAt)+", in "+daysText(left))
		d.Field("Service", s.baseURL)
		d.Field("Profile", s.profile)
	}})
}

// daysText shows what is left: in days, on the last one in hours.
func daysText(left time.Duration) string {
	if left < op.Days(1) {
		return fmt.Sprintf("%d hours", max(int(left/time.Hour), 0))
	}
	return fmt.Sprintf("%d days", int(left/op.Days(1)))
}

// loggedOut is what is told of a logout.
type loggedOut struct {
	Profile string `json:"profile"`
	// Revoked says that the service ended the session; a key stays valid.
	Revoked bool `json:"sessionRevoked"`
}

func newLogoutCmd(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logout",
		Short: "End the session and forget the credential",
		Long: `Forgets the credential of the profile. A session is ended at the service as well;
an API key stays valid until it expires or is revoked (pt revoke-key).`,
		Example: `  pt auth logout
  pt auth logout --profile ci`,
		Args: cobra.NoArgs,
	}
	return inv.runs(cmd, reflect.TypeFor[loggedOut](), func(ctx context.Context, _ []string) error {
		s, err := inv.settings()
		if err != nil {
			return err
		}
		creds, err := inv.store.Credentials()
		if err != nil {
			return err
		}
		kept, ok := creds.Tokens[s.profile]
		if !ok {
			return &notLoggedIn{fmt.Sprintf("The profile %s keeps no credential.", s.profile)}
		}
		out := loggedOut{Profile: s.profile, Revoked: inv.endSession(ctx, s, kept)}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = inv.store.ChangeCredentials(func(c *config.Credentials) { delete(c.Tokens, s.profile) })
		if err != nil {
			return err
		}
		return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) {
			line := "Logged out of " + kept.BaseURL + " (profile " + s.profile + ")."
			if !out.Revoked {
				line = "Forgot the credential of " + kept.BaseURL + " (profile " + s.profile + ")."
			}
			d.Line(line)
		}})
	})
}

// endSession revokes a session at the service; where that fails it says so.
func (inv *invocation) endSession(ctx context.Context, s settings, kept config.Credential) bool {
	facts, ok := tokenFactsOf(kept.Token)
	if !ok || !facts.session {
		return false
	}
	s.baseURL, s.token, s.org = kept.BaseURL, kept.Token, ""
	c, err := inv.dial(s)
	if err == nil {
		_, err = callOperation(ctx, c, identity.Logout, &identity.LogoutIn{})
	}
	if err != nil && !errors.Is(err, context.Canceled) && !fault.HasCode(err, fault.CodeUnauthorized) {
		inv.warn("the session could not be ended at %s and lives until %s", s.baseURL, formatTime(facts.expires))
	}
	return err == nil
}

// switched is what is told of the profiles.
type switched struct {
	Current  string   `json:"current"`
	Profiles []string `json:"profiles"`
}

func newSwitchCmd(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "switch [profile]",
		Short: "Choose the profile in use, or list the profiles",
		Example: `  pt auth switch
  pt auth switch work`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			c, err := inv.store.Config()
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return profileNames(c), cobra.ShellCompDirectiveNoFileComp
		},
	}
	return inv.runs(cmd, reflect.TypeFor[switched](), func(ctx context.Context, args []string) error {
		c, err := inv.store.Config()
		if err != nil {
			return err
		}
		out := switched{first(c.Current, config.DefaultProfile), profileNames(c)}
		if len(args) == 1 {
			if !slices.Contains(out.Profiles, args[0]) {
				return unknownProfile(args[0], c)
			}
			out.Current = args[0]
			if err := inv.store.ChangeConfig(func(c *config.Config) { c.Current = args[0] }); err != nil {
				return err
			}
		}
		return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) {
			if len(out.Profiles) == 0 {
				d.Line("No profiles: pt auth login makes one.")
				return
			}
			var rows [][]string
			for _, name := range out.Profiles {
				mark := ""
				if name == out.Current {
					mark = "yes"
				}
				rows = append(rows, []string{name, c.Profiles[name].BaseURL, c.Profiles[name].Org, mark})
			}
			d.Table([]string{"Profile", "Service", "Organisation", "In use"}, rows, 1)
		}})
	})
}

func profileNames(c config.Config) []string {
	names := make([]string, 0, len(c.Profiles))
	for name := range c.Profiles {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
