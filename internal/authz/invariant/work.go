package invariant

const (
	assignWork     = "parapet/work/give"
	actAsAgent     = "parapet/work/act_as_agent"
	raiseDecision  = "parapet/work/raise_decision"
	cancelDecision = "parapet/work/cancel_decision"
	releaseClaim   = "parapet/work/release_claim"
	promoteIssue   = "parapet/work/promote_issue"
	countRecords   = "parapet/work/count_records"
	startRun       = "parapet/work/start_run"
	delegate       = "parapet/delegations/verdict"
	openOperation  = "parapet/open/verdict"
)

// candidate returns a user who can be assigned work.
func candidate(kind string) object {
	return object{
		"id": colleague, "tenant": tenantA, "kind": kind, "status": "ACTIVE", "membership": "ACTIVE", "clearance": "SECRET",
		"roles":          []any{object{"name": "Member", "kind": "STANDARD", "scope": "tenant", "grants": list("task.update", "tasks.read")}},
		"agents_allowed": true,
	}
}

// unassignableCandidates returns candidates that cannot be assigned work.
func unassignableCandidates(kind string) []object {
	fit := candidate(kind)
	out := []object{
		fit.with("tenant", tenantB), fit.without("tenant"), fit.with("kind", "SERVICE"), fit.without("kind"), fit.with("kind", "unknown"),
		fit.with("clearance", "RESTRICTED"), fit.with("clearance", "unknown"), fit.without("clearance"), fit.without("roles"),
		fit.with("roles", []any{object{"name": "Guest Customer", "kind": "STANDARD", "scope": "project", "id": otherProject, "grants": list()}}),
		fit.with("roles", []any{object{"name": nil}}),
	}
	for _, field := range []string{"status", "membership"} {
		for _, value := range append(invalidValues(), "SUSPENDED", "DELETED", "REMOVED", "active") {
			out = append(out, fit.with(field, value))
		}
		out = append(out, fit.without(field))
	}
	if kind == "AGENT" {
		out = append(out, fit.with("agents_allowed", false), fit.without("agents_allowed"))
	}
	return out
}

func checkAssignment(c *checker) {
	secret := otherUsersRecord().with("classification", "SECRET")
	cl := c.callerWithSamplePermissions()
	for _, kind := range []string{"HUMAN", "AGENT"} {
		for _, who := range unassignableCandidates(kind) {
			c.requireDenial(query{cl, assignWork, object{"resource": secret, "candidate": who}}, "request/candidate")
			if kind == "AGENT" {
				c.requireDenial(query{cl, actAsAgent, object{"resource": secret, "candidate": who}}, "request/candidate")
				c.requireDenial(query{entry: startRun, request: object{"resource": secret, "candidate": who}}, "request/candidate")
			}
		}
		for _, tenant := range []any{tenantB, nil, ""} {
			c.requireDenial(query{cl, assignWork, object{"resource": otherUsersRecord().with("tenant", tenant), "candidate": candidate(kind).with("tenant", tenant)}}, "request")
		}
	}
	c.requireDenial(query{cl, actAsAgent, object{"resource": otherUsersRecord(), "candidate": candidate("HUMAN")}}, "request/candidate")
}

// actForOthersRequests returns requests that concern another user's work. They require
// tasks.update.any, or issue.update to promote an issue.
func actForOthersRequests(cl *caller, resource object) []query {
	return []query{
		{cl, actAsAgent, object{"resource": resource, "candidate": candidate("AGENT")}},
		{cl, raiseDecision, object{"resource": resource, "acting": stranger, "assignee": stranger, "category": "IN_PROGRESS"}},
		{cl, cancelDecision, object{"resource": resource, "raised_by": colleague}},
		{cl, releaseClaim, object{"resource": resource, "holder": colleague}},
		{cl, promoteIssue, object{"resource": resource}},
	}
}

func checkActForOthers(c *checker) {
	cl := c.callerWithSamplePermissions()
	callers := append([]*caller{
		cl.with("roles/Role", list("task.update", "tasks.read", "task.claim", "project.update", "role.assign")),
		cl.with("stored/assignments", list()), c.scoped("project", otherProject), cl.with("token/caveats", list("read-only")), cl.with("token/caveats", list("module:identity")),
	}, c.incompleteCallers()...)
	for _, bad := range callers {
		for _, q := range actForOthersRequests(bad, otherUsersRecord()) {
			c.requireDenial(q, "caller/token", "caller/user", "request")
		}
	}
	for _, bad := range append(c.incompleteCallers(), cl.with("roles/Role", list("time_entries.read.own", "task.update")), c.scoped("project", otherProject)) {
		c.requireDenial(query{bad, countRecords, object{"resource": otherUsersRecord(), "permission": "time_entries.read"}}, "caller/roles", "request")
	}
	c.requireDenial(query{cl, countRecords, object{"resource": otherUsersRecord(), "permission": "task.update"}}, "request")
	low := cl.with("token/clearance", "INTERNAL")
	for _, q := range actForOthersRequests(low, otherUsersRecord().with("classification", "SECRET")) {
		c.requireDenial(q, "caller/token/clearance", "request")
	}
	for _, tenant := range []any{tenantB, nil, ""} {
		for _, q := range actForOthersRequests(cl, otherUsersRecord().with("tenant", tenant)) {
			c.requireDenial(q, "request/resource/tenant")
		}
	}
	c.requireDenial(query{cl, raiseDecision, object{"resource": otherUsersRecord(), "acting": user, "assignee": colleague, "category": "IN_PROGRESS"}}, "request")
	for _, category := range append(invalidValues(), "TODO", "REVIEW", "DONE", "CANCELLED") {
		c.requireDenial(query{cl, raiseDecision, object{"resource": otherUsersRecord(), "acting": user, "assignee": user, "category": category}}, "request")
	}
}

// allowedVerdicts returns queries of special entry points that allow callerWithSamplePermissions.
func allowedVerdicts(cl *caller) []query {
	out := append(serviceKeyQueries(cl), actForOthersRequests(cl, otherUsersRecord())...)
	return append(out,
		query{cl, issueSelf, selfKey(object{})},
		query{cl, revokeKey, object{"service_owned": false, "key": ownKey()}},
		query{cl, delegate, newDelegationRequest()},
		query{cl, openOperation, object{"effect": "write", "module": "identity"}},
		query{cl, countRecords, object{"resource": otherUsersRecord(), "permission": "time_entries.read"}},
	)
}
