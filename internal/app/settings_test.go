package app

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"parapet/internal/audit"
	"parapet/internal/authz"
	"parapet/internal/op"
)

func TestReadSettings_WikiTokensAreNeverRepeated(t *testing.T) {
	t.Parallel()
	const tenant = "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"
	read := func(name, value string) (Config, []*SettingError) {
		return ReadSettings(func(n string) string {
			if n == name {
				return value
			}
			return ""
		})
	}
	if c, invalid := read("WIKI_SERVICE_TOKENS", tenant+":a.b.c"); len(invalid) > 0 || c.WikiTokens[tenant] != "a.b.c" || c.LessonPrefix != "lessons" {
		t.Errorf("got %v, %v", c.WikiTokens, invalid)
	}
	for name, values := range map[string][]string{
		"WIKI_SERVICE_TOKENS":   {"sec.re.t", tenant, tenant + ":", tenant + ":secret", "acme:sec.re.t", tenant + ":sec.re.t," + tenant + ":sec.re.t", tenant + ":sec. re.t"},
		"WIKI_ZONE_URL":         {"wiki", "ftp://wiki.example", "https://user:secret@wiki.example", "https://wiki.example/?secret"},
		"PT_WIKI_LESSON_PREFIX": {"/lessons", "a//b"},
	} {
		for _, value := range values {
			_, invalid := read(name, value)
			if len(invalid) != 1 || invalid[0].Name != name || strings.Contains(invalid[0].Problem, "sec") {
				t.Errorf("%s=%s: got %v, want one error without the secret", name, value, invalid)
			}
		}
	}
}

func TestReadConfig_DefaultsAndErrors(t *testing.T) {
	t.Parallel()
	c, err := ReadConfig(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if c.Port != 3000 || !slices.Equal(c.Modules, AllModules()) || c.CheckTTL != 30*time.Second || c.CheckTTLMax != time.Minute || c.AdminTTLDays != nil || !c.DuplicateCheck {
		t.Errorf("ReadConfig without variables: got %+v, want the defaults", c)
	}
	c, err = ReadConfig(func(n string) string {
		return map[string]string{"API_KEY_TTL_MAX_ADMIN_DAYS": "90", "TASK_DUPLICATE_GATE_DISABLED": "1", "PT_TRUSTED_PROXIES": "10.0.0.0/8, 192.0.2.1"}[n]
	})
	if err != nil || *c.AdminTTLDays != 90 || c.DuplicateCheck || len(c.Proxies) != 2 {
		t.Errorf("ReadConfig with variables: got %+v, %v, want their values", c, err)
	}
	// Only the value 1 turns the check off.
	for _, value := range []string{"", "0", "true", "01", " 1", "1 ", "1.0", "yes"} {
		c, err := ReadConfig(func(n string) string {
			if n == "TASK_DUPLICATE_GATE_DISABLED" {
				return value
			}
			return ""
		})
		if err != nil || !c.DuplicateCheck {
			t.Errorf("TASK_DUPLICATE_GATE_DISABLED=%q: got the check turned off, or error %v", value, err)
		}
	}
	for name, value := range map[string]string{
		"PORT": "-1", "NODE_ENV": "a\x00b", "PT_POOL_CONNS": "0", "PT_DRAIN_SECONDS": "1h",
		"DATABASE_URL": "db.example", "DIRECT_URL": "mysql://root@db.example/x", "PT_CITUS": "yes", "PT_AGENT_COMMAND": "[]", "PT_AGENT_TIMEOUT_SECONDS": "0",
		"RUN_SCORING_DEFAULT_SAMPLE_RATE": "1.1", "RUN_SCORING_TENANT_ALLOWLIST": "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f:NaN", "PT_AUDIT_CHECKPOINT_KEY": "PRIVATE+KEY+x",
	} {
		_, err := ReadConfig(func(n string) string {
			if n == name {
				return value
			}
			return ""
		})
		var wrong *SettingError
		if !errors.As(err, &wrong) || wrong.Name != name {
			t.Errorf("%s=%q: got %v, want an error that names the setting", name, value, err)
		}
	}
}

func TestReadConfig_ScoringRates(t *testing.T) {
	t.Parallel()
	const one, two = "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f", "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e40"
	read := func(list, rate string) (Config, error) {
		return ReadConfig(func(n string) string {
			return map[string]string{"RUN_SCORING_TENANT_ALLOWLIST": list, "RUN_SCORING_DEFAULT_SAMPLE_RATE": rate}[n]
		})
	}
	for _, c := range []struct {
		list, rate string
		want       map[op.UUID]float64
	}{
		{"", "", nil}, {one, "", map[op.UUID]float64{one: 0.1}}, {one + ":1, " + two, "0.5", map[op.UUID]float64{one: 1, two: 0.5}},
		{one + ":0", "", map[op.UUID]float64{one: 0}},
	} {
		got, err := read(c.list, c.rate)
		if err != nil || !maps.Equal(got.ScoringTenants, c.want) {
			t.Errorf("list %q, default rate %q: got %v, %v", c.list, c.rate, got.ScoringTenants, err)
		}
	}
	for _, list := range []string{"acme", one + ":", one + ":2", one + ":-1", one + "," + one, one + ":0.1:0.2"} {
		if _, err := read(list, ""); err == nil {
			t.Errorf("list %q: got no error", list)
		}
	}
}

// A checkpoint folder and a checkpoint key require each other.
func TestReadConfig_CheckpointDirAndKeyRequireEachOther(t *testing.T) {
	t.Parallel()
	key, _, err := audit.NewCheckpointKey("parapet.example")
	if err != nil {
		t.Fatal(err)
	}
	read := func(dir, key string) error {
		_, err := ReadConfig(func(n string) string {
			return map[string]string{"PT_AUDIT_CHECKPOINT_DIR": dir, "PT_AUDIT_CHECKPOINT_KEY": key}[n]
		})
		return err
	}
	if err := read("/var/lib/parapet", key); err != nil {
		t.Error(err)
	}
	for missing, err := range map[string]error{"PT_AUDIT_CHECKPOINT_KEY": read("/var/lib/parapet", ""), "PT_AUDIT_CHECKPOINT_DIR": read("", key)} {
		var wrong *SettingError
		if !errors.As(err, &wrong) || wrong.Name != missing {
			t.Errorf("without %s: got %v, want an error that names it", missing, err)
		}
	}
}

// TestSettingsMarkdown_IsFresh compares docs/settings.md with the settings.
func TestSettingsMarkdown_IsFresh(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	want := SettingsMarkdown()
	if string(text) == want {
		return
	}
	got := strings.Split(string(text), "\n")
	for i, line := range strings.Split(want, "\n") {
		if i >= len(got) || got[i] != line {
			t.Fatalf("docs/settings.md is out of date at line %d; run: go run ./cmd/ptd settings --markdown > docs/settings.md\nwant %s", i+1, line)
		}
	}
	t.Fatal("docs/settings.md has lines after its end; run: go run ./cmd/ptd settings --markdown > docs/settings.md")
}

func FuzzReadConfig(f *testing.F) {
	f.Add("PORT", "3000")
	f.Add("PT_TRUSTED_PROXIES", "::1/128")
	f.Fuzz(func(t *testing.T, name, value string) {
		c, err := ReadConfig(func(n string) string {
			if n == name {
				return value
			}
			return ""
		})
		if err == nil && (c.Port < 0 || c.Port > 65535 || len(c.Modules) == 0 || c.Drain < 0 || c.CheckTTL < 0) {
			t.Fatalf("ReadConfig with %s=%q: got %+v", name, value, c)
		}
	})
}

// A policy key without a policy folder would verify nothing, so it is rejected.
func TestReadConfig_PolicyKeyRequiresPolicyDir(t *testing.T) {
	t.Parallel()
	_, public, err := authz.NewSigningKey("policies.example")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, key, wrong string }{
		{"/etc/parapet/policy", public, ""}, {"", public, "PT_POLICY_DIR"}, {"/etc/parapet/policy", "policies", "PT_POLICY_KEY"},
	} {
		_, err := ReadConfig(func(n string) string { return map[string]string{"PT_POLICY_DIR": c.dir, "PT_POLICY_KEY": c.key}[n] })
		var wrong *SettingError
		if (c.wrong == "") != (err == nil) || (err != nil && (!errors.As(err, &wrong) || wrong.Name != c.wrong)) {
			t.Errorf("%+v: got %v, want an error that names the setting, or none if wrong is empty", c, err)
		}
	}
}
