// Package doctor checks the set-up of an installation: settings, policies, database, audit log
// and listen address.
//
// It guarantees:
//   - It changes nothing.
//   - Every problem has a remedy.
//   - No finding contains a secret.
package doctor

import (
	"context"
	"fmt"
	"time"

	"parapet/internal/app"
	"parapet/internal/clock"
)

// Status is the outcome of a check.
type Status string

// Outcomes of a check.
const (
	OK      Status = "ok"
	Problem Status = "problem"
	// Skipped: another problem makes the check impossible.
	Skipped Status = "skipped"
)

// Finding is the outcome of one check.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Result string `json:"result"`
	// Remedy says how to solve a problem.
	Remedy string `json:"remedy,omitempty"`
}

// Options configure Run.
type Options struct {
	Getenv func(string) string
	// Full verifies the whole audit log, however long that takes.
	Full bool
	// Clock is the clock of this machine; nil means the system's.
	Clock clock.Clock
}

// Limits of the checks.
const (
	// checkTimeout limits each check of the database, except a full verification.
	checkTimeout = 10 * time.Second
	// tailEntries is how many of the newest entries of each chain are verified.
	tailEntries = 1000
	// maxClockDifference is the largest difference between two clocks that is accepted. A
	// token that another process issued is rejected while it seems to come from the future.
	maxClockDifference = 2 * time.Second
)

// examination collects the findings of one run.
type examination struct {
	options  Options
	cfg      app.Config
	findings []Finding
}

// Run runs every check and returns the findings in order.
func Run(ctx context.Context, o Options) []Finding {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	e := &examination{options: o}
	e.checkSettings()
	e.checkPolicies(ctx)
	e.checkDatabase(ctx)
	e.checkListenAddress(ctx)
	return e.findings
}

// HasProblem reports whether one of the findings is a problem.
func HasProblem(findings []Finding) bool {
	for _, f := range findings {
		if f.Status == Problem {
			return true
		}
	}
	return false
}

func (e *examination) ok(check, format string, args ...any) {
	e.findings = append(e.findings, Finding{Check: check, Status: OK, Result: fmt.Sprintf(format, args...)})
}

func (e *examination) problem(check, result, remedy string) {
	e.findings = append(e.findings, Finding{Check: check, Status: Problem, Result: result, Remedy: remedy})
}

func (e *examination) skip(check, reason string) {
	e.findings = append(e.findings, Finding{Check: check, Status: Skipped, Result: reason})
}

// checkSettings reports every invalid setting. Later checks use the default of such a setting.
func (e *examination) checkSettings() {
	var invalid []*app.SettingError
	e.cfg, invalid = app.ReadSettings(e.options.Getenv)
	invalid = append(invalid, app.CheckStart(e.cfg, invalid)...)
	if s := app.CheckSecrets(e.cfg); s != nil {
		invalid = append(invalid, s)
	}
	for _, problem := range invalid {
		e.problem("setting "+problem.Name, problem.Problem, "Correct the variable. `ptd settings` describes it.")
	}
	if len(invalid) == 0 {
		e.ok("settings", "all %d settings are valid", len(app.Settings()))
	}
}

func (e *examination) checkPolicies(ctx context.Context) {
	source := "the policies in the program"
	if e.cfg.PolicyDir != "" {
		source = "the policies in " + e.cfg.PolicyDir
	}
	revision, err := app.CheckPolicies(ctx, e.cfg)
	if err != nil {
		e.problem("policies", err.Error(), "Correct the policies. `ptd policy check "+e.cfg.PolicyDir+"` shows the details.")
		return
	}
	e.ok("policies", "%s compile, revision %.12s", source, revision)
}
