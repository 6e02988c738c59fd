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
		Short: "Log in, log out and switch profiles",
		Example: `  pt auth login --email worker@example.org
  pt auth status`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
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

// loginOut is the output of pt auth login. It does not contain the token.
type loginOut struct {
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
		Short: "Log in and store the credential",
		Long: `Log in, store the credential in a profile (--profile, default "default") and make it
the current profile.

With --email, pt prompts for the password; without a terminal, it reads the password
from the first line of standard input. With --with-token, it reads an API key from
standard input and stores it if the service accepts it.

The credential is stored, together with the URL of the service, in a file that only you
can read. pt sends it only to that URL.`,
		Example: `  pt auth login --email worker@example.org --base-url https://parapet.example.org
  pt auth login --with-token --profile ci < key.txt`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{createsProfile: "true"},
	}
	f := cmd.Flags()
	f.StringVar(&o.baseURL, "base-url", "", "`URL` of the service (default: PT_BASE_URL, else the profile's, else "+defaultBaseURL+")")
	f.StringVar(&o.email, "email", "", "log in with this email `address` and its password")
	f.StringVar(&o.tenant, "tenant", "", "`id` of the tenant to log in to (default: the account's own tenant)")
	f.BoolVar(&o.withToken, "with-token", false, "read an API key from standard input")
	requireOneOf(cmd, "email", "with-token")
	runBefore(cmd, func(cmd *cobra.Command, _ []string) error {
		if !inv.canPrompt() || cmd.Flags().Changed("email") || cmd.Flags().Changed("with-token") {
			return nil
		}
		email := fieldNamed(identity.Login.Operation, "email")
		answer, err := inv.ask(cmd.Context(), "email", email, func(answer string) error { return email.Validate(reflect.ValueOf(answer)) })
		if err != nil {
			return err
		}
		return cmd.Flags().Set("email", answer)
	})
	allowOneOf(cmd, "tenant", "with-token")
	return inv.setRun(cmd, reflect.TypeFor[loginOut](), o.run)
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
	var in loginOut
	if o.withToken {
		in, s.token, err = o.byToken(ctx, s)
	} else {
		in, s.token, err = o.byPassword(ctx, s)
	}
	if err != nil {
		return err
	}
	if err := o.store(s); err != nil {
		return err
	}
	if o.inv.Getenv("PT_AUTH_TOKEN") != "" {
		o.inv.warn("PT_AUTH_TOKEN is set and takes precedence over the stored credential")
	}
	if strings.HasPrefix(s.baseURL, "http://") && !isLocalhost(s.baseURL) {
		o.inv.warn("the connection to %s is not encrypted: others can read the credential; use https", s.baseURL)
	}
	return o.inv.show(ctx, view{data: in, markdown: func(d *markdown.Doc) {
		d.Line(fmt.Sprintf("Logged in to %s as %s until %s (profile %s).", in.BaseURL, firstNonEmpty(in.User.Email, string(in.User.ID)), formatTime(in.ExpiresAt), in.Profile))
	}})
}

func isLocalhost(baseURL string) bool {
	u, err := client.ParseBaseURL(baseURL)
	return err == nil && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
}

func (o *loginOptions) byPassword(ctx context.Context, s settings) (loginOut, string, error) {
	in := &identity.LoginIn{Email: o.email}
	if o.tenant != "" {
		id, err := op.ParseUUID(o.tenant)
		if err != nil {
			return loginOut{}, "", usagef("--tenant: %w", err)
		}
		in.TenantID = id
	}
	var err error
	if in.Password, err = o.inv.password(ctx, o.email); err != nil {
		return loginOut{}, "", err
	}
	// The login needs neither a credential nor an organisation.
	s.token, s.org = "", ""
	c, err := o.inv.dial(s)
	if err != nil {
		return loginOut{}, "", err
	}
	out, err := callOperation(ctx, c, identity.Login, in)
	if fault.HasCode(err, fault.CodeUnauthorized) {
		return loginOut{}, "", &rejectedLoginError{err}
	}
	if err != nil {
		return loginOut{}, "", err
	}
	return loginOut{s.profile, s.baseURL, out.User, out.TenantID, out.ExpiresAt}, out.Token, nil
}

func (o *loginOptions) byToken(ctx context.Context, s settings) (loginOut, string, error) {
	raw, err := io.ReadAll(io.LimitReader(o.inv.In, 64<<10))
	if err != nil {
		return loginOut{}, "", err
	}
	s.token, s.org = strings.TrimSpace(string(raw)), ""
	if _, ok := tokenFactsOf(s.token); !ok {
		return loginOut{}, "", usagef("standard input must contain one token in JWT format and nothing else")
	}
	c, err := o.inv.dial(s)
	if err != nil {
		return loginOut{}, "", err
	}
	me, err := callOperation(ctx, c, identity.Me, &identity.MeIn{})
	if err != nil {
		return loginOut{}, "", err
	}
	return loginOut{s.profile, s.baseURL, me.User, me.TenantID, me.ExpiresAt}, s.token, nil
}

// store stores the credential and then the profile. If the second write fails, the
// credential without a profile is harmless.
func (o *loginOptions) store(s settings) error {
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

// statusOut is the output of pt auth status.
type statusOut struct {
	identity.MeOut
	Profile  string `json:"profile"`
	BaseURL  string `json:"baseUrl"`
	Source   string `json:"credentialSource"`
	DaysLeft int    `json:"daysToExpiry"`
}

// expiryWarningDays is the remaining lifetime, in days, below which pt warns about an
// API key.
const expiryWarningDays = 14

func newStatusCmd(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the current credential",
		Long: `Show the owner of the current credential, the tenant it acts in, its roles and
clearance, and the days until it expires. pt warns if an API key expires in less than 14
days.`,
		Example: `  pt auth status
  pt auth status --json --jq .data.daysToExpiry`,
		Args: cobra.NoArgs,
	}
	return inv.setRun(cmd, reflect.TypeFor[statusOut](), func(ctx context.Context, _ []string) error {
		c, s, err := inv.connect()
		if err != nil {
			return err
		}
		me, err := callOperation(ctx, c, identity.Me, &identity.MeIn{})
		if err != nil {
			return err
		}
		return inv.showStatus(ctx, s, me)
	})
}

func (inv *invocation) showStatus(ctx context.Context, s settings, me *identity.MeOut) error {
	left := me.ExpiresAt.Sub(inv.Clock.Now())
	out := statusOut{*me, s.profile, s.baseURL, s.tokenFrom, int(left / op.Days(1))}
	// A session lasts hours, so only the expiry of a key is worth a warning.
	if me.TokenKind != "session" && left < op.Days(expiryWarningDays) {
		inv.warn("the key expires in %s; issue a new one", daysText(left))
	}
	return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) {
		d.Heading(1, firstNonEmpty(me.User.DisplayName, me.User.Email, string(me.User.ID)))
		d.Field("User", strings.TrimSpace(string(me.User.ID)+" "+me.User.Email))
		d.Field("Kind", firstNonEmpty(me.User.IntegrationKey, me.User.PrincipalKind))
		d.Field("Tenant", fmt.Sprintf("%s (%s, %s)", me.TenantSlug, me.TenantName, me.TenantID))
		d.Field("Organisation", recordName(me.Organisation, me.OrganisationID))
		d.Field("Roles", strings.Join(me.Roles, ", "))
		d.Field("Clearance", me.Clearance)
		d.Field("Credential", me.TokenKind+" from "+s.tokenFrom)
		d.Field("Expires", formatTime(me.ExpiresAt)+", in "+daysText(left))
		d.Field("Service", s.baseURL)
		d.Field("Profile", s.profile)
	}})
}

// daysText formats a remaining time in days, or in hours if it is less than a day.
func daysText(left time.Duration) string {
	if left < op.Days(1) {
		return fmt.Sprintf("%d hours", max(int(left/time.Hour), 0))
	}
	return fmt.Sprintf("%d days", int(left/op.Days(1)))
}

// logoutOut is the output of pt auth logout.
type logoutOut struct {
	Profile string `json:"profile"`
	// Revoked reports whether the service revoked the session. It is false for an API key.
	Revoked bool `json:"sessionRevoked"`
}

func newLogoutCmd(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logout",
		Short: "Revoke the session and delete the stored credential",
		Long: `Delete the stored credential of the profile. A session is also revoked. An API key
stays valid until it expires or is revoked (pt revoke-key).`,
		Example: `  pt auth logout
  pt auth logout --profile ci`,
		Args: cobra.NoArgs,
	}
	return inv.setRun(cmd, reflect.TypeFor[logoutOut](), func(ctx context.Context, _ []string) error {
		s, err := inv.settings()
		if err != nil {
			return err
		}
		creds, err := inv.store.Credentials()
		if err != nil {
			return err
		}
		credential, ok := creds.Tokens[s.profile]
		if !ok {
			return &notLoggedInError{fmt.Sprintf("The profile %s has no credential.", s.profile)}
		}
		out := logoutOut{Profile: s.profile, Revoked: inv.revokeSession(ctx, s, credential)}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = inv.store.ChangeCredentials(func(c *config.Credentials) { delete(c.Tokens, s.profile) })
		if err != nil {
			return err
		}
		return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) {
			line := "Logged out of " + credential.BaseURL + " (profile " + s.profile + ")."
			if !out.Revoked {
				line = "Deleted the credential for " + credential.BaseURL + " (profile " + s.profile + ")."
			}
			d.Line(line)
		}})
	})
}

// revokeSession revokes a session and reports whether that succeeded. It returns false
// for an API key, and prints a warning if the request fails.
func (inv *invocation) revokeSession(ctx context.Context, s settings, credential config.Credential) bool {
	facts, ok := tokenFactsOf(credential.Token)
	if !ok || !facts.session {
		return false
	}
	s.baseURL, s.token, s.org = credential.BaseURL, credential.Token, ""
	c, err := inv.dial(s)
	if err == nil {
		_, err = callOperation(ctx, c, identity.Logout, &identity.LogoutIn{})
	}
	if err != nil && !errors.Is(err, context.Canceled) && !fault.HasCode(err, fault.CodeUnauthorized) {
		inv.warn("could not revoke the session at %s; it stays valid until %s", s.baseURL, formatTime(facts.expires))
	}
	return err == nil
}

// switchOut is the output of pt auth switch.
type switchOut struct {
	Current  string   `json:"current"`
	Profiles []string `json:"profiles"`
}

func newSwitchCmd(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "switch [profile]",
		Short: "Switch to a profile, or list the profiles",
		Example: `  pt auth switch
  pt auth switch work`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: inv.completeProfile,
	}
	return inv.setRun(cmd, reflect.TypeFor[switchOut](), func(ctx context.Context, args []string) error {
		c, err := inv.store.Config()
		if err != nil {
			return err
		}
		out := switchOut{firstNonEmpty(c.Current, config.DefaultProfile), profileNames(c)}
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
				d.Line("No profiles. Create one with pt auth login.")
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
