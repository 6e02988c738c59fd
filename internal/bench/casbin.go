package main

import (
	"github.com/casbin/casbin/v2"
	"github.com/casbin/casbin/v2/model"

	"parapet/internal/authz"
)

// casbinModel expresses the product's rule in Casbin: roles with domains, a line for each of
// the 2,000 grants, and an attribute matcher for the rest.
const casbinModel = `
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, act
[role_definition]
g = _, _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.act == p.act && r.sub.Tenant == r.obj.Tenant && r.obj.Rank <= r.sub.Rank && (g(r.sub.ID, p.sub, "tenant") || g(r.sub.ID, p.sub, r.obj.Project))
`

type casbinSubject struct {
	ID, Tenant string
	Rank       int
}

type casbinObject struct {
	Tenant, Project string
	Rank            int
}

type casbinEngine struct {
	enforcer *casbin.Enforcer
	subject  casbinSubject
}

func newCasbin(w world) (*casbinEngine, error) {
	m, err := model.NewModelFromString(casbinModel)
	if err != nil {
		return nil, err
	}
	e, err := casbin.NewEnforcer(m)
	if err != nil {
		return nil, err
	}
	for role, permissions := range w.roles {
		for _, p := range permissions {
			if _, err := e.AddPolicy(role, p); err != nil {
				return nil, err
			}
		}
	}
	for role, scope := range map[string]string{"role-07": "tenant", "role-21": "tenant", "role-33": w.project} {
		if _, err := e.AddGroupingPolicy(w.actor, role, scope); err != nil {
			return nil, err
		}
	}
	return &casbinEngine{e, casbinSubject{w.actor, w.tenant, rankOf("RESTRICTED")}}, nil
}

func (e *casbinEngine) decide(permission string, r authz.Resource) (bool, error) {
	return e.enforcer.Enforce(e.subject, casbinObject{r.Tenant, r.Project, rankOf(r.Classification)}, permission)
}
