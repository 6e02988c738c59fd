package httpapi

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parapet/internal/fault"
)

// Authenticated callers learn which setting turns a route on. For others, the response is the
// same as for a path that does not exist.
func TestNoRoute_NamesTheSettingToAuthenticatedCallers(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	api := newTestAPI(t, &log, func(c *Config) {
		c.Off = []DisabledRoute{{Method: "PATCH", Path: "/api/off/{id}", Message: "off: PT_MODULES"}}
	})
	api.MountCron("", Cron{Name: "work", Path: "/api/cron/work"})
	for _, tc := range []struct{ method, path, token, want string }{
		{"PATCH", "/api/off/7", goodToken, "off: PT_MODULES"},
		{"PATCH", "/api/off/7", keyToken, "off: PT_MODULES"},
		{"GET", "/api/cron/work", goodToken, "The cron route is off on this server. The operator turns it on with CRON_SECRET."},
		{"PATCH", "/api/off/7", "", "There is no such route."},
		{"PATCH", "/api/off/7", "bad", "There is no such route."},
		{"GET", "/api/cron/work", "", "There is no such route."},
		{"GET", "/api/off/7", goodToken, "There is no such route."},
		{"PATCH", "/api/nosuch/7", goodToken, "There is no such route."},
	} {
		r := httptest.NewRequest(tc.method, tc.path, http.NoBody)
		if tc.token != "" {
			r.Header.Set("Authorization", "Bearer "+tc.token)
		}
		w, e := serve(api, r)
		if w.Code != http.StatusNotFound || e.Code != fault.CodeNotFound || e.Message != tc.want || w.Header().Get("WWW-Authenticate") != "" {
			t.Errorf("%s %s with the token %q: got %d %+v, want 404: %s", tc.method, tc.path, tc.token, w.Code, e, tc.want)
		}
	}
}

func TestMatchesPath(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, path string
		want          bool
	}{
		{"/api/tasks", "/api/tasks", true},
		{"/api/tasks", "/api/tasks/", false},
		{"/api/tasks", "/api", false},
		{"/api/tasks/{task}", "/api/tasks/HW-1", true},
		{"/api/tasks/{task}", "/api/tasks/", false},
		{"/api/tasks/{task}", "/api/tasks/HW-1/x", false},
		{"/api/tasks/{task}/x", "/api/tasks/HW-1", false},
		{"/api/pages/{path...}", "/api/pages/a/b", true},
		{"/api/pages/{path...}", "/api/pages", false},
		{"/api/pages/{path...}", "/", false},
	} {
		if got := matchesPath(tc.pattern, tc.path); got != tc.want {
			t.Errorf("%s %s: got %v, want %v", tc.pattern, tc.path, got, tc.want)
		}
	}
}

func FuzzMatchesPath(f *testing.F) {
	f.Add("/api/tasks/HW-1")
	f.Add("//")
	f.Fuzz(func(t *testing.T, path string) {
		if matchesPath("/api/tasks/{task}", path) && (strings.Count(path, "/") != 3 || !strings.HasPrefix(path, "/api/tasks/")) {
			t.Errorf("%q matches", path)
		}
	})
}
