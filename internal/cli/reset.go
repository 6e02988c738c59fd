package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/identity"
)

// resetOptions are those of both commands about one's own forgotten password.
// They need no credential, and none goes with them.
type resetOptions struct {
	inv     *invocation
	baseURL string
	email   string
}

// resetDone says what was done; never a token or a password.
type resetDone struct {
	BaseURL string `json:"baseUrl"`
	Done    string `json:"done"`
}

func newRequestResetCmd(inv *invocation) *cobra.Command {
	o := &resetOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "request-reset",
		Short: "Ask for a link to set a new password",
		Long: `Asks the service to send a link for a new password to the address, if it has an
account there. The answer is the same whether or not it has one.

Set the password with the link, or with its token and pt auth reset-password.`,
		Example: `  pt auth request-reset --email worker@example.org`,
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&o.baseURL, "base-url", "", "the service's `address` (PT_BASE_URL, else the profile's, else "+defaultBaseURL+")")
	cmd.Flags().StringVar(&o.email, "email", "", "the account's e-mail `address`")
	must(cmd.MarkFlagRequired("email"))
	return inv.runs(cmd, reflect.TypeFor[resetDone](), o.request)
}

func newResetPasswordCmd(inv *invocation) *cobra.Command {
	o := &resetOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "reset-password",
		Short: "Set a new password with the token of a reset link",
		Long: `Sets a new password. The token is the part of the link behind #. It is good once,
for 30 minutes. Every session of the account ends.

It asks for the token and for the password, without showing them; where the input
is no terminal, they are its first and its second line.`,
		Example: `  pt auth reset-password --base-url https://parapet.example.org`,
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&o.baseURL, "base-url", "", "the service's `address` (PT_BASE_URL, else the profile's, else "+defaultBaseURL+")")
	return inv.runs(cmd, reflect.TypeFor[resetDone](), o.reset)
}

// dial reaches the service without a credential.
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
	return o.show(ctx, base, "If the address has an account, a link was sent to it. It is good for 30 minutes.")
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
	}{{"Token of the link", &in.Token}, {"New password", &in.NewPassword}} {
		if *question.answer, err = o.ask(ctx, lines, question.text); err != nil {
			return err
		}
	}
	// The whole link is as good as its token.
	if i := strings.LastIndexByte(in.Token, '#'); i >= 0 {
		in.Token = in.Token[i+1:]
	}
	if _, err := callOperation(ctx, c, identity.ResetPassword, in); err != nil {
		return err
	}
	return o.show(ctx, base, "The new password is set. Log in with pt auth login.")
}

func (o *resetOptions) ask(ctx context.Context, lines *bufio.Scanner, question string) (string, error) {
	if o.inv.InTerminal && o.inv.ReadSecret != nil {
		fmt.Fprintf(o.inv.Err, "%s: ", question)
		secret, err := o.inv.ReadSecret(ctx)
		fmt.Fprintln(o.inv.Err)
		return secret, err
	}
	if !lines.Scan() {
		return "", usagef("the input holds no line for: %s", question)
	}
	return strings.TrimRight(lines.Text(), "\r"), nil
}

func (o *resetOptions) show(ctx context.Context, base, done string) error {
	return o.inv.show(ctx, view{data: resetDone{base, done}, markdown: func(d *markdown.Doc) { d.Line(done) }})
}
