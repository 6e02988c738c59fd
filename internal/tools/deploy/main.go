// Command deploy checks the files of docs/deploy with the parsers of the tools that read them:
// the Compose file with compose-go, the container file with BuildKit. Prometheus rules for
// promtool are written from the dashboard's expressions, so that promtool checks them too.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "deploy:", err)
		os.Exit(1)
	}
}

// run checks the folder args[0] and writes the expressions of the dashboard to the file args[1].
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("pass the folder docs/deploy and the file to which the expressions of the dashboard are written")
	}
	dir, rules := args[0], args[1]
	services, err := checkCompose(ctx, filepath.Join(dir, "compose.yaml"))
	if err != nil {
		return fmt.Errorf("compose.yaml: %w", err)
	}
	stages, err := checkContainerfile(filepath.Join(dir, "Containerfile"))
	if err != nil {
		return fmt.Errorf("Containerfile: %w", err)
	}
	expressions, err := writeExpressions(filepath.Join(dir, "grafana-dashboard.json"), rules)
	if err != nil {
		return fmt.Errorf("grafana-dashboard.json: %w", err)
	}
	fmt.Fprintf(out, "compose.yaml: %d services; Containerfile: %d stages; grafana-dashboard.json: %d expressions\n", services, stages, expressions)
	return nil
}

// checkCompose loads the file with its schema and consistency checks. It creates the files of
// secrets in a copy of the folder, because the repository does not contain them.
func checkCompose(ctx context.Context, path string) (services int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "compose")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	for name, content := range map[string][]byte{"compose.yaml": text, "database.env": nil, "migrate.env": nil, "ptd.env": nil} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return 0, err
		}
	}
	options, err := cli.NewProjectOptions([]string{filepath.Join(dir, "compose.yaml")}, cli.WithWorkingDirectory(dir))
	if err != nil {
		return 0, err
	}
	project, err := options.LoadProject(ctx)
	if err != nil {
		return 0, err
	}
	return len(project.Services), nil
}

// checkContainerfile parses every instruction. A warning of BuildKit's linter is an error.
func checkContainerfile(path string) (stages int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	var warnings []string
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, message string, _ []parser.Range) {
		warnings = append(warnings, rule+": "+message)
	}})
	all, _, err := instructions.Parse(parsed.AST, lint)
	if err != nil {
		return 0, err
	}
	if len(warnings) > 0 {
		return 0, errors.New(strings.Join(warnings, "; "))
	}
	return len(all), nil
}

type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

// writeExpressions writes the queries of the panels as recording rules, with the variables of
// Grafana replaced by values.
func writeExpressions(path, rules string) (expressions int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		return 0, err
	}
	values := strings.NewReplacer("$__rate_interval", "5m", "$job", ".+", "$instance", ".+")
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var list []rule
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			list = append(list, rule{fmt.Sprintf("panel:%03d", len(list)+1), values.Replace(target.Expr)})
		}
	}
	if slices.ContainsFunc(list, func(r rule) bool { return strings.Contains(r.Expr, "$") }) {
		return 0, errors.New("an expression has an unknown variable")
	}
	// JSON is YAML.
	out, err := json.MarshalIndent(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": list}}}, "", "  ")
	if err != nil {
		return 0, err
	}
	return len(list), os.WriteFile(rules, out, 0o600)
}
