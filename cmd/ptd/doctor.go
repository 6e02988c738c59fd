package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"parapet/internal/app/doctor"
)

var errProblemsFound = errors.New("the checks found problems")

func newDoctor(p *program) *cobra.Command {
	var full, asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the set-up and say how to correct it",
		Long: "Doctor checks the settings, the policies, the database (version, roles, row-level security, migrations, clock), the audit log\n" +
			"and the listen address. It changes nothing and prints no secrets. Run it with the environment of the server.\n" +
			"It verifies the newest entries of each audit chain for at most 10 seconds; --full verifies all entries.\n" +
			"Exit code 0: no problems; 1: problems were found.",
		Example: "  ptd doctor\n  ptd doctor --full --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := doctor.Run(cmd.Context(), doctor.Options{Getenv: p.getenv, Full: full})
			if err := p.printFindings(findings, asJSON); err != nil {
				return err
			}
			if doctor.HasProblem(findings) {
				return errProblemsFound
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "verify every entry of the audit log")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cmd
}

func (p *program) printFindings(findings []doctor.Finding, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(p.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"findings": findings})
	}
	w := tabwriter.NewWriter(p.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "STATUS\tCHECK\tRESULT\tREMEDY")
	for _, f := range findings {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Status, f.Check, f.Result, orDash(f.Remedy, "-"))
	}
	return w.Flush()
}
