package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"parapet/internal/audit"
	"parapet/internal/authz"
	"parapet/internal/events"
	"parapet/internal/postgres"
)

// policySource is the folder of PT_POLICY_DIR; the zero Source is the built-in policies.
func policySource(dir string) authz.Source {
	if dir == "" {
		return authz.Source{}
	}
	return authz.Dir(dir)
}

// policyError names the setting where the policies come from it.
func policyError(dir string, err error) error {
	if dir == "" {
		return fmt.Errorf("policies: %w", err)
	}
	return &SettingError{"PT_POLICY_DIR", fmt.Sprintf("the policies in %s are rejected: %s", dir, oneLine(err))}
}

// oneLine is the error's text without line breaks.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// reloadPolicies reads the policies again at every SIGHUP. The engine logs and records
// what comes of it; a rejected set leaves the present one in use.
func (a *App) reloadPolicies(ctx context.Context) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			source := policySource(a.cfg.PolicyDir)
			if a.cfg.PolicyDir == "" {
				source = authz.Embedded()
			}
			if err := a.engine.Reload(ctx, source); err != nil {
				a.log.ErrorContext(ctx, "policies not reloaded", slog.Any("error", policyError(a.cfg.PolicyDir, err)))
			}
		}
	}
}

// recordTimeout bounds the write of a reload's audit entry.
const recordTimeout = 10 * time.Second

// maxProblem bounds the text of a rejection in an audit entry, in bytes.
const maxProblem = 2000

// recordReload writes the outcome of a reload to the chain of entries without a tenant:
// the policies are those of all tenants. SIGHUP carries no person's identity, so the
// actor is the system; the entry says which signal, process and host.
func (a *App) recordReload(ctx context.Context, o authz.ReloadOutcome) error {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	changes := map[string]any{
		"before": o.Before, "after": o.After, "trigger": "SIGHUP", "operator": "operating system", "process": os.Getpid(), "host": host,
		"folder": a.cfg.PolicyDir, "signer": o.Signer,
	}
	entry := audit.Entry{ActorType: "system", Action: "policy.reloaded", ResourceType: "policy_set", ResourceID: o.After, Changes: changes}
	if o.Err != nil {
		entry.Action = "policy.rejected"
		problem := strings.ReplaceAll(oneLine(o.Err), "\x00", "")
		if len(problem) > maxProblem {
			problem = problem[:maxProblem]
		}
		changes["problem"] = strings.ToValidUTF8(problem, "")
		changes["invariant"] = o.Invariant()
	}
	entry, created := audit.Critical(entry)
	// The role that may write to the chain without a tenant.
	return a.pools.byRole[postgres.RoleAuth].InTx(ctx, "", nil, func(tx *postgres.Tx) error {
		if err := events.Append(ctx, tx, []events.Event{created}); err != nil {
			return err
		}
		return audit.Append(ctx, tx, []audit.Entry{entry})
	})
}
