package main

import (
	"time"

	"parapet/internal/op"
	"parapet/internal/token"
)

// tokens measures issuing and verifying an API key.
func tokens(r *report) error {
	const secret = "a secret for measuring, longer than 32 bytes"
	plain, err := token.New(token.Config{Secret: secret, CacheSize: -1})
	if err != nil {
		return err
	}
	cached, err := token.New(token.Config{Secret: secret})
	if err != nil {
		return err
	}
	id := op.UUID("018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f")
	now := time.Now().UTC().Truncate(time.Second)
	claims := token.Claims{ID: id, Subject: id, Tenant: id, IssuedAt: now, ExpiresAt: now.Add(90 * 24 * time.Hour), Roles: []string{"Member"}, PrincipalKind: "HUMAN", Clearance: "INTERNAL"}
	text, err := plain.Issue(claims, token.APIKey)
	if err != nil {
		return err
	}
	if _, err := plain.Verify(text, token.APIKey); err != nil {
		return err
	}
	if err := r.addComparison("token/issue", measure(func() { _, _ = plain.Issue(claims, token.APIKey) }), "", nil); err != nil {
		return err
	}
	base := measure(func() { _, _ = plain.Verify(text, token.APIKey) })
	if err := r.addComparison("token/verify", base, "", nil); err != nil {
		return err
	}
	return r.addComparison("token/verify-cached", measure(func() { _, _ = cached.Verify(text, token.APIKey) }), "token/verify", &base)
}
