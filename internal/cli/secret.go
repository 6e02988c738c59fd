package cli

import (
	"bufio"
	"context"
	"io"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/op"
)

// secretField is a password in the input of an operation. A password is never the value of
// a flag, because other users can read the command line of a process.
type secretField struct {
	field op.Field
	v     reflect.Value
	// wanted reports whether to ask for the secret.
	wanted *bool
}

// isSecret reports whether a field is a password.
func isSecret(f op.Field) bool { return strings.HasSuffix(strings.ToLower(f.Name), "password") }

// bindSecret adds a field that is prompted for: always, if it is required, else with a
// flag.
func (k *call) bindSecret(cmd *cobra.Command, f op.Field) {
	wanted := f.Required
	k.secrets = append(k.secrets, secretField{f, k.in.Field(f.Index), &wanted})
	if f.Required {
		return
	}
	cmd.Flags().BoolVar(&wanted, "with-"+toKebabCase(f.Name), false,
		"prompt for: "+strings.ReplaceAll(f.Doc, "`", "'")+" Without a terminal, it is a line of standard input")
}

// readSecrets prompts for the passwords of the input.
func (k *call) readSecrets(ctx context.Context) error {
	lines := bufio.NewScanner(io.LimitReader(k.inv.In, 64<<10))
	for _, s := range k.secrets {
		if !*s.wanted {
			continue
		}
		text, err := k.inv.promptSecret(ctx, lines, labelOf(s.field.Name))
		if err != nil {
			return err
		}
		if err := (&fieldValue{field: s.field, v: s.v}).Set(text); err != nil {
			return usagef("%s: %w", s.field.Name, err)
		}
	}
	return nil
}

// promptSecret prompts for a secret on the terminal, or reads the next line of standard
// input.
func (inv *invocation) promptSecret(ctx context.Context, lines *bufio.Scanner, question string) (string, error) {
	if inv.InTerminal && inv.ReadSecret != nil {
		return inv.askSecret(ctx, question)
	}
	if !lines.Scan() {
		return "", usagef("standard input has no line for: %s", question)
	}
	return strings.TrimRight(lines.Text(), "\r"), nil
}
