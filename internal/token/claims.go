package token

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/op"
)

// maxSeconds bounds exp, iat and nbf: the last second of the year 9999.
const maxSeconds = 253402300799

// wireClaims is the payload as it is written.
type wireClaims struct {
	Issuer        string              `json:"iss"`
	Subject       string              `json:"sub"`
	ID            string              `json:"jti"`
	IssuedAt      int64               `json:"iat"`
	ExpiresAt     int64               `json:"exp"`
	NotBefore     int64               `json:"nbf,omitzero"`
	Tenant        string              `json:"tenant_id"`
	Roles         []string            `json:"roles"`
	RoleScopes    map[string][]string `json:"role_scopes,omitempty"`
	PrincipalKind string              `json:"principal_kind"`
	Clearance     string              `json:"clearance,omitempty"`
	Caveats       []string            `json:"caveats,omitempty"`
	Email         string              `json:"email,omitempty"`
}

// encodeClaims writes the payload and reads it back, so that nothing is signed
// that Verify would refuse.
func encodeClaims(c Claims, kind Kind) ([]byte, error) {
	if kind.MaxLifetime() == 0 {
		return nil, fmt.Errorf("token: %q is no kind of token", kind)
	}
	w := wireClaims{
		Issuer: Issuer, Subject: c.Subject.String(), ID: c.ID.String(), Tenant: c.Tenant.String(),
		IssuedAt: c.IssuedAt.Unix(), ExpiresAt: c.ExpiresAt.Unix(),
		Roles: c.Roles, RoleScopes: c.RoleScopes, PrincipalKind: c.PrincipalKind,
		Clearance: c.Clearance, Caveats: c.Caveats, Email: c.Email,
	}
	if !c.NotBefore.IsZero() {
		w.NotBefore = c.NotBefore.Unix()
	}
	if w.ExpiresAt <= w.IssuedAt {
		return nil, errors.New("token: it would expire before it is issued")
	}
	if time.Duration(w.ExpiresAt-w.IssuedAt)*time.Second > kind.MaxLifetime() {
		return nil, fmt.Errorf("token: a %s lives at most %s", kind.Short(), kind.MaxLifetime())
	}
	payload, err := json.Marshal(&w, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("token: claims: %w", err)
	}
	if _, ok := decodeClaims(payload); !ok {
		return nil, errors.New("token: the claims are not of the form that is read")
	}
	return payload, nil
}

// decodeClaims reads a payload strictly. A claim that is not ours is ignored, as
// RFC 7519 section 4 asks; whatever narrows a token is a caveat, and those fail
// closed.
func decodeClaims(payload []byte) (Claims, bool) {
	m, ok := readObject(payload)
	if !ok {
		return Claims{}, false
	}
	var c Claims
	r := claimReader{members: m}
	if r.text("iss", true) != Issuer {
		return Claims{}, false
	}
	c.Subject = r.uuid("sub")
	c.ID = r.uuid("jti")
	c.Tenant = r.uuid("tenant_id")
	c.IssuedAt = r.timestamp("iat", true)
	c.ExpiresAt = r.timestamp("exp", true)
	c.NotBefore = r.timestamp("nbf", false)
	c.Roles = r.texts("roles", true)
	c.RoleScopes = r.scopes("role_scopes")
	c.PrincipalKind = r.text("principal_kind", true)
	c.Clearance = r.text("clearance", false)
	c.Caveats = r.texts("caveats", false)
	c.Email = r.text("email", false)
	switch c.PrincipalKind {
	case "HUMAN", "SERVICE", "AGENT":
	default:
		return Claims{}, false
	}
	if r.fail || !c.ExpiresAt.After(c.IssuedAt) {
		return Claims{}, false
	}
	return c, true
}

// claimReader reads members one by one and remembers that one was wrong.
type claimReader struct {
	members map[string]jsontext.Value
	fail    bool
}

func (r *claimReader) value(name string, required bool) (jsontext.Value, bool) {
	v, ok := r.members[name]
	if !ok && required {
		r.fail = true
	}
	return v, ok
}

func (r *claimReader) text(name string, required bool) string {
	v, ok := r.value(name, required)
	if !ok {
		return ""
	}
	s, ok := stringOf(v)
	if !ok {
		r.fail = true
	}
	return s
}

// uuid reads an identifier in its one canonical spelling.
func (r *claimReader) uuid(name string) op.UUID {
	s := r.text(name, true)
	id, err := op.ParseUUID(s)
	if err != nil || string(id) != s {
		r.fail = true
	}
	return id
}

// timestamp reads a positive whole number of seconds, written with digits alone.
func (r *claimReader) timestamp(name string, required bool) time.Time {
	v, ok := r.value(name, required)
	if !ok {
		return time.Time{}
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n <= 0 || n > maxSeconds || strconv.FormatInt(n, 10) != string(v) {
		r.fail = true
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}

func (r *claimReader) texts(name string, required bool) []string {
	v, ok := r.value(name, required)
	if !ok {
		return nil
	}
	list, ok := stringsOf(v)
	if !ok {
		r.fail = true
	}
	return list
}

func (r *claimReader) scopes(name string) map[string][]string {
	v, ok := r.value(name, false)
	if !ok {
		return nil
	}
	members, ok := readObject(v)
	if !ok {
		r.fail = true
		return nil
	}
	scopes := make(map[string][]string, len(members))
	for role, value := range members {
		list, ok := stringsOf(value)
		if !ok || !plain(role) {
			r.fail = true
			return nil
		}
		scopes[role] = list
	}
	return scopes
}

// stringOf reads a JSON string that says the same everywhere: not null, no NUL,
// no half of a surrogate pair.
func stringOf(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return "", false
	}
	s := string(text)
	return s, plain(s)
}

func plain(s string) bool { return !strings.ContainsAny(s, "\x00\uFFFD") }

func stringsOf(v jsontext.Value) ([]string, bool) {
	if v.Kind() != '[' {
		return nil, false
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(v))
	if _, err := dec.ReadToken(); err != nil {
		return nil, false
	}
	list := []string{}
	for dec.PeekKind() != ']' {
		item, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		s, ok := stringOf(item)
		if !ok {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}

// clone copies what the claims point to.
func (c Claims) clone() Claims {
	c.Roles = slices.Clone(c.Roles)
	c.Caveats = slices.Clone(c.Caveats)
	if c.RoleScopes != nil {
		scopes := maps.Clone(c.RoleScopes)
		for role, list := range scopes {
			scopes[role] = slices.Clone(list)
		}
		c.RoleScopes = scopes
	}
	return c
}
