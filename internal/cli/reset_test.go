package cli

import (
	"slices"
	"strings"
	"testing"
)

// The commands send no credential. reset-password accepts the whole link as the token.
func TestAuthResetPassword_SendsTokenAndPassword(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]reply{"POST /api/auth/password-reset": {status: 204}, "POST /api/auth/password-reset-request": {status: 202, body: "{}"}})
	got := invoke(t, s, environment{stdin: "https://x.example/reset-password#abc\ncorrect horse battery\n"}, "auth", "reset-password")
	if got.code != 0 || !strings.Contains(got.out, "password was changed") || strings.Contains(got.out+got.err, "correct horse") {
		t.Errorf("auth reset-password: got exit %d, want %d, \"password was changed\" and no password in the output:\n%s%s", got.code, ExitDone, got.out, got.err)
	}
	if got := invoke(t, s, environment{}, "auth", "request-reset", "--email", "worker@example.org"); got.code != 0 || !strings.Contains(got.out, "If an account has this address") {
		t.Errorf("auth request-reset: got exit %d, want %d and \"If an account has this address\":\n%s%s", got.code, ExitDone, got.out, got.err)
	}
	want := []string{`{"token":"abc","newPassword":"correct horse battery"}`, `{"email":"worker@example.org"}`}
	if !slices.Equal(s.bodies, want) || s.headers[0].Get("Authorization") != "" || s.headers[1].Get("Authorization") != "" {
		t.Errorf("requests: got bodies %q with headers %q, want %q without Authorization", s.bodies, s.headers, want)
	}
	if got := invoke(t, s, environment{stdin: "abc\n"}, "auth", "reset-password"); got.code != ExitUsage {
		t.Errorf("auth reset-password without a password: got exit %d, want %d", got.code, ExitUsage)
	}
}
