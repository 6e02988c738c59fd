package token

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"
	"time"

	"parapet/internal/clock"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

const testSecret = "a secret of more than thirty-two bytes, for tests"

// testNow returns the current time in the tests.
func testNow() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

func testKeyring(tb testing.TB, now *time.Time) *Keyring {
	tb.Helper()
	k, err := New(Config{Secret: testSecret, Clock: clock.Func(func() time.Time { return *now })})
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func testClaims() Claims {
	return Claims{
		ID: "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f", Subject: "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e40", Tenant: "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41",
		IssuedAt: testNow(), ExpiresAt: testNow().Add(time.Hour),
		Roles: []string{"Member", "Reviewer"}, RoleScopes: map[string][]string{"Reviewer": {"project:018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e42"}},
		PrincipalKind: "HUMAN", Clearance: "RESTRICTED", Caveats: []string{"read-only"}, Email: "someone@example.com",
	}
}

func TestVerify_ReturnsIssuedClaims(t *testing.T) {
	t.Parallel()
	now := testNow()
	k := testKeyring(t, &now)
	for _, kind := range []Kind{APIKey, Session, Internal} {
		c := testClaims()
		c.ExpiresAt = testNow().Add(time.Minute)
		text, err := k.Issue(c, kind)
		if err != nil {
			t.Fatal(err)
		}
		header, _ := base64.RawURLEncoding.DecodeString(text[:strings.IndexByte(text, '.')])
		if want := `{"alg":"HS256","typ":"` + string(kind) + `"}`; string(header) != want {
			t.Errorf("got header %s, want %s", header, want)
		}
		c.Kind = kind
		for _, turn := range []string{"fresh", "cached"} {
			got, err := k.Verify(text, Session, kind)
			if err != nil || !reflect.DeepEqual(got, c) {
				t.Errorf("%s, %s: got %+v, %v, want %+v", kind, turn, got, err, c)
			}
		}
		for _, other := range []Kind{APIKey, Session, Internal} {
			if _, err := k.Verify(text, other); (err == nil) != (other == kind) {
				t.Errorf("%s token verified as kind %s: got error %v", kind, other, err)
			}
		}
		if _, err := k.Verify(text); err == nil {
			t.Error("Verify without accepted kinds: got no error")
		}
	}
}

func TestVerify_ReturnsUnknownClearanceUnchanged(t *testing.T) {
	t.Parallel()
	now := testNow()
	k := testKeyring(t, &now)
	c := testClaims()
	c.Clearance = "COSMIC"
	text, err := k.Issue(c, APIKey)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := k.Verify(text, APIKey); err != nil || got.Clearance != "COSMIC" {
		t.Fatalf("got clearance %q, %v, want COSMIC", got.Clearance, err)
	}
}

func TestVerify_ChecksTimeOnEveryUse(t *testing.T) {
	t.Parallel()
	now := testNow()
	k := testKeyring(t, &now)
	text, err := k.Issue(testClaims(), APIKey)
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		at   time.Duration
		good bool
	}{{0, true}, {time.Hour - time.Second, true}, {time.Hour, false}, {2 * time.Hour, false}, {time.Minute, true}, {-time.Hour, false}}
	for _, s := range steps {
		now = testNow().Add(s.at)
		if _, err := k.Verify(text, APIKey); (err == nil) != s.good {
			t.Errorf("at %s: got error %v, want valid = %t", s.at, err, s.good)
		}
	}
}

func TestIssue_LimitsLifetimeByKind(t *testing.T) {
	t.Parallel()
	now := testNow()
	k := testKeyring(t, &now)
	for kind, longest := range map[Kind]time.Duration{APIKey: 365 * 24 * time.Hour, Session: 12 * time.Hour, Internal: 5 * time.Minute} {
		c := testClaims()
		c.ExpiresAt = c.IssuedAt.Add(longest)
		text, err := k.Issue(c, kind)
		if err != nil {
			t.Errorf("Issue %s with lifetime %s: got error %v", kind, longest, err)
		}
		if _, err := k.Verify(text, kind); err != nil {
			t.Errorf("Verify %s with lifetime %s: got error %v", kind, longest, err)
		}
		c.ExpiresAt = c.ExpiresAt.Add(time.Second)
		if _, err := k.Issue(c, kind); err == nil {
			t.Errorf("Issue %s with a lifetime of more than %s: got no error", kind, longest)
		}
	}
}

func TestIssue_RejectsClaimsThatVerifyRejects(t *testing.T) {
	t.Parallel()
	now := testNow()
	k := testKeyring(t, &now)
	changes := map[string]func(*Claims){
		"no subject":             func(c *Claims) { c.Subject = "" },
		"no jti":                 func(c *Claims) { c.ID = "" },
		"no tenant":              func(c *Claims) { c.Tenant = "" },
		"upper-case tenant":      func(c *Claims) { c.Tenant = "018F3C5E-7A10-7C3E-9D2B-5B0A4C1D2E41" },
		"no expiry":              func(c *Claims) { c.ExpiresAt = time.Time{} },
		"expiry before issue":    func(c *Claims) { c.ExpiresAt = c.IssuedAt },
		"no principal kind":      func(c *Claims) { c.PrincipalKind = "" },
		"unknown principal kind": func(c *Claims) { c.PrincipalKind = "ROOT" },
		"NUL in a role":          func(c *Claims) { c.Roles = []string{"Admin\x00"} },
		"invalid UTF-8":          func(c *Claims) { c.Email = "\xff@example.com" },
		"more than eight KB":     func(c *Claims) { c.Roles = []string{strings.Repeat("r", 8<<10)} },
		"NUL in a scoped role":   func(c *Claims) { c.RoleScopes = map[string][]string{"a\x00": {}} },
	}
	for name, change := range changes {
		c := testClaims()
		change(&c)
		if text, err := k.Issue(c, APIKey); err == nil {
			t.Errorf("%s: got token %s, want an error", name, text)
		}
	}
	if _, err := k.Issue(testClaims(), "JWT"); err == nil {
		t.Error("unknown kind: got a token, want an error")
	}
}

func TestVerify_ReturnsClaimsThatShareNoMemory(t *testing.T) {
	t.Parallel()
	now := testNow()
	k := testKeyring(t, &now)
	text, err := k.Issue(testClaims(), APIKey)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c, err := k.Verify(text, APIKey)
		if err != nil {
			t.Fatal(err)
		}
		if c.Roles[0] != "Member" || c.Caveats[0] != "read-only" || !strings.HasPrefix(c.RoleScopes["Reviewer"][0], "project:") {
			t.Fatalf("got claims %+v, changed by another caller", c)
		}
		c.Roles[0], c.Caveats[0], c.RoleScopes["Reviewer"][0] = "Admin", "", ""
		delete(c.RoleScopes, "Reviewer")
	}
}

func TestCache_IsBoundedAndForgetsByID(t *testing.T) {
	t.Parallel()
	k, err := New(Config{Secret: testSecret, Clock: clock.Func(testNow), CacheSize: 10})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	var ids []op.UUID
	for range 50 {
		c := testClaims()
		c.ID = uid.New()
		text, err := k.Issue(c, APIKey)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Verify(text, APIKey); err != nil {
			t.Fatal(err)
		}
		texts, ids = append(texts, text), append(ids, c.ID)
		if n := k.verifiedTokens.len(); n > 10 {
			t.Fatalf("got %d entries, want at most 10", n)
		}
	}
	last := len(texts) - 1
	if _, ok := k.verifiedTokens.get(newDigest(texts[last])); !ok {
		t.Fatal("the last verified token is not cached")
	}
	k.Forget(ids[last])
	if _, ok := k.verifiedTokens.get(newDigest(texts[last])); ok {
		t.Fatal("Forget: the token is still cached")
	}
	if _, err := k.Verify(texts[last], APIKey); err != nil {
		t.Fatal("Verify after Forget: got error:", err)
	}
	if _, err := k.Verify(texts[last]+"x", APIKey); err == nil {
		t.Fatal("token with trailing text: got no error")
	}
	if n := k.verifiedTokens.len(); n > 10 {
		t.Fatalf("got %d entries, want at most 10", n)
	}
}

func TestParseSecret(t *testing.T) {
	t.Parallel()
	random := []byte("0123456789abcdefghijklmnopqrstuv")
	cases := []struct{ name, text, want string }{
		{"raw", testSecret, testSecret},
		{"base64 of 32 bytes", base64.StdEncoding.EncodeToString(random), string(random)},
		{"hexadecimal is raw", strings.Repeat("0a", 32), strings.Repeat("0a", 32)},
		{"short base64 is raw", strings.Repeat("Z", 32), strings.Repeat("Z", 32)},
		{"unpadded base64 is raw", base64.RawStdEncoding.EncodeToString(random), base64.RawStdEncoding.EncodeToString(random)},
		{"a line break makes it raw", base64.StdEncoding.EncodeToString(random) + "\n", base64.StdEncoding.EncodeToString(random) + "\n"},
	}
	for _, c := range cases {
		if got, err := parseSecret(SecretSetting, c.text); err != nil || string(got) != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	for _, short := range []string{"", "short", strings.Repeat("x", 31), base64.StdEncoding.EncodeToString(random[:16])} {
		_, err := New(Config{Secret: short})
		if err == nil || !strings.Contains(err.Error(), "API_KEY_JWT_SECRET") {
			t.Errorf("%q: got %v, want an error that names API_KEY_JWT_SECRET", short, err)
		}
		if err != nil && short != "" && strings.Contains(err.Error(), short) {
			t.Errorf("the error contains the secret: %v", err)
		}
	}
}

func TestPreviousSecret_IsParsedLikeSecret(t *testing.T) {
	t.Parallel()
	random := []byte("0123456789abcdefghijklmnopqrstuv")
	encoded := base64.StdEncoding.EncodeToString(random)
	for _, c := range []struct{ note, secret, previous, wantText string }{
		{"too short", testSecret, "too short", "at least 32 bytes"},
		{"one byte short", testSecret, strings.Repeat("x", 31), "at least 32 bytes"},
		{"too short as base64", testSecret, base64.StdEncoding.EncodeToString(random[:16]), "at least 32 bytes"},
		{"same as the current secret", testSecret, testSecret, "must differ"},
		{"same as the current secret in another encoding", encoded, string(random), "must differ"},
	} {
		_, err := New(Config{Secret: c.secret, PreviousSecret: c.previous})
		if f := fault.From(err); err == nil || f.Field != PreviousSecretSetting || !strings.Contains(f.Message, c.wantText) {
			t.Errorf("%s: got %v, want an error for %s that contains %q", c.note, err, PreviousSecretSetting, c.wantText)
		}
		if err != nil && strings.Contains(err.Error(), c.previous) {
			t.Errorf("%s: the error contains the secret: %v", c.note, err)
		}
	}
	if _, err := New(Config{Secret: "short", PreviousSecret: testSecret}); fault.From(err).Field != SecretSetting {
		t.Errorf("got %v, want an error for %s: the previous secret does not sign", err, SecretSetting)
	}
}

// During a rotation, tokens signed with the old secret are valid until it is removed, and
// new tokens are signed with the new secret.
func TestPreviousSecret_VerifiesAndNeverSigns(t *testing.T) {
	t.Parallel()
	const newSecret = "the secret that comes after, also more than 32 bytes"
	ring := func(secret, previous string) *Keyring {
		t.Helper()
		k, err := New(Config{Secret: secret, PreviousSecret: previous, Clock: clock.Func(testNow)})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	issue := func(k *Keyring) string {
		t.Helper()
		text, err := k.Issue(testClaims(), APIKey)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	before, during, after := ring(testSecret, ""), ring(newSecret, testSecret), ring(newSecret, "")
	foreign := issue(ring(testSecret+" of another installation", ""))
	byOld, byNew := issue(before), issue(during)
	for _, c := range []struct {
		note string
		ring *Keyring
		text string
		good bool
	}{
		{"before the rotation, old secret", before, byOld, true},
		{"before the rotation, new secret", before, byNew, false},
		{"during the rotation, old secret", during, byOld, true},
		{"during the rotation, new secret", during, byNew, true},
		{"during the rotation, unknown secret", during, foreign, false},
		{"after the rotation, old secret", after, byOld, false},
		{"after the rotation, new secret", after, byNew, true},
	} {
		for _, turn := range []string{"fresh", "cached"} {
			if _, err := c.ring.Verify(c.text, Session, APIKey); (err == nil) != c.good {
				t.Errorf("%s, %s: got error %v, want valid = %t", c.note, turn, err, c.good)
			}
			if _, err := c.ring.Verify(c.text, Session); err == nil {
				t.Errorf("%s, %s: a key was accepted as a session", c.note, turn)
			}
		}
	}
	if n := during.PreviousSecretUses(); n != 2 {
		t.Errorf("got %d uses of the previous secret, want 2: fresh and cached", n)
	}
	if n := before.PreviousSecretUses() + after.PreviousSecretUses(); n != 0 {
		t.Errorf("got %d uses without a previous secret, want 0", n)
	}
	during.Forget(testClaims().ID)
	if n := during.verifiedTokens.len(); n != 0 {
		t.Errorf("Forget: got %d cached tokens, want none of either secret", n)
	}
}

func TestVerify_RejectsTokenOfAnotherSecret(t *testing.T) {
	t.Parallel()
	now := testNow()
	k := testKeyring(t, &now)
	other, err := New(Config{Secret: testSecret + "!", Clock: clock.Func(testNow)})
	if err != nil {
		t.Fatal(err)
	}
	text, err := other.Issue(testClaims(), APIKey)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Verify(text, APIKey); !reflect.DeepEqual(err, error(fault.Unauthorized())) {
		t.Fatalf("got %v, want fault.Unauthorized()", err)
	}
}
