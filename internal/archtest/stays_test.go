package archtest

// stay is a kind of comparison that stays in Go, and why. policies/README.md has the
// same rows.
type stay struct {
	what, reason string
	// places are "file function: expression".
	places []string
	// moving marks a kind whose places may disappear without notice.
	moving bool
}

var stays = []stay{
	{
		what:   "Administration of accounts and roles",
		reason: "It is being moved into the policies about accounts, grants and roles; each entry goes when its comparison does.",
		places: []string{
			"internal/identity/assignment.go fits: kind == contract.KindService",
			"internal/identity/assignment.go fits: r.Kind == contract.RoleGlobal",
			"internal/identity/assignment.go rolesToGive: r.Kind == contract.RoleGlobal",
			"internal/identity/assignment.go unassignRole: a.PrincipalKind == contract.KindService",
			"internal/identity/assignment.go unassignRole: a.Role == adminRole",
			"internal/identity/event.go listNotifications: c.Actor.Subject.Admin()",
			"internal/identity/event.go markNotificationRead: c.Actor.Subject.Admin()",
			"internal/identity/grant.go grantPermission: r.Kind == contract.RoleGlobal",
			"internal/identity/grant.go powerless: c.Actor.TenantType != contract.TenantProgrammeOffice",
			"internal/identity/grant.go revokePermission: r.Name == adminRole",
			"internal/identity/membership.go keepAnAdmin: r.Name == adminRole",
			"internal/identity/membership.go mayClear: s.rank(tier) > s.rank(c.Actor.Clearance())",
			"internal/identity/membership.go setClearance: s.rank(to) > s.rank(from)",
			"internal/identity/provision.go reconcileRoles: want.Name == adminRole",
			"internal/identity/role.go deleteRole: r.Kind == contract.RoleGlobal",
			"internal/identity/role.go updateRole: was.Kind == contract.RoleGlobal",
			`internal/identity/session.go changePassword: c.Actor.Kind != "HUMAN"`,
			`internal/identity/session.go changePassword: c.Actor.TokenKind != "session"`,
			`internal/identity/session.go logout: c.Actor.TokenKind != "session"`,
			"internal/identity/user.go deleteUser: u.PrincipalKind != contract.KindAgent",
			"internal/identity/user.go mayImpersonate: s.rank(u.Clearance) > s.rank(c.Actor.Clearance())",
			"internal/identity/user.go writeUserRecord: u.PrincipalKind != contract.KindHuman",
		},
		moving: true,
	},
	{
		what:   "Whether a permission is held in any scope",
		reason: "A caller without it is refused before anything is loaded, and a part of an overview is left out. `Subject.Holds` reads a set that `parapet.subject` computed; the decision about a record follows.",
		places: []string{
			"internal/gate/gate.go holds: c.Actor.Subject.Holds(permission)",
			"internal/tracker/overview.go getProjectOverview: c.Actor.Subject.Holds(contract.PermProjectsRead)",
			"internal/tracker/overview.go getProjectOverview: c.Actor.Subject.Holds(contract.PermStagesRead)",
			"internal/tracker/workspace.go workspace: c.Actor.Subject.Holds(part.permission)",
		},
	},
	{
		what:   "Kind and content of a credential",
		reason: "The principal check compares a token with its record before there is a subject that a policy could decide about.",
		places: []string{
			"internal/principal/checker.go check: claims.Kind == token.APIKey",
			"internal/principal/checker.go sameSnapshot: a.Clearance == b.Clearance",
			"internal/principal/record.go belongsTo: r.PrincipalKind != claims.PrincipalKind",
			"internal/principal/record.go readRecord: claims.Kind == token.Session",
		},
	},
	{
		what:   "Which cached data a change concerns",
		reason: "It drops or keeps cached data, and grants nothing.",
		places: []string{
			"internal/principal/run.go Changed: switch(resourceType)",
			`internal/principal/run.go apply: n.Kind == "api_key"`,
			`internal/principal/run.go apply: n.Kind == "session"`,
		},
	},
	{
		what:   "Whether a field has changed",
		reason: "An update without a change writes nothing. Who may make the change is decided before.",
		places: []string{
			"internal/identity/grant.go grantPermission: slices.Contains(r.Permissions, in.Permission)",
			"internal/identity/grant.go revokePermission: slices.Index(r.Permissions, in.Permission)",
			"internal/identity/membership.go updateMembership: m.Clearance != was.Clearance",
			"internal/identity/user.go updateUser: u.Clearance != was.Clearance",
		},
	},
	{
		what:   "Which fields a kind of user has",
		reason: "Validation: an agent has no address, only a person has a password. The form of a record says nothing about who may write it.",
		places: []string{
			"internal/identity/membership.go createMembership: j.user.PrincipalKind != contract.KindHuman",
			"internal/identity/seed.go User: in.Kind != contract.KindAgent",
			"internal/identity/seed.go User: in.Kind != contract.KindHuman",
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
			"internal/identity/provision.go profileRole: role.Kind != globalRole",
			"internal/identity/provision.go repairAgents: a.Kind != contract.KindAgent",
		},
	},
	{
		what:   "How an actor is named in an audit entry",
		reason: "A label for readers of the audit log.",
		places: []string{
			"internal/gate/record.go actorType: switch(kind)",
		},
	},
	{
		what:   "Whether a run is recorded",
		reason: "A run is the record of an agent's work; who may be given work, and whether a run may start, is decided by `parapet.work`.",
		places: []string{
			"internal/tracker/run.go assigned: who.Kind != authz.KindAgent",
		},
	},
	{
		what:   "Rank of a search result",
		reason: "The word alone is the same: how well a text matches.",
		places: []string{
			"internal/tracker/initiative_list.go findInitiative: r.Rank == rows[0].Rank",
			"internal/tracker/project_list.go findProject: r.Rank == rows[0].Rank",
		},
	},
}
