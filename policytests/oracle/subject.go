package oracle

import "strings"

// scopeSet is the set of scopes in which a role or a permission is held.
type scopeSet struct {
	tenant        bool
	organisations set
	projects      set
}

func newScopeSet() scopeSet { return scopeSet{organisations: set{}, projects: set{}} }

// tenantScope returns the scope of the whole tenant.
func tenantScope() scopeSet {
	r := newScopeSet()
	r.tenant = true
	return r
}

func (r scopeSet) isEmpty() bool {
	return !r.tenant && len(r.organisations) == 0 && len(r.projects) == 0
}

func (r scopeSet) union(other scopeSet) scopeSet {
	sum := newScopeSet()
	sum.tenant = r.tenant || other.tenant
	sum.organisations.addAll(r.organisations).addAll(other.organisations)
	sum.projects.addAll(r.projects).addAll(other.projects)
	return sum
}

// intersection returns the scopes that both sets contain. The intersection of an
// organisation and a project is empty, because no scope names it.
func (r scopeSet) intersection(other scopeSet) scopeSet {
	switch {
	case r.tenant:
		return other
	case other.tenant:
		return r
	}
	both := newScopeSet()
	both.organisations = r.organisations.intersect(other.organisations)
	both.projects = r.projects.intersect(other.projects)
	return both
}

func (r scopeSet) document() object {
	return object{"tenant": r.tenant, "organisations": r.organisations.list(), "projects": r.projects.list()}
}

// caller is the parsed input of parapet.subject.subject.
type caller struct {
	kind, tokenKind     string
	tokenTenant, tenant string
	tenantType          string
	token, stored       object
}

// Subject evaluates parapet.subject.subject and returns the document that the schema of
// parapet.access describes. It returns nil if the input does not identify the user and the
// tenant.
func (o Oracle) Subject(in any) object {
	doc := asObject(in)
	user := asObject(doc["user"])
	token := asObject(doc["token"])
	id, tenant := stringField(user, "id"), stringField(doc, "tenant")
	if !uuid.MatchString(id) || !uuid.MatchString(tenant) {
		return nil
	}
	c := caller{
		kind: knownWord(user, "kind", principalKinds), tokenKind: knownWord(token, "kind", tokenKinds), tokenTenant: stringField(token, "tenant"),
		tenant: tenant, tenantType: knownWord(doc, "tenant_type", tenantTypes), token: token, stored: asObject(doc["stored"]),
	}
	held := o.effectiveRoles(c)
	clearance := o.effectiveClearance(c)
	roles := asObject(doc["roles"])
	caveats := o.caveats(token["caveats"])
	if caveats.deniesAll() {
		roles = nil
	}

	subject := object{
		"id": id, "tenant": tenant, "tenant_type": c.tenantType, "kind": c.kind, "token_kind": c.tokenKind,
		"clearance": clearance, "readable": readable(clearance).list(),
		"effects": caveats.effects.list(), "modules": caveats.modules.list(),
		"all_projects": caveats.everyProject, "projects": caveats.projects.list(),
	}
	if organisation := stringField(user, "organisation"); uuid.MatchString(organisation) {
		subject["organisation"] = organisation
	}
	_, hasRoles := doc["roles"].(map[string]any)
	isMember := hasRoles && !caveats.deniesAll() && (o.mayActInTenant(c) || o.hasFault(MemberPermissionsForAnyone))
	o.addGrants(subject, held, roles, c.tenantType, isMember)
	source := map[string]scopeSet{}
	switch {
	case o.hasFault(StoredFromToken):
		source = held
	case o.mayActInTenant(c):
		source = storedRoles(c.stored)
	}
	subject["stored_permissions"] = o.storedPermissions(source, roles, c.tenantType).list()
	subject["delegated_subjects"] = o.delegatedSubjects(c, doc, subject, caveats)
	return subject
}

// effectiveRoles returns the roles that count. In its own tenant, an API key has the roles
// that it was issued with, and a session those that are both in the token and on record. In
// another tenant, only the roles on record count; a SERVICE principal has none there.
func (o Oracle) effectiveRoles(c caller) map[string]scopeSet {
	if !kindsAreKnown(c) {
		return map[string]scopeSet{}
	}
	snapshot, stored := o.snapshot(c.token), storedRoles(c.stored)
	if c.tokenTenant != c.tenant {
		if o.hasFault(ForeignTenantTrustsToken) {
			return snapshot
		}
		if !o.canLeaveTenant(c) {
			return map[string]scopeSet{}
		}
		return stored
	}
	if c.tokenKind == "api_key" {
		if o.hasFault(KeyReadsStored) {
			return stored
		}
		return snapshot
	}
	switch {
	case o.hasFault(SessionIgnoresStored):
		return snapshot
	case o.hasFault(SessionIgnoresToken):
		return stored
	}
	both := map[string]scopeSet{}
	for name, signed := range snapshot {
		now, ok := stored[name]
		if !ok {
			continue
		}
		common := signed.intersection(now)
		if o.hasFault(SessionWidensScope) {
			common = signed.union(now)
		}
		if !common.isEmpty() {
			both[name] = common
		}
	}
	return both
}

func (o Oracle) effectiveClearance(c caller) string {
	if !kindsAreKnown(c) {
		return unclassified
	}
	signed, stored := o.clearanceOf(c.token["clearance"]), o.clearanceOf(c.stored["clearance"])
	if c.tokenTenant != c.tenant {
		switch {
		case o.hasFault(ForeignTenantTrustsClearance):
			return signed
		case !o.canLeaveTenant(c):
			return unclassified
		}
		return stored
	}
	if c.tokenKind == "api_key" {
		if o.hasFault(KeyReadsStoredClearance) {
			return stored
		}
		return signed
	}
	if Rank(stored) < Rank(signed) && !o.hasFault(SessionKeepsClearance) {
		return stored
	}
	return signed
}

// kindsAreKnown reports whether the kinds of the principal and of the token are known.
// Unknown kinds have no permissions.
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
	if s := stringField(o, name); known.has(s) {
		return s
	}
	return ""
}

// mayActInTenant reports whether the caller has any permissions in the tenant of the request.
func (o Oracle) mayActInTenant(c caller) bool {
	return kindsAreKnown(c) && (c.tokenTenant == c.tenant || o.canLeaveTenant(c))
}

// canLeaveTenant reports whether the caller can act in a tenant other than its token's.
func (o Oracle) canLeaveTenant(c caller) bool {
	if !uuid.MatchString(c.tokenTenant) {
		return false // a token must name its tenant
	}
	if c.kind == "SERVICE" && !o.hasFault(ServiceLeavesItsTenant) {
		return false
	}
	return c.tokenKind != "internal" || o.hasFault(InternalLeavesItsTenant)
}

// snapshot reads the roles of a token. A role without an entry in role_scopes has the scope
// of the tenant. Without role_scopes there are no roles.
func (o Oracle) snapshot(token object) map[string]scopeSet {
	roles := map[string]scopeSet{}
	scopes, present := token["role_scopes"].(map[string]any)
	if !present && !o.hasFault(MissingScopesAreWide) {
		return roles
	}
	for _, name := range stringsOf(token["roles"]) {
		entry, narrowed := scopes[name]
		if !narrowed {
			roles[name] = tenantScope()
			continue
		}
		r := newScopeSet()
		for _, scope := range stringsOf(entry) {
			if id, ok := cutUUID(scope, "project:"); ok {
				r.projects.add(id)
			}
			if id, ok := cutUUID(scope, "organisation:"); ok {
				r.organisations.add(id)
			}
		}
		if r.isEmpty() && o.hasFault(EmptyScopesAreWide) {
			r = tenantScope()
		}
		if !r.isEmpty() {
			roles[name] = r
		}
	}
	return roles
}

// storedRoles reads the assignments on record.
func storedRoles(stored object) map[string]scopeSet {
	roles := map[string]scopeSet{}
	assignments, _ := stored["assignments"].([]any)
	for _, item := range assignments {
		assignment := asObject(item)
		name, ok := assignment["role"].(string)
		if !ok {
			continue
		}
		r := newScopeSet()
		id := stringField(assignment, "id")
		hasID := uuid.MatchString(id)
		switch scope := stringField(assignment, "scope"); {
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
			r = r.union(before)
		}
		roles[name] = r
	}
	return roles
}

// addGrants adds the permissions of the roles to the subject: grants and audit map each
// permission to its scopes; roles, holds and permissions are lists of names. A member also
// has the permissions that need no role.
func (o Oracle) addGrants(subject object, roleScopes map[string]scopeSet, roles object, tenantType string, isMember bool) {
	plain, own, audit := map[string]scopeSet{}, map[string]scopeSet{}, map[string]scopeSet{}
	names, admin := set{}, false
	permissions, holds := set{}, set{}
	for role, where := range roleScopes {
		names.add(role)
		admin = admin || administrativeRoles.has(role)
		for _, permission := range stringsOf(roles[role]) {
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
			case isOwn && o.hasFault(OwnGrantsAll):
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
	if isMember {
		for _, permission := range stringsOf(memberPermissions.list()) {
			plain[permission] = tenantScope()
			holds.add(permission)
		}
	}
	grants := object{}
	for permission, where := range plain {
		grants[permission] = where.document()
	}
	for permission, where := range own {
		if grants[permission] == nil {
			grants[permission] = newScopeSet().document()
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

func join(m map[string]scopeSet, name string, where scopeSet) scopeSet {
	if before, ok := m[name]; ok {
		return before.union(where)
	}
	return newScopeSet().union(where)
}

// grantable reports whether a role can grant the permission: it is in the catalogue, and a
// platform permission requires a PROGRAMME_OFFICE tenant.
func (o Oracle) grantable(permission, tenantType string) bool {
	if !catalogue.has(permission) {
		return o.hasFault(UnknownPermissionGrants)
	}
	return !platform.has(permission) || tenantType == "PROGRAMME_OFFICE" || o.hasFault(PlatformInStandardTenant)
}

// storedPermissions returns the permissions that the assignments on record grant in the
// scope of the tenant, regardless of the token.
func (o Oracle) storedPermissions(stored map[string]scopeSet, roles object, tenantType string) set {
	names := set{}
	for role, where := range stored {
		if !where.tenant && !o.hasFault(StoredInAnyScope) {
			continue
		}
		for _, permission := range stringsOf(roles[role]) {
			if o.grantable(permission, tenantType) {
				names.add(permission)
			}
		}
	}
	return names
}
