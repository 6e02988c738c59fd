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

// policySource returns the folder of PT_POLICY_DIR, or the zero Source for the built-in policies.
func policySource(dir string) authz.Source {
	if dir == "" {
		return authz.Source{}
	}
	return authz.Dir(dir)
}

// policyError names the setting in the error if the policies come from a folder.
func policyError(dir string, err error) error {
	if dir == "" {
		return fmt.Errorf("policies: %w", err)
	}
	return &SettingError{"PT_POLICY_DIR", fmt.Sprintf("the policies in %s are rejected: %s", dir, oneLine(err))}
}

// oneLine returns the error's text without line breaks.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// reloadPolicies reloads the policies at every SIGHUP. The engine logs and records the
// outcome; if a set is rejected, the previous one stays active.
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
				a.log.ErrorContext(ctx, "reloading the policies failed", slog.Any("error", policyError(a.cfg.PolicyDir, err)))
			}
		}
	}
}

// recordTimeout limits the write of a reload's audit entry.
const recordTimeout = 10 * time.Second

// maxProblem limits the text of a rejection in an audit entry, in bytes.
const maxProblem = 2000

// recordReload writes the outcome of a reload to the audit chain without a tenant, because
// the policies apply to all tenants. SIGHUP identifies no person, so the actor is the
// system; the entry contains the signal, process and host.
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
	entry, created := audit.NewCriticalEntry(entry)
	// parapet_auth may write to the chain without a tenant.
	return a.pools.byRole[postgres.RoleAuth].InTx(ctx, "", nil, func(tx *postgres.Tx) error {
		if err := events.Append(ctx, tx, []events.Event{created}); err != nil {
			return err
		}
		return audit.Append(ctx, tx, []audit.Entry{entry})
	})
}
