package app

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"parapet/internal/authz"
)

// policySource is the folder of PT_POLICY_DIR, or the built-in policies.
func policySource(dir string) authz.Source {
	if dir == "" {
		return authz.Embedded()
	}
	return authz.Dir(dir)
}

// reloadPolicies takes the policies of the folder anew at every SIGHUP. What is
// wrong with a set is in the log, and the present set stays.
func (a *App) reloadPolicies(ctx context.Context) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			if err := a.engine.Reload(ctx, policySource(a.cfg.PolicyDir)); err != nil {
				a.log.ErrorContext(ctx, "policies not reloaded", slog.Any("error", err))
			}
		}
	}
}
