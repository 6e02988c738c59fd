package dev

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parapet/internal/app"
	"parapet/internal/contract/tracker"
	"parapet/internal/lessons"
	"parapet/internal/op"
)

// checkWiki verifies how the wiki authenticates: every problem of a credential is a 401, and
// a 403 comes only after authentication. x-act-as-org works only with API keys.
func checkWiki(s *stage) {
	const page = "/api/pages/by-path/specs/reader"
	admin := s.loginAs("admin@acme.example")
	key := func(integration string) string {
		return s.want(201, "", "POST", "/api/auth/api-keys/service", admin, body{"label": "CI", "targetUserId": s.user("acme", integration+"@acme.invalid")}).field(s.t, "token")
	}
	sync, reviewer := key("spec-wiki-sync"), key("multi-llm-review")
	text := body{"markdown": "# Reader", "sourceCommit": "0123abc"}
	s.want(200, `"result":"created"`, "PUT", page, sync, text)
	s.want(200, `"result":"unchanged"`, "PUT", page, sync, text)
	// Reading requires no permission, writing the one that the role of the profile grants.
	for _, token := range []string{sync, reviewer, s.loginAs("guest@acme.example")} {
		s.want(200, `"markdown":"# Reader"`, "GET", page, token, nil)
	}
	s.want(403, "wiki:page:write", "PUT", page, reviewer, text)
	s.want(403, "wiki:page:write", "DELETE", page, s.loginAs("member@acme.example"), nil)
	s.want(403, "tasks.read", "GET", "/api/tasks", sync, nil)

	// Without a valid credential, nothing else about the request matters.
	for _, token := range []string{"", "x", "Bearer", sync + "x", s.forge(keyHeader, withClaim(s.claims(sync), "exp", 1))} {
		for _, headers := range [][]string{
			nil, {actAs, string(s.tenant("globex").ID)}, {actAs, "x", actAs, "y"}, {"If-Match", "x"}, {"Cookie", "pt_session=x"},
		} {
			for _, path := range []string{page, "/api/pages/by-path/a//b", "/api/pages/by-path/a%2Fb", "/api/pages?limit=x"} {
				s.want(401, `"code":"UNAUTHORIZED"`, "GET", path, token, nil, headers...)
			}
			s.want(401, `"code":"UNAUTHORIZED"`, "PUT", page, token, "{", headers...)
		}
	}

	// x-act-as-org
	acme, northwind := s.tenant("acme"), s.tenant("northwind")
	visitor := s.loginAs("project-manager@northwind.example")
	for _, c := range []struct {
		name, token, target string
		status              int
		says                string
	}{
		{"session in another tenant", visitor, string(acme.ID), 403, "FORBIDDEN"},
		{"session in its own tenant", visitor, string(northwind.ID), 403, "FORBIDDEN"},
		{"key in another tenant", s.key(visitor), string(acme.ID), 200, "# Reader"},
		{"key, by organisation", s.key(visitor), string(acme.Organisations[0].ID), 200, "# Reader"},
		{"key in its own tenant", s.key(visitor), string(northwind.ID), 404, "NOT_FOUND"},
		{"key in a tenant without a membership", s.key(visitor), string(s.tenant("globex").ID), 403, "FORBIDDEN"},
		{"service key in another tenant", sync, string(northwind.ID), 403, "FORBIDDEN"},
		{"service key in its own tenant", sync, string(acme.ID), 200, "# Reader"},
		{"key with an unknown organisation", s.key(visitor), "x", 403, "FORBIDDEN"},
	} {
		a := s.want(c.status, c.says, "GET", page, c.token, nil, actAs, c.target)
		if c.status == 403 && (a.Error.Permission != "" || a.Error.Reason != "") {
			s.t.Errorf("%s: got %s, want the generic 403", c.name, a.Body)
		}
	}
	s.want(403, "FORBIDDEN", "GET", page, s.key(visitor), nil, actAs, string(acme.ID), actAs, string(acme.ID))
	s.want(403, "wiki:page:write", "PUT", page, s.key(visitor), text, actAs, string(acme.ID))
	// The same page of another tenant does not exist.
	s.want(404, "There is no such page.", "GET", page, s.loginAs("admin@globex.example"), nil)

	// Paths and preconditions over HTTP.
	for _, path := range []string{"a%2Fb", "a%2fb", "a%5Cb", "a%252Fb", "a//b", "%2e%2e/b", "a%00", "a%E2%80%8Bb", "a%FF", "a/"} {
		s.want(400, `"field":"path"`, "GET", "/api/pages/by-path/"+path, admin, nil)
	}
	s.want(200, `"path":"café/über uns"`, "PUT", "/api/pages/by-path/cafe%CC%81/%C3%BCber%20uns", admin, text)
	s.want(200, `"version":1`, "GET", "/api/pages/by-path/caf%C3%A9/u%CC%88ber%20uns", admin, nil)
	s.want(412, `"currentVersion":1`, "PUT", page, admin, body{"markdown": "x"}, "If-Match", `"2"`)
	s.want(412, `"currentVersion":1`, "PUT", page, admin, body{"markdown": "x"}, "If-None-Match", `*`)
	s.want(200, `"version":2`, "PUT", page, admin, body{"markdown": "x"}, "If-Match", `"1"`)
	s.want(412, `"currentVersion":2`, "DELETE", page, admin, nil, "If-Match", `"1"`)
	s.want(400, `"field":"If-Match"`, "DELETE", page, admin, nil, "If-Match", `W/"2"`)
	s.want(200, "<body>\n<p>x</p>\n</body>", "GET", page+"?format=html", admin, nil)
	s.want(200, `"html":"<p>x</p>`, "GET", page+"?format=html", admin, nil, "Accept", "application/json")
	checkLessons(s, admin, sync)
	r := s.ask(s.t, "GET", page, admin, nil)
	if tag := r.Header().Get("ETag"); tag != `"2"` {
		s.t.Errorf("ETag: got %q, want the version", tag)
	}
}

// checkLessons reads the lessons of an agent run from the real wiki.
func checkLessons(s *stage, admin, key string) {
	wiki := httptest.NewServer(s.App().Handler())
	defer wiki.Close()
	acme := s.tenant("acme").ID
	for path, classification := range map[string]string{
		"lessons/MOON/hatch": "UNCLASSIFIED", "lessons/MOON/secret-hatch": "SECRET", "lessons/MARS/hatch": "UNCLASSIFIED", "notes/hatch": "UNCLASSIFIED",
	} {
		s.want(200, "created", "PUT", "/api/pages/by-path/"+path, admin, body{"markdown": "# Hatches\n\nOil them.", "classification": classification})
	}
	task := &tracker.Task{}
	task.Key, task.Title = "MOON-7", "Close the hatch"
	find := func(key string) lessons.Lessons {
		return lessons.New(lessons.Config{BaseURL: wiki.URL, Tokens: map[op.UUID]string{acme: key}, Prefix: "lessons", Log: slog.New(slog.DiscardHandler)}).Find(s.t.Context(), acme, task)
	}
	if got := find(key); !got.Found || len(got.Lessons) != 1 || got.Lessons[0].Path != "lessons/MOON/hatch" || got.Lessons[0].Markdown != "# Hatches\n\nOil them." {
		s.t.Errorf("lessons: got %+v, want the page that the key may read", got)
	}
	for name, wrong := range map[string]string{"session": admin, "forged key": key + "x", "key of another tenant": s.key(s.loginAs("admin@globex.example"))} {
		if got := find(wrong); got.Found || len(got.Lessons) > 0 {
			s.t.Errorf("%s: got %+v, want no lessons", name, got)
		}
	}
}

// Each module can be served alone: its routes work, and those of the others do not exist.
func TestModules_EachIsServedAlone(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	token := d.login(t, "admin@acme.example")
	lists := map[string]string{"identity": "/api/auth/me", "tracker": "/api/projects", "wiki": "/api/pages"}
	for _, served := range app.AllModules() {
		if lists[served] == "" {
			continue // another module's tests name its list
		}
		settings := map[string]string{
			"DATABASE_URL": d.info.DatabaseURL, "DIRECT_URL": d.info.DirectURL, "API_KEY_JWT_SECRET": d.info.APIKeyJWTSecret, "PORT": "0", "PT_MODULES": served,
		}
		cfg, err := app.ReadConfig(func(name string) string { return settings[name] })
		if err != nil {
			t.Fatal(err)
		}
		a, err := app.New(t.Context(), cfg, "test", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		get := func(path, token string) *httptest.ResponseRecorder {
			r, w := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			a.Handler().ServeHTTP(w, r)
			return w
		}
		for name, path := range lists {
			want, unauthorized := 200, 401
			if name != served {
				want, unauthorized = 404, 404
			}
			if w := get(path, token); w.Code != want {
				t.Errorf("--modules %s: GET %s: got %d %s, want %d", served, path, w.Code, w.Body, want)
			}
			if w := get(path, ""); w.Code != unauthorized {
				t.Errorf("--modules %s: GET %s without a token: got %d, want %d", served, path, w.Code, unauthorized)
			}
		}
		var doc struct {
			Paths map[string]any `json:"paths"`
		}
		if err := json.Unmarshal(get("/openapi.json", "").Body.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		for path := range doc.Paths {
			if isPage := strings.HasPrefix(path, "/api/pages"); isPage != (served == "wiki") {
				t.Errorf("--modules %s: the OpenAPI document contains %s", served, path)
			}
		}
		if w := get("/readyz", ""); w.Code != 200 {
			t.Errorf("--modules %s: got /readyz %d %s", served, w.Code, w.Body)
		}
		a.Close()
	}
}
