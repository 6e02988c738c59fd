package invariant

import (
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// profile is a registered service profile: its default role, and the most that the role may
// grant.
type profile struct {
	key, role string
	grants    []string
}

func profiles() []profile {
	return []profile{
		{"spec-wiki-sync", "wiki:page:write", []string{"wiki:page:write"}},
		{"multi-llm-review", "multi-llm-review", []string{"projects.read", "tasks.read"}},
	}
}

// matchingPrincipal returns a service principal that matches the profile.
func (p profile) matchingPrincipal() object {
	return object{
		"id": stranger, "tenant": tenantA, "kind": "SERVICE", "status": "ACTIVE", "membership": "ACTIVE", "integration_key": p.key,
		"roles": []any{serviceRole(p.grants...)},
	}
}

func wikiSync() object { return profiles()[0].matchingPrincipal() }

func serviceRole(grants ...string) object {
	return object{"name": "Profile", "kind": "GLOBAL", "scope": "tenant", "grants": list(grants...)}
}

// mismatchedPrincipals returns service principals that do not match their profile.
func (c *checker) mismatchedPrincipals() []object {
	var out []object
	for _, profile := range profiles() {
		fit, grants := profile.matchingPrincipal(), profile.grants
		out = append(out,
			fit.with("kind", "HUMAN"), fit.with("kind", "AGENT"), fit.with("kind", nil), fit.without("kind"),
			fit.with("integration_key", "unknown"), fit.with("integration_key", nil), fit.without("integration_key"),
			fit.with("roles", list()), fit.with("roles", nil), fit.without("roles"),
			fit.with("roles", []any{serviceRole(grants...), serviceRole(grants...)}),
			fit.with("roles", []any{serviceRole(grants...).with("kind", "STANDARD")}),
			fit.with("roles", []any{serviceRole(grants...).with("scope", "project")}),
			fit.with("roles", []any{serviceRole()}), fit.with("roles", []any{serviceRole(grants...).without("grants")}),
		)
		for _, p := range c.permissions {
			if !slices.Contains(grants, p.Name) {
				out = append(out, fit.with("roles", []any{serviceRole(p.Name)}), fit.with("roles", []any{serviceRole(append(slices.Clone(grants), p.Name)...)}))
			}
		}
	}
	return out
}

func checkProfile(c *checker) {
	defaults := c.set.DefaultRoles()
	for _, profile := range profiles() {
		for _, granted := range defaults[profile.role] {
			if !slices.Contains(profile.grants, granted) {
				c.reportDataFault("data.parapet.roles.defaults", fmt.Sprintf("%s grants %s", profile.role, granted))
			}
		}
	}
	cl := c.callerWithSamplePermissions()
	for _, target := range c.mismatchedPrincipals() {
		c.requireDenial(query{entry: "parapet/profiles/validate", request: object{"target": target}}, "request/target")
		c.requireDenial(query{cl, issueService, object{"target": target, "settings": object{}}}, "request/target")
	}
}

// issuer returns a caller with the permissions for operations about keys.
func (c *checker) issuer() *caller {
	return c.callerWithSamplePermissions().with("tenant_type", "STANDARD")
}

const (
	issueService = "parapet/keys/issue_service"
	issueSelf    = "parapet/keys/issue_self"
	listKeys     = "parapet/keys/list"
	revokeKey    = "parapet/keys/revoke"
)

func serviceKey() object {
	return object{"jti": recordID, "tenant": tenantA, "owner": object{"id": stranger, "tenant": tenantA, "kind": "SERVICE"}}
}

// serviceKeyQueries returns requests about the keys of a service principal.
func serviceKeyQueries(cl *caller) []query {
	return []query{
		{cl, issueService, object{"target": wikiSync(), "settings": object{}}},
		{cl, listKeys, object{"service_owned": true, "owner": object{"id": stranger, "tenant": tenantA, "kind": "SERVICE"}}},
		{cl, revokeKey, object{"service_owned": true, "key": serviceKey()}},
	}
}

func checkServiceKey(c *checker) {
	cl := c.issuer()
	all := []*caller{
		cl.with("token/kind", "internal"), cl.with("token/kind", "unknown"), cl.without("token/kind"),
		cl.with("user/kind", "SERVICE"), cl.with("user/kind", "AGENT"), cl.with("user/kind", "unknown"),
		cl.with("roles/Role", list("api_key.issue", "role.assign", "user.update")), cl.with("stored/assignments", list()),
		cl.with("stored/assignments", []any{object{"role": "Role", "scope": "project", "id": project}}),
		cl.with("stored/assignments", []any{object{"role": "Role", "scope": "organisation", "id": organisation}}),
		cl.with("token/roles", list()).with("token/kind", "api_key"),
		cl.with("user/kind", "SERVICE").with("token/kind", "api_key"),
	}
	// The token of a session need not contain the role: the role assignments on record
	// decide.
	for _, caller := range append(all, c.incompleteCallers("token/roles")...) {
		for _, q := range serviceKeyQueries(caller) {
			c.requireDenial(q, "caller/token", "caller/user")
		}
	}
	c.requireDenial(serviceKeyQueries(cl.with("token/kind", "api_key"))[0], "caller/token/kind")
	for _, change := range []func(object) object{
		func(o object) object { return o.with("tenant", tenantB) }, func(o object) object { return o.without("tenant") },
		func(o object) object { return o.with("kind", "HUMAN") }, func(o object) object { return o.with("kind", "AGENT") }, func(o object) object { return o.without("kind") },
	} {
		c.requireDenial(query{cl, issueService, object{"target": change(wikiSync()), "settings": object{}}}, "request/target")
		owner := change(object{"id": stranger, "tenant": tenantA, "kind": "SERVICE"})
		c.requireDenial(query{cl, listKeys, object{"service_owned": true, "owner": owner}}, "request")
		key := serviceKey().with("owner", owner)
		if tenant, has := owner["tenant"]; !has {
			key = key.without("tenant")
		} else if tenant != tenantA {
			key = key.with("tenant", tenant)
		}
		c.requireDenial(query{cl, revokeKey, object{"service_owned": true, "key": key}}, "request")
	}
	for _, value := range append(invalidValues(), "SUSPENDED", "DELETED", "REMOVED", "INVITED", "active") {
		for _, field := range []string{"status", "membership"} {
			c.requireDenial(query{cl, issueService, object{"target": wikiSync().with(field, value), "settings": object{}}}, "request/target")
			c.requireDenial(query{cl, issueService, object{"target": wikiSync().without(field), "settings": object{}}}, "request/target")
		}
	}
}

func ownKey() object {
	return object{"jti": recordID, "tenant": tenantA, "owner": object{"id": user, "tenant": tenantA, "kind": "HUMAN"}}
}

// selfKey returns a request for the caller's first personal key.
func selfKey(settings object) object {
	return object{"settings": settings, "active_keys": 0, "max_active_keys": 50}
}

func checkPersonalKey(c *checker) {
	cl := c.issuer()
	issue := selfKey(object{})
	for _, bad := range append([]*caller{
		cl.with("token/kind", "api_key"), cl.with("token/kind", "internal"), cl.with("user/kind", "SERVICE"), cl.with("user/kind", "unknown"),
		cl.with("roles/Role", list("api_key.read.own", "role.assign")), cl.with("stored/assignments", list()),
	}, c.incompleteCallers()...) {
		c.requireDenial(query{bad, issueSelf, issue}, "caller/token", "caller/user")
	}
	without := cl.with("roles/Role", list("api_key.issue", "role.assign"))
	c.requireDenial(query{without, listKeys, object{"service_owned": false}}, "caller/roles")
	c.requireDenial(query{without, revokeKey, object{"service_owned": false, "key": ownKey()}}, "caller/roles")
	for _, key := range []object{
		ownKey().withPath("owner/id", colleague), ownKey().withoutPath("owner/id"), ownKey().with("tenant", tenantB), ownKey().without("tenant"), ownKey().without("owner"), serviceKey(),
	} {
		c.requireDenial(query{cl, revokeKey, object{"service_owned": false, "key": key}}, "request")
	}
	for _, kind := range []string{"HUMAN", "AGENT"} {
		c.requireDenial(query{cl, revokeKey, object{"service_owned": true, "key": ownKey().withPath("owner/kind", kind)}}, "request/key")
	}
	for _, value := range invalidValues() {
		c.requireDenial(query{cl, revokeKey, object{"service_owned": value, "key": ownKey()}}, "request")
		c.requireDenial(query{cl, listKeys, object{"service_owned": value}}, "request")
	}
}

func checkKeyLifetime(c *checker) {
	admin, plain := c.issuer(), c.issuer().with("roles/Role", list("api_key.issue"))
	settings := []object{{}, {"max_user_days": 10, "max_admin_days": 5}, {"max_user_days": 5000, "max_admin_days": 5000}, {"max_user_days": 365}, {"max_admin_days": 365}}
	for _, set := range settings {
		limit := 365
		for _, value := range set {
			if days, ok := value.(int); ok && len(set) == 2 {
				limit = min(365, max(days, 10))
			}
		}
		c.requireLifetime(query{admin, issueService, object{"target": wikiSync(), "settings": set}}, 90)
		for _, cl := range []*caller{admin, plain} {
			c.requireLifetime(query{cl, issueSelf, selfKey(set)}, limit)
			for _, requested := range []any{1, 5, 10, 14, 30, 31, 90, 364, 365} {
				if days, ok := requested.(int); ok {
					c.requireLifetime(query{cl, issueSelf, selfKey(set).with("expires_in_days", requested)}, min(limit, days))
				}
			}
			for _, requested := range []any{0, -1, 366, 5000, 1.5, nil, "30", list(), object{}} {
				c.requireDenial(query{cl, issueSelf, selfKey(set).with("expires_in_days", requested)}, "request")
			}
		}
	}
}

// requireLifetime reports a violation if the lifetime of an issued key exceeds a number of days.
func (c *checker) requireLifetime(q query, most int) {
	if c.err != nil {
		return
	}
	c.decisions++
	value := c.eval(q.entry, c.input(q))
	if allowed, _ := decision(q.entry, value); !allowed || c.err != nil {
		return
	}
	days, ok := member(value, "days").(ast.Number)
	if n, whole := days.Int(); !ok || !whole || n < 1 || n > most {
		c.err = &Violation{Invariant: c.current, Entrypoint: q.entry, Problem: fmt.Sprintf("returns a lifetime of %v days, want at most %d", member(value, "days"), most), Counterexample: q.String()}
	}
}
