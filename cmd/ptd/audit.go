package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"parapet/internal/app"
	"parapet/internal/audit"
	"parapet/internal/clock"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

func newAudit(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Verify the audit log",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAuditVerify(p), newAuditKeygen(p))
	return cmd
}

var errChainBroken = errors.New("the audit log failed verification")

func newAuditVerify(p *program) *cobra.Command {
	var tenant, checkpoint string
	var publicKeys []string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify the hash chains and report the first bad row",
		Long: "Verify reads every entry in one snapshot, recomputes its hash and compares the end of each chain with its head.\n" +
			"With --checkpoint it also compares the chains with signed checkpoints (one file, or every checkpoint of a folder): their\n" +
			"signatures, times, sizes and hashes. This detects chains that were truncated or rewritten completely. Do not take the\n" +
			"public key from the place where the checkpoints are stored. Exit code 0: no problems; 1: problems were found.",
		Example: "  ptd audit verify\n  ptd audit verify --tenant 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f\n  ptd audit verify --checkpoint ./checkpoints --public-key 'parapet+1a2b3c4d+…'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var chain op.UUID
			if tenant != "" {
				id, err := op.ParseUUID(tenant)
				if err != nil {
					return &usageError{fmt.Errorf("--tenant: %w", err)}
				}
				chain = id
			}
			if (checkpoint == "") != (len(publicKeys) == 0) || (checkpoint != "" && tenant != "") {
				return &usageError{errors.New("--checkpoint and --public-key require each other and cannot be combined with --tenant")}
			}
			return p.jobsPool(cmd.Context(), func(pool *postgres.Pool) error {
				report, err := verifyAudit(cmd.Context(), pool, chain, checkpoint, publicKeys)
				if err != nil {
					return err
				}
				for _, problem := range report.Problems {
					fmt.Fprintln(p.out, problem)
				}
				fmt.Fprintf(p.out, "%d chains, %d entries, ", report.Chains, report.Entries)
				if checkpoint != "" {
					fmt.Fprintf(p.out, "%d checkpoints, ", report.Checkpoints)
				}
				fmt.Fprintf(p.out, "%d problems\n", len(report.Problems))
				if len(report.Problems) > 0 {
					return errChainBroken
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "verify only the chain of this tenant")
	cmd.Flags().StringVar(&checkpoint, "checkpoint", "", "signed checkpoint to compare with the chains, or a folder of checkpoints")
	cmd.Flags().StringArrayVar(&publicKeys, "public-key", nil, "public key of the checkpoints' signer; repeat it for each key")
	return cmd
}

func verifyAudit(ctx context.Context, pool *postgres.Pool, chain op.UUID, checkpoint string, publicKeys []string) (audit.Report, error) {
	if checkpoint == "" {
		return audit.Verify(ctx, pool, chain, nil)
	}
	return audit.VerifyCheckpoints(ctx, pool, checkpoint, publicKeys, clock.System{}.Now(), nil)
}

func newAuditKeygen(p *program) *cobra.Command {
	return &cobra.Command{
		Use:     "keygen NAME",
		Short:   "Create the key pair that signs and verifies checkpoints",
		Long:    "Keygen prints a secret key, for the setting PT_AUDIT_CHECKPOINT_KEY, and its public key.",
		Example: "  ptd audit keygen parapet.example.com",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			secret, public, err := audit.NewCheckpointKey(args[0])
			if err != nil {
				return err
			}
			fmt.Fprintf(p.out, "PT_AUDIT_CHECKPOINT_KEY=%s\npublic key: %s\n", secret, public)
			return nil
		},
	}
}

// jobsPool runs f with a pool of parapet_jobs, which may read every chain.
func (p *program) jobsPool(ctx context.Context, f func(*postgres.Pool) error) error {
	cfg, err := p.config()
	if err != nil {
		return err
	}
	if cfg.DatabaseURL == "" {
		return &app.SettingError{Name: "DATABASE_URL", Problem: "must be set to the address of the database"}
	}
	url, err := postgres.RoleURL(cfg.DatabaseURL, postgres.RoleJobs, cfg.DBRoleSecret)
	if err != nil {
		return &app.SettingError{Name: "DATABASE_URL", Problem: "must be the address of a PostgreSQL database"}
	}
	pool, err := postgres.Open(ctx, postgres.Config{URL: url, MaxConns: 2})
	if err != nil {
		return err
	}
	defer pool.Close()
	return f(pool)
}
