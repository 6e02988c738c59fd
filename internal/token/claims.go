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

// maxTimestamp is the largest exp, iat and nbf: the last second of the year 9999.
const maxTimestamp = 253402300799

// wireClaims is the JSON form of the payload.
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

// encodeClaims marshals the payload and decodes it again, so that no token is signed that
// Verify would reject.
func encodeClaims(c Claims, kind Kind) ([]byte, error) {
	if kind.MaxLifetime() == 0 {
		return nil, fmt.Errorf("token: unknown kind %q", kind)
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
		return nil, errors.New("token: exp must be after iat")
	}
	if time.Duration(w.ExpiresAt-w.IssuedAt)*time.Second > kind.MaxLifetime() {
		return nil, fmt.Errorf("token: the lifetime of a token of kind %s must be at most %s", kind.Short(), kind.MaxLifetime())
	}
	payload, err := json.Marshal(&w, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("token: claims: %w", err)
	}
	if _, ok := decodeClaims(payload); !ok {
		return nil, errors.New("token: invalid claims: Verify would reject them")
	}
	return payload, nil
}

// decodeClaims reads a payload strictly. It ignores unknown claims, as RFC 7519 section 4
// requires. Restrictions of a token are caveats, and an unknown caveat denies everything.
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
	if r.failed || !c.ExpiresAt.After(c.IssuedAt) {
		return Claims{}, false
	}
	return c, true
}

// claimReader reads members one by one and records whether one was invalid.
type claimReader struct {
	members map[string]jsontext.Value
	failed  bool
}

func (r *claimReader) value(name string, required bool) (jsontext.Value, bool) {
	v, ok := r.members[name]
	if !ok && required {
		r.failed = true
	}
	return v, ok
}

func (r *claimReader) text(name string, required bool) string {
	v, ok := r.value(name, required)
	if !ok {
		return ""
	}
	s, ok := readString(v)
	if !ok {
		r.failed = true
	}
	return s
}

// uuid reads a UUID in canonical form.
func (r *claimReader) uuid(name string) op.UUID {
	s := r.text(name, true)
	id, err := op.ParseUUID(s)
	if err != nil || string(id) != s {
		r.failed = true
	}
	return id
}

// timestamp reads a positive integer number of seconds, written in digits only.
func (r *claimReader) timestamp(name string, required bool) time.Time {
	v, ok := r.value(name, required)
	if !ok {
		return time.Time{}
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n <= 0 || n > maxTimestamp || strconv.FormatInt(n, 10) != string(v) {
		r.failed = true
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}

func (r *claimReader) texts(name string, required bool) []string {
	v, ok := r.value(name, required)
	if !ok {
		return nil
	}
	list, ok := readStrings(v)
	if !ok {
		r.failed = true
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
		r.failed = true
		return nil
	}
	scopes := make(map[string][]string, len(members))
	for role, value := range members {
		list, ok := readStrings(value)
		if !ok || !isPlainText(role) {
			r.failed = true
			return nil
		}
		scopes[role] = list
	}
	return scopes
}

// readString reads a JSON string. It rejects null, NUL characters and unpaired
// surrogates, which other parsers read differently.
func readString(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return "", false
	}
	s := string(text)
	return s, isPlainText(s)
}

func isPlainText(s string) bool { return !strings.ContainsAny(s, "\x00\uFFFD") }

func readStrings(v jsontext.Value) ([]string, bool) {
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
		s, ok := readString(item)
		if !ok {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}

// clone returns a deep copy.
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
