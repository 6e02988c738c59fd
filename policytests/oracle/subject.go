package oracle

import "strings"

// reach contains the scopes in which a role or a permission is held.
type reach struct {
	tenant        bool
	organisations set
	projects      set
}

func newReach() reach { return reach{organisations: set{}, projects: set{}} }

func wide() reach {
	r := newReach()
	r.tenant = true
	return r
}

func (r reach) nowhere() bool {
	return !r.tenant && len(r.organisations) == 0 && len(r.projects) == 0
}

func (r reach) plus(other reach) reach {
	sum := newReach()
	sum.tenant = r.tenant || other.tenant
	sum.organisations.with(r.organisations).with(other.organisations)
	sum.projects.with(r.projects).with(other.projects)
	return sum
}

// intersection returns the scopes that both contain. The intersection of an organisation
// and a project is empty, because no scope names it.
func (r reach) intersection(other reach) reach {
	switch {
	case r.tenant:
		return other
	case other.tenant:
		return r
	}
	both := newReach()
	both.organisations = r.organisations.both(other.organisations)
	both.projects = r.projects.both(other.projects)
	return both
}

func (r reach) document() object {
	return object{"tenant": r.tenant, "organisations": r.organisations.list(), "projects": r.projects.list()}
}

// caller is the parsed input of parapet.subject.subject.
type caller struct {
	kind, tokenKind    string
	tokenTenant, there string
	tenantType         string
	token, stored      object
}

// Subject evaluates parapet.subject.subject and returns the document that the schema of
// parapet.access describes. It returns nil if the input does not identify the user and the
// tenant.
func (o Oracle) Subject(in any) object {
	doc := asObject(in)
	user := asObject(doc["user"])
	token := asObject(doc["token"])
	id, tenant := word(user, "id"), word(doc, "tenant")
	if !uuid.MatchString(id) || !uuid.MatchString(tenant) {
		return nil
	}
	c := caller{
		kind: knownWord(user, "kind", principalKinds), tokenKind: knownWord(token, "kind", tokenKinds), tokenTenant: word(token, "tenant"),
		there: tenant, tenantType: knownWord(doc, "tenant_type", tenantTypes), token: token, stored: asObject(doc["stored"]),
	}
	held := o.effectiveRoles(c)
	clearance := o.effectiveClearance(c)
	roles := asObject(doc["roles"])
	caveats := o.caveats(token["caveats"])
	if caveats.denyAll() {
		roles = nil
	}

	subject := object{
		"id": id, "tenant": tenant, "tenant_type": c.tenantType, "kind": c.kind, "token_kind": c.tokenKind,
		"clearance": clearance, "readable": readable(clearance).list(),
		"effects": caveats.effects.list(), "modules": caveats.modules.list(),
		"all_projects": caveats.everyProject, "projects": caveats.projects.list(),
	}
	if organisation := word(user, "organisation"); uuid.MatchString(organisation) {
		subject["organisation"] = organisation
	}
	o.addGrants(subject, held, roles, c.tenantType)
	source := map[string]reach{}
	switch {
	case o.broken(StoredFromToken):
		source = held
	case kindsAreKnown(c) && (c.tokenTenant == c.there || o.canLeaveTenant(c)):
		source = storedRoles(c.stored)
	}
	subject["stored_permissions"] = o.storedPermissions(source, roles, c.tenantType).list()
	subject["delegated_subjects"] = o.delegatedSubjects(c, doc, subject, caveats)
	return subject
}

// effectiveRoles returns the roles that count. In its own tenant, an API key has the roles
// that it was issued with, and a session those that are both in the token and on record. In
// another tenant, only the roles on record count; a SERVICE principal has none there.
func (o Oracle) effectiveRoles(c caller) map[string]reach {
	if !kindsAreKnown(c) {
		return map[string]reach{}
	}
	snapshot, stored := o.snapshot(c.token), storedRoles(c.stored)
	if c.tokenTenant != c.there {
		if o.broken(ForeignTenantTrustsToken) {
			return snapshot
		}
		if !o.canLeaveTenant(c) {
			return map[string]reach{}
		}
		return stored
	}
	if c.tokenKind == "api_key" {
		if o.broken(KeyReadsStored) {
			return stored
		}
		return snapshot
	}
	switch {
	case o.broken(SessionIgnoresStored):
		return snapshot
	case o.broken(SessionIgnoresToken):
		return stored
	}
	both := map[string]reach{}
	for name, signed := range snapshot {
		now, ok := stored[name]
		if !ok {
			continue
		}
		common := signed.intersection(now)
		if o.broken(SessionWidensScope) {
			common = signed.plus(now)
		}
		if !common.nowhere() {
			both[name] = common
		}
	}
	return both
}

func (o Oracle) effectiveClearance(c caller) string {
	if !kindsAreKnown(c) {
		return unclassified
	}
	signed, stored := o.claim(c.token["clearance"]), o.claim(c.stored["clearance"])
	if c.tokenTenant != c.there {
		switch {
		case o.broken(ForeignTenantTrustsClearance):
			return signed
		case !o.canLeaveTenant(c):
			return unclassified
		}
		return stored
	}
	if c.tokenKind == "api_key" {
		if o.broken(KeyReadsStoredClearance) {
			return stored
		}
		return signed
	}
	if Rank(stored) < Rank(signed) && !o.broken(SessionKeepsClearance) {
		return stored
	}
	return signed
}

// kindsAreKnown reports whether the kinds of the principal and of the token are kindsAreKnown. Unknown kinds
// have no permissions.
func kindsAreKnown(c caller) bool {
	return principalKinds.has(c.kind) && tokenKinds.has(c.tokenKind)
}

var (
	principalKinds = setOf("HUMAN", "SERVICE", "AGENT")
	tokenKinds     = setOf("session", "api_key", "internal")
	tenantTypes    = setOf("STANDARD", "PROGRAMME_OFFICE")
)

// knownWord returns a field that is one of the known words, or "".
func knownWord(o object, name string, known set) string {
	if s := word(o, name); known.has(s) {
		return s
	}
	return ""
}

// canLeaveTenant reports whether the caller can act in a tenant other than its token's.
func (o Oracle) canLeaveTenant(c caller) bool {
	if !uuid.MatchString(c.tokenTenant) {
		return false // a token must name its tenant
	}
	if c.kind == "SERVICE" && !o.broken(ServiceLeavesItsTenant) {
		return false
	}
	return c.tokenKind != "internal" || o.broken(InternalLeavesItsTenant)
}

// snapshot reads the roles of a token. A role without an entry in role_scopes has the scope
// of the tenant. Without role_scopes there are no roles.
func (o Oracle) snapshot(token object) map[string]reach {
	roles := map[string]reach{}
	scopes, there := token["role_scopes"].(map[string]any)
	if !there && !o.broken(MissingScopesAreWide) {
		return roles
	}
	for _, name := range texts(token["roles"]) {
		entry, narrowed := scopes[name]
		if !narrowed {
			roles[name] = wide()
			continue
		}
		r := newReach()
		for _, scope := range texts(entry) {
			if id, ok := after(scope, "project:"); ok {
				r.projects.add(id)
			}
			if id, ok := after(scope, "organisation:"); ok {
				r.organisations.add(id)
			}
		}
		if r.nowhere() && o.broken(EmptyScopesAreWide) {
			r = wide()
		}
		if !r.nowhere() {
			roles[name] = r
		}
	}
	return roles
}

// storedRoles reads the assignments on record.
func storedRoles(stored object) map[string]reach {
	roles := map[string]reach{}
	assignments, _ := stored["assignments"].([]any)
	for _, item := range assignments {
		assignment := asObject(item)
		name, ok := assignment["role"].(string)
		if !ok {
			continue
		}
		r := newReach()
		id := word(assignment, "id")
		hasID := uuid.MatchString(id)
		switch scope := word(assignment, "scope"); {
		case scope == "tenant":
			r.tenant = true
		case scope == "organisation" && hasID:
			r.organisations.add(id)
		case scope == "project" && hasID:
			r.projects.add(id)
		default:
			continue
		}
		if before, ok := roles[name]; ok {
			r = r.plus(before)
		}
		roles[name] = r
	}
	return roles
}

// addGrants adds the permissions of the roles: the scopes of each permission, the audit
// scopes, and the lists of names.
func (o Oracle) addGrants(subject object, held map[string]reach, roles object, tenantType string) {
	plain, own, audit := map[string]reach{}, map[string]reach{}, map[string]reach{}
	names, admin := set{}, false
	permissions, holds := set{}, set{}
	for role, where := range held {
		names.add(role)
		admin = admin || administrativeRoles.has(role)
		for _, permission := range texts(roles[role]) {
			if !o.grantable(permission, tenantType) {
				continue
			}
			permissions.add(permission)
			holds.add(permission)
			admin = admin || administrativeGrants.has(permission)
			if scope, ok := strings.CutPrefix(permission, "audit.read."); ok {
				audit[scope] = join(audit, scope, where)
				holds.add("audit.read")
				continue
			}
			bare, isOwn := strings.CutSuffix(permission, ".own")
			switch {
			case isOwn && o.broken(OwnGrantsAll):
				plain[bare] = join(plain, bare, where)
				holds.add(bare)
			case isOwn:
				own[bare] = join(own, bare, where)
				own[permission] = join(own, permission, where)
				holds.add(bare)
			default:
				plain[permission] = join(plain, permission, where)
			}
		}
	}
	grants := object{}
	for permission, where := range plain {
		grants[permission] = where.document()
	}
	for permission, where := range own {
		if grants[permission] == nil {
			grants[permission] = newReach().document()
		}
		asObject(grants[permission])["own"] = where.document()
	}
	auditing := object{}
	for scope, where := range audit {
		auditing[scope] = where.document()
	}
	subject["roles"], subject["admin"] = names.list(), admin
	subject["grants"], subject["audit"] = grants, auditing
	subject["holds"], subject["permissions"] = holds.list(), permissions.list()
}

func join(m map[string]reach, name string, where reach) reach {
	if before, ok := m[name]; ok {
		return before.plus(where)
	}
	return newReach().plus(where)
}

// grantable reports whether a role can grant the permission: it is in the catalogue, and a
// platform permission requires a PROGRAMME_OFFICE tenant.
func (o Oracle) grantable(permission, tenantType string) bool {
	if !catalogue.has(permission) {
		return o.broken(UnknownPermissionGrants)
	}
	return !platform.has(permission) || tenantType == "PROGRAMME_OFFICE" || o.broken(PlatformInStandardTenant)
}

// storedPermissions returns the permissions that the assignments on record grant in the
// scope of the tenant, regardless of the token.
func (o Oracle) storedPermissions(stored map[string]reach, roles object, tenantType string) set {
	names := set{}
	for role, where := range stored {
		if !where.tenant && !o.broken(StoredInAnyScope) {
			continue
		}
		for _, permission := range texts(roles[role]) {
			if o.grantable(permission, tenantType) {
				names.add(permission)
			}
		}
	}
	return names
}
