package dev

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/op"
	"parapet/internal/uid"
)

// stage is the server under attack, with its database and its signing secret.
type stage struct {
	*Dev
	t   *testing.T
	log *logged
}

// logged is a log buffer that is safe for concurrent use.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// TestServer_ResistsAttacks attacks a real server with a real PostgreSQL. The attacker knows
// the source code and the signing secret.
func TestServer_ResistsAttacks(t *testing.T) {
	t.Parallel()
	log := &logged{}
	s := &stage{Dev: startDevWith(t, nil, slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), t: t, log: log}
	for _, a := range []struct {
		name string
		run  func(*stage)
	}{
		{"forged tokens get the same 401", rejectForgedTokens},
		{"tokens with the same id", useTokensWithSameID},
		{"acting in another tenant", actInAnotherTenant},
		{"keys", checkKeyRules},
		{"the wiki", checkWiki},
		{"climbing", escalatePrivileges},
		{"cursors and idempotency keys are bound to the caller", reuseCursorsAndKeys},
		{"reasons of the principal check", checkLiveness},
		{"database privileges and row-level security", checkDatabasePrivileges},
		{"no secrets in logs and tables", searchForSecrets},
		{"every decision can be replayed", replayAllDecisions},
	} {
		t.Run(a.name, func(t *testing.T) { s.t = t; a.run(s) })
	}
}

// answer is a response of the server.
type answer struct {
	Code int
	Body string
	// Error is the content of the error envelope, if there is one.
	Error struct{ Code, Message, Reason, Field, Permission, RequestID string }
}

// do sends a request, and repeats it while the server is busy.
func (s *stage) do(method, path, token string, in any, headers ...string) answer {
	s.t.Helper()
	return untilNotBusy(func() answer { return s.send(method, path, token, in, headers...) }, func(a answer) string { return a.Error.Code })
}

func (s *stage) send(method, path, token string, in any, headers ...string) answer {
	s.t.Helper()
	var body []byte
	switch in := in.(type) {
	case nil:
	case string:
		body = []byte(in)
	default:
		var err error
		if body, err = json.Marshal(in); err != nil {
			s.t.Fatal(err)
		}
	}
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.App().Handler().ServeHTTP(w, r)
	a := answer{Code: w.Code, Body: w.Body.String()}
	var e struct {
		Error *struct{ Code, Message, Reason, Field, Permission, RequestID string }
	}
	if a.Code >= 400 && json.Unmarshal(w.Body.Bytes(), &e) == nil && e.Error != nil {
		a.Error = *e.Error
	}
	return a
}

// want sends a request and expects this status and text in the response.
func (s *stage) want(status int, text, method, path, token string, in any, headers ...string) answer {
	s.t.Helper()
	a := s.do(method, path, token, in, headers...)
	if a.Code != status || !strings.Contains(a.Body, text) {
		s.t.Errorf("%s %s %v: got %d %s, want %d with %q", method, path, headers, a.Code, a.Body, status, text)
	}
	return a
}

// field returns a text member of the response.
func (a answer) field(t *testing.T, name string) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(a.Body), &m); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	text, _ := m[name].(string)
	if text == "" {
		t.Fatalf("response without the member %s: %s", name, a.Body)
	}
	return text
}

func (s *stage) tenant(slug string) Tenant {
	s.t.Helper()
	i := slices.IndexFunc(s.info.Tenants, func(t Tenant) bool { return t.Slug == slug })
	if i < 0 {
		s.t.Fatalf("no seeded tenant %s", slug)
	}
	return s.info.Tenants[i]
}

func (s *stage) user(slug, email string) op.UUID {
	s.t.Helper()
	for _, u := range s.tenant(slug).Users {
		if u.Email == email {
			return u.ID
		}
	}
	s.t.Fatalf("no seeded user %s", email)
	return ""
}

// loginAs logs in as the user and returns the session token.
func (s *stage) loginAs(email string) string { s.t.Helper(); return s.login(s.t, email) }

// key issues a personal key with the session and returns it.
func (s *stage) key(session string) string {
	s.t.Helper()
	return s.want(201, "token", "POST", "/api/auth/api-keys", session, map[string]any{"label": "attack"}).field(s.t, "token")
}

// sql runs a statement with the role of the URL, in the tenant if it is not empty.
func (s *stage) sql(url string, tenant op.UUID, statement string) error {
	s.t.Helper()
	ctx := context.Background()
	tx, end := s.begin(ctx, url, tenant)
	defer end()
	_, err := tx.Exec(ctx, statement)
	return err
}

// begin opens a transaction of the role in the tenant; end rolls it back.
func (s *stage) begin(ctx context.Context, url string, tenant op.UUID) (tx pgx.Tx, end func()) {
	s.t.Helper()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		s.t.Fatal(err)
	}
	tx, err = conn.Begin(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	if tenant != "" {
		if _, err := tx.Exec(ctx, `SELECT set_config('app.tenant_id', $1, true)`, string(tenant)); err != nil {
			s.t.Fatal(err)
		}
	}
	return tx, func() {
		_ = tx.Rollback(ctx)
		_ = conn.Close(ctx)
	}
}

// forge signs any header and payload with the server's own secret.
func (s *stage) forge(header, payload string) string { return s.forgeWith(sha256.New, header, payload) }

func (s *stage) forgeWith(h func() hash.Hash, header, payload string) string {
	// ptd dev encodes the secret as base64.
	secret, err := base64.StdEncoding.DecodeString(s.info.APIKeyJWTSecret)
	if err != nil {
		s.t.Fatal(err)
	}
	enc := base64.RawURLEncoding.EncodeToString
	signed := enc([]byte(header)) + "." + enc([]byte(payload))
	mac := hmac.New(h, secret)
	mac.Write([]byte(signed))
	return signed + "." + enc(mac.Sum(nil))
}

// claims returns the claims of a token.
func (s *stage) claims(text string) map[string]any {
	s.t.Helper()
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[1])
	if err != nil {
		s.t.Fatal(err)
	}
	m := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		s.t.Fatal(err)
	}
	return m
}

// withClaim returns the claims with one changed; a nil value removes it.
func withClaim(claims map[string]any, name string, value any) string {
	c := maps.Clone(claims)
	c[name] = value
	if value == nil {
		delete(c, name)
	}
	text, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return string(text)
}

const keyHeader = `{"alg":"HS256","typ":"pt-api-key+jwt"}`

func rejectForgedTokens(s *stage) {
	session := s.loginAs("project-manager@acme.example")
	good := s.key(session)
	c := s.claims(good)
	plain := withClaim(c, "iss", "parapet")
	now := time.Now().Unix()
	parts := strings.Split(good, ".")
	forged := map[string]string{
		"not a token": "x", "two segments": parts[0] + "." + parts[1], "four segments": good + ".x", "padded": good + "=",
		"too long":                 s.forge(keyHeader, withClaim(c, "email", strings.Repeat("x", 9000))),
		"alg HS512":                s.forgeWith(sha512.New, `{"alg":"HS512","typ":"pt-api-key+jwt"}`, plain),
		"signed with HS512":        s.forgeWith(sha512.New, keyHeader, plain),
		"trailing text":            s.forge(keyHeader, plain+"x"),
		"two payloads":             s.forge(keyHeader, plain+plain),
		"duplicate claim":          s.forge(keyHeader, strings.TrimSuffix(plain, "}")+`,"roles":["Admin"]}`),
		"duplicate alg":            s.forge(`{"alg":"none","alg":"HS256","typ":"pt-api-key+jwt"}`, plain),
		"typ of a session":         s.forge(`{"alg":"HS256","typ":"pt-session+jwt"}`, plain),
		"typ of an internal token": s.forge(`{"alg":"HS256","typ":"pt-internal+jwt"}`, plain),
		"no typ":                   s.forge(`{"alg":"HS256"}`, plain),
	}
	for _, alg := range []string{"none", "None", "nOnE", "", "hs256", "HS384", "RS256", "ES256"} {
		text := s.forge(fmt.Sprintf(`{"alg":%q,"typ":"pt-api-key+jwt"}`, alg), plain)
		forged["alg "+alg] = text
		forged["unsigned "+alg] = text[:strings.LastIndex(text, ".")+1]
	}
	for _, member := range []string{`"kid":"../../dev/null"`, `"jku":"http://127.0.0.1:9/"`, `"x5u":"http://127.0.0.1:9/"`, `"jwk":{"kty":"oct","k":"AAAA"}`, `"crit":["exp"]`, `"b64":false`} {
		forged["header "+member] = s.forge(strings.TrimSuffix(keyHeader, "}")+","+member+"}", plain)
	}
	for _, name := range []string{"iss", "sub", "jti", "iat", "exp", "tenant_id", "roles", "principal_kind"} {
		forged["no "+name] = s.forge(keyHeader, withClaim(c, name, nil))
		forged["an object as "+name] = s.forge(keyHeader, withClaim(c, name, map[string]any{}))
		forged["a number as "+name] = s.forge(keyHeader, withClaim(c, name, -1))
		forged["an empty "+name] = s.forge(keyHeader, withClaim(c, name, ""))
	}
	for name, change := range map[string]struct {
		claim string
		value any
	}{
		"expired": {"exp", now - 1}, "expiry too late": {"exp", now + 400*86400}, "fractional exp": {"exp", float64(now) + 0.5}, "exp as text": {"exp", fmt.Sprint(now + 60)},
		"issued in the future": {"iat", now + 3600}, "not yet valid": {"nbf", now + 3600}, "caveats as text": {"caveats", "read-only"}, "clearance as number": {"clearance", 5},
		"another user": {"sub", s.user("acme", "admin@acme.example")}, "a foreign tenant": {"tenant_id", s.tenant("globex").ID},
		"an unknown tenant": {"tenant_id", uid.Random()}, "an unknown key": {"jti", uid.Random()}, "jti in upper case": {"jti", strings.ToUpper(fmt.Sprint(c["jti"]))},
		"a service principal": {"principal_kind", "SERVICE"}, "an agent": {"principal_kind", "AGENT"},
	} {
		forged[name] = s.forge(keyHeader, withClaim(c, change.claim, change.value))
	}
	same := ""
	for name, text := range forged {
		for _, path := range []string{"/api/auth/me", "/api/pages/by-path/home"} {
			a := s.do("GET", path, text, nil)
			if body := strings.ReplaceAll(a.Body, a.Error.RequestID, ""); a.Code != http.StatusUnauthorized || (same != "" && body != same) {
				s.t.Errorf("%s: %s: got %d %s, want the generic 401", name, path, a.Code, a.Body)
			} else {
				same = body
			}
		}
	}
	s.want(200, "", "GET", "/api/auth/me", good, nil)
	s.want(401, "UNAUTHORIZED", "GET", "/api/auth/me?access_token="+good, "", nil)
	s.want(401, "UNAUTHORIZED", "GET", "/api/auth/me", good, nil, "Authorization", "Bearer "+good)
	s.want(401, "UNAUTHORIZED", "GET", "/api/auth/me", good, nil, "Cookie", "pt_session="+session)
	// The session cookie accepts a session but never an API key.
	s.want(200, "", "GET", "/api/auth/me", "", nil, "Cookie", "pt_session="+session)
	s.want(200, "", "GET", "/api/auth/me", session, nil, "Cookie", "pt_session="+session)
	for _, headers := range [][]string{
		{"Cookie", "pt_session=" + good}, {"Cookie", "__Host-pt_session=" + good}, {"Cookie", "pt_session=" + good, "Authorization", "Bearer " + good},
	} {
		for _, method := range []string{"GET", "PUT"} {
			path := map[string]string{"GET": "/api/auth/me", "PUT": "/api/auth/password"}[method]
			a := s.do(method, path, "", nil, append(headers, "Sec-Fetch-Site", "same-origin")...)
			if body := strings.ReplaceAll(a.Body, a.Error.RequestID, ""); a.Code != http.StatusUnauthorized || body != same {
				s.t.Errorf("%s %s with an API key in the cookie (%.12s): got %d %s, want the generic 401", method, path, headers[0], a.Code, a.Body)
			}
		}
	}
}

// useTokensWithSameID uses several tokens with the same id, all signed with the server's
// secret. Each token has only its own authority, regardless of the tokens used before.
func useTokensWithSameID(s *stage) {
	good := s.key(s.loginAs("project-manager@acme.example"))
	c := s.claims(good)
	narrowed := func(caveats ...string) string { return s.forge(keyHeader, withClaim(c, "caveats", caveats)) }
	create := func(n int) map[string]any {
		return map[string]any{"name": fmt.Sprintf("Wall %d", n), "startDate": "2027-01-01"}
	}
	project := s.want(201, "", "POST", "/api/projects", good, create(0)).field(s.t, "id")
	for i := range 2 {
		s.want(403, "project.create", "POST", "/api/projects", narrowed("read-only"), create(1))
		s.want(403, "project.create", "POST", "/api/projects", narrowed("project:"+project), create(1))
		s.want(200, project, "GET", "/api/projects/"+project, narrowed("read-only", "project:"+project), nil)
		s.want(403, "projects.read", "GET", "/api/projects/"+project, narrowed("module:wiki"), nil)
		s.want(403, "projects.read", "GET", "/api/projects/"+project, narrowed("read-only", "no-such-caveat"), nil)
		s.want(403, "projects.read", "GET", "/api/projects", s.forge(keyHeader, withClaim(c, "roles", []string{})), nil)
		s.want(403, "project.create", "POST", "/api/projects", s.forge(keyHeader, withClaim(c, "role_scopes", map[string]any{"Project Manager": []string{"project:" + project}})), create(2))
		s.want(200, `"clearance":"UNCLASSIFIED"`, "GET", "/api/auth/me", s.forge(keyHeader, withClaim(c, "clearance", "TOP-SECRET")), nil)
		s.want(201, "", "POST", "/api/projects", good, create(10+i))
	}
}
