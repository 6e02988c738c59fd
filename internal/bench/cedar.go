package main

import (
	"github.com/cedar-policy/cedar-go"

	"parapet/internal/authz"
)

// cedarPolicies express the product's rule in Cedar: three flat permits and two forbids. The
// entities are built in advance, as the product builds its subject.
const cedarPolicies = `
permit (principal, action, resource) when { principal.tenantWide.contains(context.permission) };
permit (principal, action, resource) when { principal.inProject.contains(context.permission) && principal.projects.contains(resource.project) };
permit (principal, action, resource) when { principal.own.contains(context.permission) && (resource.creator == principal.id || resource.owner == principal.id) };
forbid (principal, action, resource) unless { principal.tenant == resource.tenant };
forbid (principal, action, resource) unless { resource.rank <= principal.rank };
`

type cedarEngine struct {
	policies *cedar.PolicySet
	entities cedar.EntityMap
	requests map[string]cedar.Request
}

func cedarSet(names ...string) cedar.Set {
	values := make([]cedar.Value, len(names))
	for i, n := range names {
		values[i] = cedar.String(n)
	}
	return cedar.NewSet(values...)
}

func newCedar(w world) (*cedarEngine, error) {
	ps, err := cedar.NewPolicySetFromBytes("bench.cedar", []byte(cedarPolicies))
	if err != nil {
		return nil, err
	}
	user := cedar.NewEntityUID("User", cedar.String(w.actor))
	e := &cedarEngine{policies: ps, entities: cedar.EntityMap{}, requests: map[string]cedar.Request{}}
	e.entities[user] = cedar.Entity{UID: user, Attributes: cedar.NewRecord(cedar.RecordMap{
		"id": cedar.String(w.actor), "tenant": cedar.String(w.tenant), "rank": cedar.Long(rankOf("RESTRICTED")),
		"tenantWide": cedarSet(append(append([]string{}, w.roles["role-07"]...), w.roles["role-21"]...)...),
		"inProject":  cedarSet(w.roles["role-33"]...), "projects": cedarSet(w.project), "own": cedarSet(),
	})}
	for name, r := range map[string]authz.Resource{"allow": w.allowed, "deny": w.denied} {
		task := cedar.NewEntityUID("Task", cedar.String(name))
		e.entities[task] = cedar.Entity{UID: task, Attributes: cedar.NewRecord(cedar.RecordMap{
			"tenant": cedar.String(r.Tenant), "project": cedar.String(r.Project), "creator": cedar.String(r.Creator),
			"owner": cedar.String(r.Owner), "rank": cedar.Long(rankOf(r.Classification)),
		})}
		e.requests[name] = cedar.Request{Principal: user, Action: cedar.NewEntityUID("Action", "decide"), Resource: task,
			Context: cedar.NewRecord(cedar.RecordMap{"permission": cedar.String(w.permission)})}
	}
	return e, nil
}

func (e *cedarEngine) decide(name string) bool {
	d, _ := cedar.Authorize(e.policies, e.entities, e.requests[name])
	return d == cedar.Allow
}
