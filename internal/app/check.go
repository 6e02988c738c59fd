package app

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"slices"

	"parapet/internal/authz"
	"parapet/internal/fault"
	"parapet/internal/postgres"
	"parapet/internal/token"
)

// ServingRoles returns the login roles that every process uses. A process runs the background
// work of all modules, also of those that it does not serve.
func ServingRoles() []string {
	roles := []string{postgres.RoleAuth}
	for _, spec := range moduleSpecs() {
		roles = append(roles, spec.role)
	}
	return append(roles, postgres.RoleJobs)
}

// CheckStart returns the settings that ptd serve needs besides those that ReadSettings checks. It
// does not report a setting that is among the invalid ones.
func CheckStart(cfg Config, invalid []*SettingError) []*SettingError {
	var problems []*SettingError
	report := func(s *SettingError) {
		if !slices.ContainsFunc(invalid, func(known *SettingError) bool { return known.Name == s.Name }) {
			problems = append(problems, s)
		}
	}
	if cfg.DatabaseURL == "" {
		report(&SettingError{"DATABASE_URL", "must be set to the address of the database"})
	}
	if info, err := os.Stat(cfg.CheckpointDir); cfg.CheckpointDir != "" && (err != nil || !info.IsDir()) {
		report(&SettingError{"PT_AUDIT_CHECKPOINT_DIR", "must be an existing folder"})
	}
	return problems
}

// CheckSecrets returns nil if the secrets can sign and verify tokens.
func CheckSecrets(cfg Config) *SettingError {
	_, err := newKeyring(cfg)
	if err == nil {
		return nil
	}
	f := fault.From(err)
	return &SettingError{cmp.Or(f.Field, token.SecretSetting), f.Message}
}

// CheckPolicies compiles the policies that cfg selects and returns their revision. It checks
// policies from a folder as ptd serve does when it starts.
func CheckPolicies(ctx context.Context, cfg Config) (revision string, err error) {
	engine, err := authz.New(ctx, authz.Config{
		Source: policySource(cfg.PolicyDir), PublicKey: cfg.PolicyKey, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return "", policyError(cfg.PolicyDir, err)
	}
	return engine.Revision(), nil
}
