package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/authz"
)

func newPolicy(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Check and sign a folder of policies",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicyCheck(p), newPolicySign(p), newPolicyKeygen(p))
	return cmd
}

func newPolicyCheck(p *program) *cobra.Command {
	var publicKey string
	cmd := &cobra.Command{
		Use:   "check DIR",
		Short: "Check whether a server would accept a policy folder",
		Long: "Check compiles the folder's policies, translates their list filters, runs their tests and checks the invariants of\n" +
			"this program, as a server does at start and at SIGHUP. With --public-key it also verifies the signature.\n" +
			"Exit code 0: the policies are accepted; 1: they are rejected.",
		Example: "  ptd policy check /etc/parapet/policy\n  ptd policy check --public-key 'policies+1a2b3c4d+…' /etc/parapet/policy",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if publicKey != "" {
				if err := authz.CheckPublicKey(publicKey); err != nil {
					return &usageError{errors.New("--public-key must be a public key such as policies+1a2b3c4d+…")}
				}
			}
			return p.checkPolicies(cmd, args[0], publicKey)
		},
	}
	cmd.Flags().StringVar(&publicKey, "public-key", "", "public key of the folder's signer")
	return cmd
}

// checkPolicies checks a folder as a server would and prints its revision.
func (p *program) checkPolicies(cmd *cobra.Command, dir, publicKey string) error {
	engine, err := authz.New(cmd.Context(), authz.Config{Source: authz.Dir(dir), PublicKey: publicKey, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("the policies in %s were rejected: %w", dir, err)
	}
	fmt.Fprintf(p.out, "revision %s is accepted\n", engine.Revision())
	return nil
}

func newPolicySign(p *program) *cobra.Command {
	var keyFile string
	cmd := &cobra.Command{
		Use:   "sign DIR",
		Short: "Check a folder of policies and sign it",
		Long: "Sign checks the folder as ptd policy check does and writes " + authz.SignatureFile + " into it: a signed list with the hash of\n" +
			"every file that a server reads. Servers with PT_POLICY_KEY accept the folder only with it. Any change to a file\n" +
			"needs a new signature. Keep the key file away from the servers and from everyone who can write to the folder.",
		Example: "  ptd policy sign --key-file policy.key /etc/parapet/policy",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if keyFile == "" {
				return &usageError{errors.New("--key-file is required: the file that ptd policy keygen wrote")}
			}
			key, err := os.ReadFile(keyFile)
			if err != nil {
				return err
			}
			if err := p.checkPolicies(cmd, args[0], ""); err != nil {
				return err
			}
			signature, revision, err := authz.Sign(authz.Dir(args[0]), strings.TrimSpace(string(key)))
			if err != nil {
				return err
			}
			path := filepath.Join(args[0], authz.SignatureFile)
			if err := os.WriteFile(path, signature, 0o644); err != nil { //nolint:gosec // a signature is public
				return err
			}
			fmt.Fprintf(p.out, "signed revision %s in %s\n", revision, path)
			return nil
		},
	}
	cmd.Flags().StringVar(&keyFile, "key-file", "", "file with the secret key")
	return cmd
}

func newPolicyKeygen(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "keygen NAME FILE",
		Short: "Create the key pair that signs and verifies policies",
		Long: "Keygen writes the secret key to FILE, which must not exist yet, and prints the public key, for the setting\n" +
			"PT_POLICY_KEY of the servers. NAME identifies the signer in audit entries.",
		Example: "  ptd policy keygen policies.example.com policy.key",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			secret, public, err := authz.NewSigningKey(args[0])
			if err != nil {
				return &usageError{fmt.Errorf("invalid key name %q: a name must not contain spaces or plus signs", args[0])}
			}
			f, err := os.OpenFile(args[1], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(f, secret)
			if err = errors.Join(err, f.Close()); err != nil {
				return err
			}
			fmt.Fprintf(p.out, "PT_POLICY_KEY=%s\n", public)
			return nil
		},
	}
}
