package archtest

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	metricName  = regexp.MustCompile(`\bparapet_[a-z_]+`)
	alertName   = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)
	alertTested = regexp.MustCompile(`alertname: (\w+)`)
	alertRow    = regexp.MustCompile("(?m)^\\| `(Parapet\\w+)` \\|")
	settingRow  = regexp.MustCompile("(?m)^\\| `([A-Z][A-Z0-9_]+)` \\|")
	variable    = regexp.MustCompile(`\b(?:PT|API_KEY|OTEL|AGENT|RUN|PRINCIPAL|TASK)_[A-Z0-9_]+\b|\b(?:DATABASE_URL|DIRECT_URL|PORT|NODE_ENV|CRON_SECRET)\b`)
	fromLine    = regexp.MustCompile(`(?m)^FROM (\S+)`)
)

// TestDeploy_MetricsExist: an alert on a metric that was renamed never fires.
func TestDeploy_MetricsExist(t *testing.T) {
	t.Parallel()
	declared := declaredMetrics(t)
	for name, least := range map[string]int{"prometheus-alerts.yaml": 10, "prometheus-alerts-test.yaml": 10, "grafana-dashboard.json": 20} {
		found := map[string]bool{}
		for _, metric := range metricName.FindAllString(string(readFile(t, "docs/deploy/"+name)), -1) {
			metric = strings.TrimSuffix(metric, "_bucket")
			found[metric] = true
			if !declared[metric] {
				t.Errorf("docs/deploy/%s: the metric %s is not in the code", name, metric)
			}
		}
		if len(found) < least {
			t.Errorf("docs/deploy/%s: found %d metrics, expected at least %d: does the pattern still match?", name, len(found), least)
		}
	}
}

// TestDeploy_DashboardShowsEveryMetric: operators find out about a metric from the dashboard.
func TestDeploy_DashboardShowsEveryMetric(t *testing.T) {
	t.Parallel()
	text := string(readFile(t, "docs/deploy/grafana-dashboard.json"))
	for metric := range declaredMetrics(t) {
		if !strings.Contains(text, metric) {
			t.Errorf("docs/deploy/grafana-dashboard.json does not show %s", metric)
		}
	}
}

// TestDeploy_AlertsAreDocumented compares the rules with the table in the operators' guide.
func TestDeploy_AlertsAreDocumented(t *testing.T) {
	t.Parallel()
	rules, listed := map[string]bool{}, map[string]bool{}
	for _, m := range alertName.FindAllStringSubmatch(string(readFile(t, "docs/deploy/prometheus-alerts.yaml")), -1) {
		rules[m[1]] = true
	}
	for _, m := range alertRow.FindAllStringSubmatch(documents(t)["docs/operators.md"], -1) {
		listed[m[1]] = true
	}
	requireSame(t, "docs/operators.md, alert", listed, rules)
	for _, m := range alertTested.FindAllStringSubmatch(string(readFile(t, "docs/deploy/prometheus-alerts-test.yaml")), -1) {
		if !rules[m[1]] {
			t.Errorf("docs/deploy/prometheus-alerts-test.yaml tests the alert %s, which does not exist", m[1])
		}
	}
}

// TestDeploy_SettingsExist: a misspelled setting has no effect.
func TestDeploy_SettingsExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, m := range settingRow.FindAllStringSubmatch(documents(t)["docs/settings.md"], -1) {
		known[m[1]] = true
	}
	for _, name := range []string{"Containerfile", "compose.yaml", "parapet.service", "prometheus-alerts.yaml"} {
		found := variable.FindAllString(string(readFile(t, "docs/deploy/"+name)), -1)
		if len(found) == 0 {
			t.Errorf("docs/deploy/%s: found no setting: does the pattern still match?", name)
		}
		for _, setting := range found {
			if !known[setting] {
				t.Errorf("docs/deploy/%s: the setting %s is not in docs/settings.md", name, setting)
			}
		}
	}
}

// TestDeploy_ComposeFileContainsNoSecret: a default password stays in use.
func TestDeploy_ComposeFileContainsNoSecret(t *testing.T) {
	t.Parallel()
	text := string(readFile(t, "docs/deploy/compose.yaml"))
	if m := regexp.MustCompile(`(?m)^ *-? *"?\w*(?:PASSWORD|SECRET|TOKEN|KEY)\w*"? *[:=].*$`).FindString(text); m != "" {
		t.Errorf("docs/deploy/compose.yaml sets a secret: %s", m)
	}
	if m := regexp.MustCompile(`postgres://[^/\s]*:[^/\s]*@\S*`).FindString(text); m != "" {
		t.Errorf("docs/deploy/compose.yaml contains an address with a password: %s", m)
	}
	for _, file := range []string{"database.env", "migrate.env", "ptd.env"} {
		if !strings.Contains(text, "env_file: ["+file+"]") || !strings.Contains(documents(t)["docs/operators.md"], "> "+file+"\n") {
			t.Errorf("the secrets in %s must be in docs/deploy/compose.yaml, and docs/operators.md must explain how to create the file", file)
		}
	}
}

// TestDeploy_ContainerHasBothProgramsAndNoPrivileges checks the container file.
func TestDeploy_ContainerHasBothProgramsAndNoPrivileges(t *testing.T) {
	t.Parallel()
	text := string(readFile(t, "docs/deploy/Containerfile"))
	stages := fromLine.FindAllStringSubmatch(text, -1)
	if len(stages) != 2 {
		t.Fatalf("got %d stages, want one to build and one to run", len(stages))
	}
	for _, stage := range stages {
		registry, _, _ := strings.Cut(stage[1], "/")
		_, tag, _ := strings.Cut(stage[1], ":")
		if !strings.Contains(registry, ".") || tag == "" || tag == "latest" {
			t.Errorf("base image %s: name its registry, and a tag or digest that is not latest", stage[1])
		}
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(readFile(t, "go.mod"))
	if want := "golang:" + string(version[1]); !strings.Contains(stages[0][1], want) {
		t.Errorf("the programs are built with %s; go.mod wants %s", stages[0][1], want)
	}
	final := text[strings.LastIndex(text, "\nFROM "):]
	if !strings.Contains(stages[1][1], "distroless") || !regexp.MustCompile(`(?m)^USER [1-9]\d*:[1-9]\d*$`).MatchString(final) {
		t.Error("the image must be distroless and run as a numeric user that is not root")
	}
	for _, program := range []string{"/src/bin/ptd", "/src/bin/pt "} {
		if !strings.Contains(final, program) {
			t.Errorf("the image does not contain %s", program)
		}
	}
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct{ Expr, RefID string }
	Datasource               struct{ UID string }
}

// TestDeploy_DashboardPanelsAreComplete checks what Grafana does not report when it loads a
// dashboard.
func TestDeploy_DashboardPanelsAreComplete(t *testing.T) {
	t.Parallel()
	var dashboard struct {
		Panels     []panel
		Templating struct {
			List []struct{ Name string }
		}
	}
	if err := json.Unmarshal(readFile(t, "docs/deploy/grafana-dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	variables := map[string]bool{"$__rate_interval": true}
	for _, v := range dashboard.Templating.List {
		variables["$"+v.Name] = true
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d %q: its id must be unique and its title set", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q: covers %q or exceeds the width of 24", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || p.Datasource.UID != "$datasource" || len(p.Targets) == 0 {
			t.Errorf("panel %q: description, unit, data source $datasource and queries are required", p.Title)
		}
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`\$\w+`).FindAllString(target.Expr, -1) {
				if !variables[name] {
					t.Errorf("panel %q: unknown variable %s; known: %v", p.Title, name, slices.Sorted(maps.Keys(variables)))
				}
			}
			if !strings.Contains(target.Expr, `job=~"$job", instance=~"$instance"`) {
				t.Errorf("panel %q: %s ignores the selected job and instance", p.Title, target.Expr)
			}
		}
	}
}
