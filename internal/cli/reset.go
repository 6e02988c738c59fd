package cli

import (
	"bufio"
	"context"
	"io"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/identity"
)

// resetOptions are the options of request-reset and reset-password. Both commands work
// without a credential and send none.
type resetOptions struct {
	inv     *invocation
	baseURL string
	email   string
}

// resetOut is the output of request-reset and reset-password. It contains neither a
// token nor a password.
type resetOut struct {
	BaseURL string `json:"baseUrl"`
	Done    string `json:"done"`
}

func newRequestResetCmd(inv *invocation) *cobra.Command {
	o := &resetOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "request-reset",
		Short: "Request a link to reset a forgotten password",
		Long: `Request a link to reset your password. The service sends it to the email address if an
account has that address. The response is the same if there is no account.

Set the new password with the link, or with the token in it and pt auth reset-password.`,
		Example: `  pt auth request-reset --email worker@example.org`,
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&o.baseURL, "base-url", "", "`URL` of the service (default: PT_BASE_URL, else the profile's, else "+defaultBaseURL+")")
	cmd.Flags().StringVar(&o.email, "email", "", "email `address` of the account")
	must(cmd.MarkFlagRequired("email"))
	return inv.setRun(cmd, reflect.TypeFor[resetOut](), o.request)
}

func newResetPasswordCmd(inv *invocation) *cobra.Command {
	o := &resetOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "reset-password",
		Short: "Set a new password with the token of a reset link",
		Long: `Set a new password with the token of a reset link: the part after #. A token is valid
for 30 minutes and can be used once. All sessions of the account are revoked.

pt prompts for the token and the password; without a terminal, it reads them from the
first two lines of standard input.`,
		Example: `  pt auth reset-password --base-url https://parapet.example.org`,
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&o.baseURL, "base-url", "", "`URL` of the service (default: PT_BASE_URL, else the profile's, else "+defaultBaseURL+")")
	return inv.setRun(cmd, reflect.TypeFor[resetOut](), o.reset)
}

// dial returns a client without a credential, and the URL of the service.
func (o *resetOptions) dial() (*client.Client, string, error) {
	s, err := o.inv.settings()
	if err != nil {
		return nil, "", err
	}
	if o.baseURL != "" {
		base, err := client.ParseBaseURL(o.baseURL)
		if err != nil {
			return nil, "", usagef("--base-url %q: %w", o.baseURL, err)
		}
		s.baseURL = base.String()
	}
	s.token, s.org = "", ""
	c, err := o.inv.dial(s)
	return c, s.baseURL, err
}

func (o *resetOptions) request(ctx context.Context, _ []string) error {
	c, base, err := o.dial()
	if err != nil {
		return err
	}
	if _, err := callOperation(ctx, c, identity.RequestPasswordReset, &identity.RequestPasswordResetIn{Email: o.email}); err != nil {
		return err
	}
	return o.show(ctx, base, "If an account has this address, a reset link was sent to it. The link is valid for 30 minutes.")
}

func (o *resetOptions) reset(ctx context.Context, _ []string) error {
	c, base, err := o.dial()
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(io.LimitReader(o.inv.In, 64<<10))
	in := &identity.ResetPasswordIn{}
	for _, question := range []struct {
		text   string
		answer *string
	}{{"Token from the link", &in.Token}, {"New password", &in.NewPassword}} {
		if *question.answer, err = o.inv.promptSecret(ctx, lines, question.text); err != nil {
			return err
		}
	}
	// Accept the whole link in place of its token.
	if i := strings.LastIndexByte(in.Token, '#'); i >= 0 {
		in.Token = in.Token[i+1:]
	}
	if _, err := callOperation(ctx, c, identity.ResetPassword, in); err != nil {
		return err
	}
	return o.show(ctx, base, "The password was changed. Log in with pt auth login.")
}

func (o *resetOptions) show(ctx context.Context, base, done string) error {
	return o.inv.show(ctx, view{data: resetOut{base, done}, markdown: func(d *markdown.Doc) { d.Line(done) }})
}
