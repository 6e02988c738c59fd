package cli

import (
	"slices"
	"strings"
	"testing"
)

// A reset needs no credential and sends none, and takes the whole link for its token.
func TestAuthResetPassword_SendsTokenAndPassword(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]reply{"POST /api/auth/password-reset": {status: 204}, "POST /api/auth/password-reset-request": {status: 202, body: "{}"}})
	got := invoke(t, s, world{stdin: "https://x.example/reset-password#abc\ncorrect horse battery\n"}, "auth", "reset-password")
	if got.code != 0 || !strings.Contains(got.out, "new password is set") || strings.Contains(got.out+got.err, "correct horse") {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
	if got := invoke(t, s, world{}, "auth", "request-reset", "--email", "worker@example.org"); got.code != 0 || !strings.Contains(got.out, "If the address has an account") {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
	want := []string{`{"token":"abc","newPassword":"correct horse battery"}`, `{"email":"worker@example.org"}`}
	if !slices.Equal(s.bodies, want) || s.headers[0].Get("Authorization") != "" || s.headers[1].Get("Authorization") != "" {
		t.Errorf("sent %q with %q", s.bodies, s.headers)
	}
	if got := invoke(t, s, world{stdin: "abc\n"}, "auth", "reset-password"); got.code != ExitUsage {
		t.Errorf("without a password: exit %d", got.code)
	}
}
