package archtest

// stay is a kind of comparison that is allowed in Go, with the reason. policies/README.md
// contains the same rows.
type stay struct {
	what, reason string
	// places are "file function: expression".
	places []string
}

var stays = []stay{
	{
		what:   "Whether a permission is held in any scope",
		reason: "A caller without it is rejected before anything is loaded, and a part of an overview is omitted. `Subject.Holds` reads a set that `parapet.subject` computed; the decision about a record follows.",
		places: []string{
			"internal/executor/executor.go requirePermission: c.Actor.Subject.Holds(permission)",
			"internal/tracker/overview.go getProjectOverview: c.Actor.Subject.Holds(contract.PermProjectsRead)",
			"internal/tracker/overview.go getProjectOverview: c.Actor.Subject.Holds(contract.PermStagesRead)",
			"internal/tracker/workspace.go workspace: c.Actor.Subject.Holds(part.permission)",
			"internal/tracker/inbox.go readInboxTasks: c.Actor.Subject.Holds(contract.PermTasksRead)",
			"internal/tracker/inbox.go readInboxTasks: c.Actor.Subject.Holds(permission)",
		},
	},
	{
		what:   "Kind and content of a credential",
		reason: "The principal check compares a token with its record before there is a subject that a policy could decide about.",
		places: []string{
			"internal/principal/checker.go checkCredential: claims.Kind == token.APIKey",
			"internal/principal/checker.go equalClaims: a.Clearance == b.Clearance",
			"internal/principal/record.go validateClaims: r.PrincipalKind != claims.PrincipalKind",
			"internal/principal/record.go readRecord: claims.Kind == token.Session",
		},
	},
	{
		what:   "Which cached data a change concerns",
		reason: "It drops or keeps cached data, and grants nothing.",
		places: []string{
			"internal/principal/run.go Invalidate: switch(resourceType)",
			`internal/principal/run.go applyNotification: n.Kind == "api_key"`,
			`internal/principal/run.go applyNotification: n.Kind == "session"`,
		},
	},
	{
		what:   "Whether a field has changed",
		reason: "An update without a change writes nothing. Who may make the change is decided before.",
		places: []string{
			"internal/identity/grant.go grantPermission: slices.Contains(r.Permissions, in.Permission)",
			"internal/identity/grant.go revokePermission: slices.Index(r.Permissions, in.Permission)",
			"internal/identity/membership.go updateMembership: m.Clearance != old.Clearance",
			"internal/identity/user.go updateUser: u.Clearance != old.Clearance",
		},
	},
	{
		what:   "Which fields a kind of user has",
		reason: "Validation: an agent's address has a form of its own, only a person has a password. The form of a record says nothing about who may write it.",
		places: []string{
			"internal/identity/seed.go EnsureUser: in.Kind != contract.KindAgent",
			"internal/identity/seed.go EnsureUser: in.Kind != contract.KindHuman",
			"internal/identity/user.go checkEmail: kind == contract.KindAgent",
			"internal/identity/user.go checkEmail: kind == contract.KindHuman",
			"internal/identity/user.go checkEmail: kind == contract.KindService",
			"internal/identity/user.go loadNewUser: in.PrincipalKind != contract.KindHuman",
			"internal/identity/user.go loadNewUser: switch(in.PrincipalKind)",
		},
	},
	{
		what:   "What provisioning creates and repairs",
		reason: "An operator runs it without a caller, as the owner of the database. It writes what the policy data says.",
		places: []string{
			"internal/identity/provision.go ensureProfileRole: role.Kind != globalRole",
			"internal/identity/provision.go repairAgents: a.Kind != contract.KindAgent",
		},
	},
	{
		what:   "How an actor is named in an audit entry",
		reason: "A label for readers of the audit log.",
		places: []string{
			"internal/executor/record.go actorType: switch(kind)",
		},
	},
	{
		what:   "Whether a run is recorded",
		reason: "A run is the record of an agent's work; who may be given work, and whether a run may start, is decided by `parapet.work`.",
		places: []string{
			"internal/agentrun/run.go QueueOnAssignment: assignee.Kind != authz.KindAgent",
		},
	},
	{
		what:   "Whose decisions can be explained to others",
		reason: "Validation: the authority of a service principal depends on its key, which an explanation does not have. Who may ask is decided before.",
		places: []string{
			"internal/identity/explanation.go decideExplanation: u.PrincipalKind == contract.KindService",
		},
	},
}
