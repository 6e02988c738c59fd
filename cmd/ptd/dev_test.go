package main

import (
	"encoding/base64"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestServiceKey_IssueUseAndRevoke covers the life of a service key: an administrator
// issues it, the integration can read but not write with it, and after the revocation two
// processes on one database reject it.
func TestServiceKey_IssueUseAndRevoke(t *testing.T) {
	t.Parallel()
	_, info := seededServer(t)
	second := startSecondServer(t, info.DatabaseURL, info.APIKeyJWTSecret)
	admin := login(t, info, info.BaseURL, "admin@acme.example")
	acme, _ := findUser(t, info, "admin@acme.example")
	var service string
	for _, u := range acme.Users {
		if u.IntegrationKey != nil && *u.IntegrationKey == "multi-llm-review" {
			service = string(u.ID)
		}
	}
	var key struct {
		Token, ID string
		Expiry    time.Time
	}
	admin.requireStatus(201, "POST", "/api/auth/api-keys/service", map[string]any{"label": "CI", "targetUserId": service}).decode(t, &key)
	if days := time.Until(key.Expiry).Hours() / 24; days < 89.9 || days > 90.1 {
		t.Errorf("key lifetime: got %.2f days, want 90", days)
	}
	header, claims := decode(t, key.Token)
	if header["typ"] != "pt-api-key+jwt" || header["alg"] != "HS256" {
		t.Errorf("token header: got %v, want pt-api-key+jwt and HS256", header)
	}
	if claims["sub"] != service || claims["tenant_id"] != string(acme.ID) || claims["jti"] != key.ID || claims["principal_kind"] != "SERVICE" ||
		!reflect.DeepEqual(claims["roles"], []any{"multi-llm-review"}) || claims["exp"] == nil {
		t.Errorf("token claims: got %v, want the service principal, its tenant, key and role, and an expiry", claims)
	}
	manager := login(t, info, info.BaseURL, "project-manager@acme.example")
	var project, task struct{ ID, Key string }
	manager.requireStatus(201, "POST", "/api/projects", map[string]any{"name": "Walls", "startDate": "2027-01-01"}).decode(t, &project)
	manager.requireStatus(201, "POST", "/api/projects/"+project.ID+"/tasks", map[string]any{"title": "Build one"}).decode(t, &task)
	bots := []*client{{t: t, base: info.BaseURL, token: key.Token}, {t: t, base: second, token: key.Token}}
	for _, bot := range bots {
		bot.requireStatus(200, "GET", "/api/projects", nil)
		bot.requireStatus(200, "GET", "/api/projects/"+project.ID+"/tasks", nil)
		e := bot.requireStatus(403, "PATCH", "/api/projects/"+project.ID+"/tasks/"+task.ID, map[string]any{"progress": 5}).decodeError(t)
		if e.Error.Code != "FORBIDDEN" || e.Error.Permission != "task.update" {
			t.Errorf("update with the key: got %+v, want FORBIDDEN that names task.update", e)
		}
		bot.requireStatus(403, "POST", "/api/auth/api-keys/service", map[string]any{"label": "more", "targetUserId": service})
	}
	admin.requireStatus(200, "DELETE", "/api/auth/api-keys/"+key.ID+"?serviceOwned=true", map[string]any{"reason": "rotated"})
	for _, bot := range bots {
		for deadline := time.Now().Add(61 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			a := bot.do("GET", "/api/projects", nil)
			if a.status == 401 {
				if e := a.decodeError(t); e.Error.Code != "UNAUTHORIZED" || e.Error.Reason != "" {
					t.Errorf("request with a revoked key: got %+v, want UNAUTHORIZED without a reason", e)
				}
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s still accepts the revoked key", bot.base)
			}
		}
	}
}

// startSecondServer starts `ptd serve` on the same database and returns its URL.
func startSecondServer(t *testing.T, databaseURL, secret string) string {
	t.Helper()
	port := freePort(t)
	start(t, []string{"DATABASE_URL=" + databaseURL, "API_KEY_JWT_SECRET=" + secret}, "serve", "--port", port)
	base := "http://127.0.0.1:" + port
	waitReady(t, base)
	return base
}

func decode(t *testing.T, token string) (header, claims map[string]any) {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("token: got %d parts, want a compact JWS", len(parts))
	}
	for i, into := range []*map[string]any{&header, &claims} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	return header, claims
}

// TestDev_SeedsTenantsOnce verifies the seeded tenants that other programs rely on, and that
// a second start on the folder, after the first was killed, finds the same.
func TestDev_SeedsTenantsOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, info := devServer(t, dir)
	kinds := map[string]string{}
	for _, tenant := range info.Tenants {
		kinds[tenant.Slug] = tenant.Type
		if len(tenant.Organisations) == 0 {
			t.Errorf("tenant %s: got no organisation", tenant.Slug)
		}
		var roles, integrations, clearances []string
		agents := map[string]int{}
		for _, u := range tenant.Users {
			roles = append(roles, u.Roles...)
			if u.IntegrationKey != nil {
				integrations = append(integrations, *u.IntegrationKey)
			}
			if u.Clearance != nil {
				clearances = append(clearances, *u.Clearance)
			}
			if u.PrincipalKind == "AGENT" {
				agents[u.Status]++
			}
		}
		for _, role := range []string{"Admin", "Project Manager", "Member", "Reviewer", "Auditor", "Guest Customer", "Agent", "PLATFORM_ADMIN"} {
			if !slices.Contains(roles, role) {
				t.Errorf("tenant %s: no user has the role %s", tenant.Slug, role)
			}
		}
		for _, tier := range []string{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL", "SECRET"} {
			if !slices.Contains(clearances, tier) {
				t.Errorf("tenant %s: no user has the clearance %s", tenant.Slug, tier)
			}
		}
		slices.Sort(integrations)
		if !slices.Equal(integrations, []string{"multi-llm-review", "spec-wiki-sync"}) {
			t.Errorf("tenant %s: got service principals %v", tenant.Slug, integrations)
		}
		if agents["ACTIVE"] != 1 || agents["SUSPENDED"] != 1 {
			t.Errorf("tenant %s: got agents %v, want one active and one suspended", tenant.Slug, agents)
		}
	}
	if !reflect.DeepEqual(kinds, map[string]string{"acme": "STANDARD", "globex": "STANDARD", "northwind": "PROGRAMME_OFFICE"}) {
		t.Errorf("tenants: got %v, want two standard tenants and one programme office", kinds)
	}
	for module, url := range info.ModuleURLs {
		if !strings.Contains(url, "parapet_"+module) {
			t.Errorf("address of module %s: got %s", module, url)
		}
	}
	// Every user with a password can log in; the visitor can log in to both tenants.
	for _, tenant := range info.Tenants {
		for _, u := range tenant.Users {
			if u.Password == nil {
				continue
			}
			c := &client{t: t, base: info.BaseURL}
			var out struct {
				Token, TenantID string
				ExpiresAt       time.Time
				User            struct{ ID, Email string }
			}
			c.requireStatus(200, "POST", "/api/auth/login", map[string]any{"email": u.Email, "password": *u.Password, "tenantId": tenant.ID}).decode(t, &out)
			if out.TenantID != string(tenant.ID) || out.User.ID != string(u.ID) || time.Until(out.ExpiresAt) < 11*time.Hour {
				t.Errorf("login of %s: got %+v", u.Email, out)
			}
		}
	}
	manager := login(t, info, info.BaseURL, "project-manager@acme.example")
	var project struct{ ID string }
	manager.requireStatus(201, "POST", "/api/projects", map[string]any{"name": "Kept", "startDate": "2027-01-01"}).decode(t, &project)
	// Acknowledged writes survive when everything is killed.
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.done
	p.done <- nil
	p, again := devServer(t, dir)
	if !reflect.DeepEqual(again.Tenants, info.Tenants) {
		t.Errorf("info after a second start: got other tenants:\n%+v\n%+v", info.Tenants, again.Tenants)
	}
	if again.APIKeyJWTSecret != info.APIKeyJWTSecret || again.CronSecret != info.CronSecret {
		t.Error("info after a second start: got other secrets")
	}
	login(t, again, again.BaseURL, "project-manager@acme.example").requireStatus(200, "GET", "/api/projects/"+project.ID, nil)
	if err := p.stop(); err != nil {
		t.Errorf("stop after SIGTERM: %v\n%s", err, p.err.String())
	}
	if _, err := os.Stat(dir + "/postgres/data/postmaster.pid"); err == nil {
		t.Error("the database runs after SIGTERM")
	}
}

// TestDev_InvalidSettings_PrintsOneLine expects one line that names the setting or the
// folder, before a cluster is created.
func TestDev_InvalidSettings_PrintsOneLine(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	used := t.TempDir()
	lock, err := os.Create(filepath.Join(used, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	if _, err := lock.WriteString("4711\n"); err != nil {
		t.Fatal(err)
	}
	// Lock the folder as another ptd dev does.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir, port string
		env       []string
		says      []string
	}{
		"port in use":               {port: port, says: []string{"PORT", port, "in use"}},
		"folder in use":             {dir: used, port: "0", says: []string{used, "4711", "--data-dir"}},
		"secret too short":          {port: "0", env: []string{"API_KEY_JWT_SECRET=short"}, says: []string{"API_KEY_JWT_SECRET", "32 bytes"}},
		"previous secret too short": {port: "0", env: []string{"API_KEY_JWT_SECRET_PREVIOUS=short"}, says: []string{"API_KEY_JWT_SECRET_PREVIOUS", "32 bytes"}},
		"address of another host":   {port: "0", env: []string{"PT_HOST=192.0.2.1"}, says: []string{"PT_HOST", "192.0.2.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := c.dir
			if dir == "" {
				dir = t.TempDir()
			}
			cmd := exec.CommandContext(t.Context(), binary, "dev", "--port", c.port, "--data-dir", dir)
			cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, c.env...)
			out, err := cmd.CombinedOutput()
			text := strings.TrimSpace(string(out))
			if err == nil || strings.Contains(text, "\n") {
				t.Fatalf("want one line, got %v: %s", err, text)
			}
			for _, word := range c.says {
				if !strings.Contains(text, word) {
					t.Errorf("output %q: does not contain %q", text, word)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "postgres")); err == nil {
				t.Error("a cluster was created")
			}
			t.Log(text)
		})
	}
}
