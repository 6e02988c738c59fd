package dev

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/contract/wiki"
	"parapet/internal/dev/devtest"
	"parapet/internal/op"
	"parapet/internal/uid"
)

var seededDatabase = devtest.NewTemplate(func(ctx context.Context, dataDir string, getenv func(string) string) error {
	return Seed(ctx, Options{DataDir: dataDir, Getenv: getenv, Version: "test", Log: slog.New(slog.DiscardHandler)})
})

// startDev starts the server on a seeded database. Tests call its handler directly,
// without a network connection.
func startDev(t testing.TB) *Dev {
	t.Helper()
	return startDevWith(t, nil, slog.DiscardHandler)
}

// startDevWith is startDev with additional settings and a log.
func startDevWith(t testing.TB, more map[string]string, log slog.Handler) *Dev {
	t.Helper()
	c := seededDatabase.New(t)
	settings := c.Settings()
	settings["PT_DRAIN_SECONDS"] = "30"
	// A slow machine must not fail the tests that have no timeout as their subject.
	settings["PT_LOCK_TIMEOUT_MS"], settings["PT_REQUEST_TIMEOUT_SECONDS"] = "30000", "35"
	maps.Copy(settings, more)
	d, err := Start(t.Context(), Options{DataDir: c.DataDir, Getenv: func(n string) string { return settings[n] }, Version: "test", Log: slog.New(log)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		d.Close()
	})
	return d
}

func (d *Dev) ask(t testing.TB, method, target, token string, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, bytes.NewReader(body))
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	d.App().Handler().ServeHTTP(w, r)
	return w
}

func (d *Dev) login(t testing.TB, email string) string {
	t.Helper()
	for _, tenant := range d.info.Tenants {
		for _, u := range tenant.Users {
			if u.Email != email || u.Password == nil {
				continue
			}
			body, err := json.Marshal(map[string]string{"email": email, "password": *u.Password})
			if err != nil {
				t.Fatal(err)
			}
			var out struct{ Token string }
			w := d.ask(t, "POST", "/api/auth/login", "", body)
			if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || out.Token == "" {
				t.Fatalf("login of %s: got %d %s", email, w.Code, w.Body)
			}
			return out.Token
		}
	}
	t.Fatalf("no seeded user %s", email)
	return ""
}

// sample returns a valid input of the operation, so that only the caller's authority can
// cause an error.
func sample(t testing.TB, o *op.Operation) any {
	t.Helper()
	in := reflect.New(o.In)
	for _, f := range o.Fields {
		// An empty page size means the default in a request; it is not a valid value.
		if !f.Required && f.Default == "" {
			continue
		}
		fill(t, f, in.Elem().Field(f.Index))
	}
	if err := o.Validate(in.Interface()); err != nil {
		t.Fatalf("%s: no sample: %v", o.Name, err)
	}
	return in.Interface()
}

func fill(t testing.TB, f op.Field, v reflect.Value) {
	t.Helper()
	for v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	text := strings.Repeat("x", 12)
	switch {
	case len(f.Enum) > 0:
		text = f.Enum[0]
	case f.Value() == reflect.TypeFor[op.UUID]() || f.Format == "uuid":
		text = string(uid.New())
	case f.Value() == reflect.TypeFor[op.Date]() || f.Format == "date":
		text = "2027-03-31"
	case f.Format == "date-time":
		text = "2027-03-31T17:00:00Z"
	case f.Format == "email":
		text = "someone@acme.example"
	case f.Name == "permission":
		text = "tasks.read"
	case f.Name == "slug":
		text = "initech"
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		n := int64(1)
		if f.Minimum != nil {
			n = *f.Minimum
		}
		v.SetInt(n)
	case reflect.Slice:
		n := 1
		if f.MinLength != nil {
			n = max(1, *f.MinLength)
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		if v.Type().Elem() == reflect.TypeFor[op.UUID]() {
			for i := range n {
				v.Index(i).SetString(string(uid.New()))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.Kind() == reflect.String && field.CanSet() {
				field.SetString("someone@acme.example")
			}
		}
	default:
		t.Fatalf("no sample for %s (%s)", f.Name, v.Type())
	}
}

// TestEveryOperation_RequiresCredentialAndPermission calls each operation without a
// credential and without the permission, and looks its permission up in the catalogue.
func TestEveryOperation_RequiresCredentialAndPermission(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	powerless := d.login(t, "platform-admin@acme.example")
	catalogue := d.App().Engine().Catalogue()
	public := []string{}
	for _, b := range d.App().Operations() {
		o := b.Operation
		wire, err := o.Write(sample(t, o))
		if err != nil {
			t.Fatal(err)
		}
		if o.Access == op.Public {
			public = append(public, o.Name)
			continue
		}
		for note, token := range map[string]string{"no token": "", "garbage": "a.b.c", "half a token": powerless[:len(powerless)/2]} {
			if w := d.ask(t, wire.Method, wire.Target, token, wire.Body); w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), `"UNAUTHORIZED"`) {
				t.Errorf("%s with %s: got %d %s, want 401", o.Name, note, w.Code, w.Body)
			}
		}
		if o.Access != op.Permitted {
			continue
		}
		if !catalogue.Knows(o.Permission) && catalogue.AuditScopes[o.Permission] == nil {
			t.Errorf("%s requires %s, which is not in the catalogue of the policies", o.Name, o.Permission)
		}
		if o.Permission == wiki.PermPagesRead {
			continue // every active member has it
		}
		w := d.ask(t, wire.Method, wire.Target, powerless, wire.Body)
		var e struct {
			Error struct{ Code, Permission string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != http.StatusForbidden || e.Error.Code != "FORBIDDEN" || e.Error.Permission != o.Grant || !catalogue.Knows(o.Grant) {
			t.Errorf("%s without %s: got %d %s, want 403 that names the permission and that it can be granted", o.Name, o.Grant, w.Code, w.Body)
		}
	}
	if want := []string{"login", "request-password-reset", "reset-password"}; !slices.Equal(public, want) {
		t.Errorf("public operations: got %v, want %v", public, want)
	}
}

// TestEveryOperation_ForeignIDLooksAbsent calls every operation with the id of another
// tenant's record and with an unknown id: the responses must be equal.
func TestEveryOperation_ForeignIDLooksAbsent(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	manager := d.login(t, "project-manager@acme.example")
	var project struct{ ID op.UUID }
	w := d.ask(t, "POST", "/api/projects", manager, []byte(`{"name":"Hidden","startDate":"2027-01-01","prefix":"HID"}`))
	if err := json.Unmarshal(w.Body.Bytes(), &project); err != nil || w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var initiative struct{ ID op.UUID }
	w = d.ask(t, "POST", "/api/initiatives", manager, []byte(`{"name":"Hidden","startDate":"2027-01-01"}`))
	if err := json.Unmarshal(w.Body.Bytes(), &initiative); err != nil || w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	acme := d.info.Tenants[slices.IndexFunc(d.info.Tenants, func(t Tenant) bool { return t.Slug == "acme" })]
	otherTenantUser := d.login(t, "admin@globex.example")
	var epic struct{ ID op.UUID }
	w = d.ask(t, "POST", "/api/projects/"+string(project.ID)+"/tasks", manager, []byte(`{"title":"Epic","issueType":"EPIC"}`))
	if err := json.Unmarshal(w.Body.Bytes(), &epic); err != nil || w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	made := func(path, body string) op.UUID {
		var out struct{ ID op.UUID }
		w := d.ask(t, "POST", path, manager, []byte(body))
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 201 {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		return out.ID
	}
	issue := made("/api/issues", `{"projectId":"`+string(project.ID)+`","title":"Hidden"}`)
	run := uid.New()
	conn, err := pgx.Connect(t.Context(), d.info.DirectURL)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), `INSERT INTO projects.agent_runs (tenant_id, id, project_id, task_id, agent_id, created_by, created_at) VALUES ($1, $2, $3, $4, $5, $5, now())`,
		acme.ID, run, project.ID, epic.ID, acme.Users[0].ID)
	if _ = conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	foreign := map[string]op.UUID{
		"runId":     run,
		"projectId": project.ID, "tenantId": acme.ID, "organisationId": acme.Organisations[0].ID, "userId": acme.Users[0].ID,
		"initiativeId": initiative.ID,
		"epicId":       epic.ID,
		"issue":        issue,
		"commentId":    made("/api/comments", `{"issueId":"`+string(issue)+`","body":"Hidden"}`),
		"timeEntryId":  made("/api/time-entries", `{"issueId":"`+string(issue)+`","date":"2026-01-01","minutes":1}`),
	}
	delegate := acme.Users[slices.IndexFunc(acme.Users, func(u User) bool { return u.PrincipalKind == "HUMAN" && u.Email != "project-manager@acme.example" })].ID
	foreign["delegationId"] = made("/api/delegations", `{"delegate":"`+string(delegate)+`","permissions":["tasks.read"],"until":"`+
		time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
	tried := 0
	for _, b := range d.App().Operations() {
		o := b.Operation
		parts := o.PathParts()
		if len(parts) == 0 || foreign[parts[0]] == "" {
			continue
		}
		tried++
		answers := map[string]string{}
		for note, id := range map[string]op.UUID{"foreign": foreign[parts[0]], "absent": uid.Random()} {
			in := sample(t, o)
			for _, f := range o.Fields {
				if f.Name == parts[0] {
					reflect.ValueOf(in).Elem().Field(f.Index).SetString(string(id))
				}
			}
			wire, err := o.Write(in)
			if err != nil {
				t.Fatal(err)
			}
			w := d.ask(t, wire.Method, wire.Target, otherTenantUser, wire.Body)
			if w.Code < 400 {
				t.Errorf("%s by a user of another tenant: got %d %s", o.Name, w.Code, w.Body)
			}
			text := strings.ReplaceAll(w.Body.String(), w.Header().Get("X-Request-Id"), "")
			answers[note] = fmt.Sprintf("%d %s", w.Code, text)
		}
		if answers["foreign"] != answers["absent"] {
			t.Errorf("%s: the responses to a foreign and an unknown id differ:\n%s\n%s", o.Name, answers["foreign"], answers["absent"])
		}
	}
	if tried < 15 {
		t.Errorf("got only %d tested operations", tried)
	}
}

// TestEveryOperation_RejectsInvalidIDs sends invalid values for every id.
func TestEveryOperation_RejectsInvalidIDs(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	admin := d.login(t, "admin@acme.example")
	for _, b := range d.App().Operations() {
		o := b.Operation
		parts := o.PathParts()
		if len(parts) == 0 || strings.HasSuffix(o.Path, "{path...}") {
			continue // no parameter is an id
		}
		for _, id := range []string{"1", "'%20OR%201=1--", "%00", "%f0%9f%92%a5", strings.Repeat("a", 3000), "null", "../../etc"} {
			path := o.Path
			for _, part := range parts {
				path = strings.Replace(path, "{"+part+"}", id, 1)
			}
			wire, err := o.Write(sample(t, o))
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(o.Method, "/", bytes.NewReader(wire.Body))
			r.URL.Path, r.URL.RawPath = strings.NewReplacer("%20", " ", "%00", "\x00", "%f0%9f%92%a5", "💥").Replace(path), ""
			r.Header.Set("Authorization", "Bearer "+admin)
			r.Header.Set("Content-Type", "application/json")
			if len(wire.Body) == 0 {
				r.Body = http.NoBody
				r.ContentLength = 0
			}
			w := httptest.NewRecorder()
			d.App().Handler().ServeHTTP(w, r)
			if w.Code != 400 && w.Code != 404 && w.Code != 403 && w.Code != 405 {
				text, _ := io.ReadAll(w.Body)
				t.Errorf("%s with the id %.20q: got %d %s, want 400 or 404", o.Name, id, w.Code, text)
			}
		}
	}
}
