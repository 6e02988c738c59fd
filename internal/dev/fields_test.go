// The test sends two thousand requests, and twenty thousand with -thorough. The race
// detector makes them ten times slower, and other tests already send concurrent requests.
//go:build !race

package dev

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"parapet/internal/op"
)

var thorough = flag.Bool("thorough", false, "send every malformed request of the table instead of every tenth")

// FuzzFields sends requests with one malformed field to every operation, through
// the real handler to a real database, with an administrator's session. No
// request may cause a 5xx, and a 400 must name the field.
//
// A plain test run sends every tenth request of malformedRequests, with -thorough every
// request. With -fuzz, the fuzzing engine generates more requests.
func FuzzFields(f *testing.F) {
	s := newFieldServer(f)
	if flag.Lookup("test.fuzz").Value.String() == "" {
		s.sendTable(f)
		s.checkEvents(f)
	}
	for i := range s.operations {
		f.Add(uint16(i), uint8(i), `""`)
	}
	f.Add(uint16(0), uint8(0), `{"a":[1e99,"\ud800"]}`)
	f.Add(uint16(1), uint8(1), strings.Repeat("[", 20000))
	f.Fuzz(func(t *testing.T, operation uint16, field uint8, value string) {
		o := s.operations[int(operation)%len(s.operations)]
		if len(o.Fields) == 0 || o.Name == "wait-decision" {
			return
		}
		r := s.valid(t, o)
		m := r.with(o.Fields[int(field)%len(o.Fields)], value)
		m.note = fmt.Sprintf("%.80q", value)
		s.send(t, m)
	})
}

// fieldServer is a server with a valid request for each operation.
type fieldServer struct {
	*Dev
	// tb is the running test.
	tb         testing.TB
	world      *parityWorld
	operations []*op.Operation
	// tokens are separate sessions for operations that end their session.
	tokens map[string]string
	// renew maps operations to functions that replace the record that a successful request
	// used up.
	renew map[string]func(fieldRequest)
	count struct{ requests, accepted, rejected int }
}

func newFieldServer(t testing.TB) *fieldServer {
	t.Helper()
	d := startDevWith(t, map[string]string{"PT_LOG_LEVEL": "error"}, slog.DiscardHandler)
	s := &fieldServer{Dev: d, tokens: map[string]string{}, renew: map[string]func(fieldRequest){}}
	for _, b := range d.App().Operations() {
		s.operations = append(s.operations, b.Operation)
	}
	s.createFixtures(t)
	return s
}

// sendTable sends the malformed requests of the table.
func (s *fieldServer) sendTable(t testing.TB) {
	t.Helper()
	fields, number := 0, 0
	var invalid []string
	for _, o := range sortOperations(s.operations) {
		if code := s.send(t, s.valid(t, o)); code >= 300 {
			invalid = append(invalid, fmt.Sprintf("%s (%d)", o.Name, code))
		}
		for _, m := range malformedRequests(s.valid(t, o)) {
			// The table has about 40 requests for each field, so a tenth still tests each field.
			if number++; number%10 != 0 && !*thorough {
				continue
			}
			m.refresh(s.valid(t, o))
			s.send(t, m)
		}
		fields += len(o.Fields)
	}
	t.Logf("%d operations, %d fields, %d requests: %d accepted, %d rejected", len(s.operations), fields, s.count.requests, s.count.accepted, s.count.rejected)
	if len(invalid) > 0 {
		t.Errorf("the valid request of %d operations was rejected: %v", len(invalid), invalid)
	}
}

// sortOperations sorts operations that create records before operations that delete them,
// and deletes inner records before outer ones.
func sortOperations(operations []*op.Operation) []*op.Operation {
	rank := func(o *op.Operation) int {
		switch {
		case o.Access == op.Public:
			return 100 // their rate limits would reject the logins of other operations
		case o.Effect == op.Destroy:
			return 50 - strings.Count(o.Path, "/")
		default:
			return 0
		}
	}
	list := slices.Clone(operations)
	slices.SortStableFunc(list, func(a, b *op.Operation) int { return rank(a) - rank(b) })
	return list
}

// fieldRequest is a request in parts.
type fieldRequest struct {
	o     *op.Operation
	path  map[string]string
	query []member
	body  []member
	// raw is the whole body if it is not an object of members.
	raw *string
	// note describes the error in the request; field is the malformed field.
	note  string
	field op.Field
	// rejected is true if the response must be a 400 that names the field.
	rejected bool
	// replaced are the members that refresh does not change.
	replaced map[string]bool
}

// member is a query parameter, or a member of the body with its value as JSON.
type member struct{ name, value string }

// valid returns a request that the operation accepts.
func (s *fieldServer) valid(t testing.TB, o *op.Operation) fieldRequest {
	t.Helper()
	r := fieldRequest{o: o, path: map[string]string{}, note: "valid"}
	args := s.world.arguments(t, o)
	for _, f := range o.Fields {
		v, ok := args[f.Name]
		switch {
		case !ok:
		case f.Source == op.FromPath:
			r.path[f.Name] = fmt.Sprint(v)
		case f.Source == op.FromQuery:
			r.query = append(r.query, member{f.Name, fmt.Sprint(v)})
		default:
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			r.body = append(r.body, member{f.Name, string(text)})
		}
	}
	return r
}

// with returns the request with another value of one field. The value is JSON for a field of
// the body, and text for other fields.
func (r fieldRequest) with(f op.Field, value string) fieldRequest {
	m := fieldRequest{o: r.o, field: f, path: map[string]string{}, replaced: map[string]bool{f.Name: true}}
	for name, v := range r.path {
		m.path[name] = v
	}
	others := func(list []member) []member {
		return slices.DeleteFunc(slices.Clone(list), func(one member) bool { return one.name == f.Name })
	}
	m.query, m.body = others(r.query), others(r.body)
	switch f.Source {
	case op.FromPath:
		m.path[f.Name] = value
	case op.FromQuery:
		m.query = append(m.query, member{f.Name, value})
	default:
		m.body = append(m.body, member{f.Name, value})
	}
	return m
}

// refresh copies the values of a newer valid request, except the malformed ones.
func (r *fieldRequest) refresh(from fieldRequest) {
	for name, v := range from.path {
		if !r.replaced[name] {
			r.path[name] = v
		}
	}
	for i, one := range r.body {
		if j := slices.IndexFunc(from.body, func(v member) bool { return v.name == one.name }); j >= 0 && !r.replaced[one.name] {
			r.body[i] = from.body[j]
		}
	}
}

func (r fieldRequest) target() string {
	target := r.o.Path
	for name, v := range r.path {
		target = setPathParam(target, name, v)
	}
	for i, one := range r.query {
		target += map[bool]string{true: "?", false: "&"}[i == 0] + url.QueryEscape(one.name) + "=" + url.QueryEscape(one.value)
	}
	return target
}

func (r fieldRequest) text() string {
	if r.raw != nil {
		return *r.raw
	}
	if !r.o.HasBody() && len(r.body) == 0 {
		return ""
	}
	var b strings.Builder
	for i, one := range r.body {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + one.name + `":` + one.value)
	}
	return "{" + b.String() + "}"
}

// send sends a request and returns the status of the response.
func (s *fieldServer) send(t testing.TB, m fieldRequest) int {
	t.Helper()
	s.tb = t
	token, ok := s.tokens[m.o.Name]
	if !ok {
		token = s.world.token
	}
	text := m.text()
	r := httptest.NewRequest(m.o.Method, m.target(), strings.NewReader(text))
	if text != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if m.o.Access != op.Public {
		r.Header.Set("Authorization", "Bearer "+token)
	} else {
		r.RemoteAddr = "203.0.113.7:1" // logins of other operations have another address
	}
	w := httptest.NewRecorder()
	s.App().Handler().ServeHTTP(w, r)
	s.count.requests++
	var e struct{ Error struct{ Code, Field string } }
	fail := func(want string) {
		t.Errorf("%s, %s of %s: %.600s %.300s: got %d %.400s, want %s", m.o.Name, m.note, m.field.Name, m.target(), text, w.Code, w.Body, want)
	}
	switch {
	case w.Code < 300:
		s.count.accepted++
		if m.rejected {
			fail("400")
		}
		if renew := s.renew[m.o.Name]; renew != nil {
			renew(m)
		}
	case w.Code >= 500:
		fail("no 5xx")
	case json.Unmarshal(w.Body.Bytes(), &e) != nil || e.Error.Code == "":
		if m.field.Source != op.FromPath || w.Code != 404 {
			fail("the error envelope")
		}
	case w.Code == 400:
		s.count.rejected++
		if !m.isNamedBy(e.Error.Field) {
			fail("the field's name")
		}
	default:
		s.count.rejected++
		if m.rejected {
			fail("400")
		}
	}
	return w.Code
}

// isNamedBy reports whether the field of an error response names the malformed field: the
// field itself, a part of it, or the body that cannot be parsed.
func (r fieldRequest) isNamedBy(field string) bool {
	switch {
	case r.field.Name == "" || r.raw != nil || bytes.ContainsRune([]byte(field), 0):
		return field != ""
	case r.rejected:
		return field == r.field.Name || strings.HasPrefix(field, r.field.Name+".") || field == "body"
	default:
		return field != ""
	}
}
