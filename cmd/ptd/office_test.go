package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCreateOffice_AdministratorCreatesTenants creates a programme office with the operator
// command; its administrator then creates a tenant over HTTP.
func TestCreateOffice_AdministratorCreatesTenants(t *testing.T) {
	t.Parallel()
	_, info := seededServer(t)
	const word = "a long enough password"
	create := func(slug, password string) (string, int) {
		cmd := exec.Command(binary, "db:create-office", "--slug", slug, "--name", "Head office", "--admin-email", "worker@head.example", "--admin-name", "Worker")
		cmd.Env = []string{"DIRECT_URL=" + info.DirectURL}
		cmd.Stdin = strings.NewReader(password + "\n")
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	for note, c := range map[string]struct{ slug, password, says string }{
		"password too short": {"head", "short", "password"}, "invalid slug": {"Head Office", word, "slug"},
	} {
		if out, code := create(c.slug, c.password); code != 64 || !strings.Contains(out, c.says) {
			t.Errorf("%s: got exit code %d, %s", note, code, out)
		}
	}
	out, code := create("head", word)
	if code != 0 || strings.Contains(out, word) {
		t.Fatalf("create-office: got exit code %d, %s", code, out)
	}
	if out, code := create("head", word); code != 1 || !strings.Contains(out, "slug") {
		t.Errorf("second create-office with the slug: got exit code %d, %s; want 1", code, out)
	}
	c := &client{t: t, base: info.BaseURL}
	var session struct{ Token string }
	c.requireStatus(200, "POST", "/api/auth/login", map[string]any{"email": "worker@head.example", "password": word}).decode(t, &session)
	c.token = session.Token
	c.requireStatus(201, "POST", "/api/tenants", map[string]any{
		"slug": "branch", "name": "Branch", "organisationName": "Branch", "adminEmail": "colleague@branch.example", "adminName": "Colleague",
	})
	// The administrator sees the tenants that it created, and none of the other office.
	var list struct{ Items []struct{ Slug string } }
	c.requireStatus(200, "GET", "/api/tenants", nil).decode(t, &list)
	if len(list.Items) != 2 || list.Items[0].Slug != "branch" || list.Items[1].Slug != "head" {
		t.Errorf("tenants of the office: got %+v, want branch and head", list.Items)
	}
}
