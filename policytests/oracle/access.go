package oracle

import "strings"

// Allow evaluates parapet.access.allow: may the actor use the permission on the resource?
func (o Oracle) Allow(in any) bool {
	doc := asObject(in)
	actor, resource := asObject(doc["actor"]), asObject(doc["resource"])
	permission, ok := nonEmptyField(doc, "permission")
	if !ok || !o.sameTenant(actor, resource) || !o.withinCaveats(doc, actor, resource) {
		return false
	}
	if permission == "audit.read" || strings.HasPrefix(permission, "audit.read.") {
		return o.readsAudit(permission, actor, resource)
	}
	if platform.has(permission) && stringField(actor, "tenant_type") != "PROGRAMME_OFFICE" && !o.hasFault(PlatformFromAnywhere) {
		return false
	}
	return o.canRead(setOf(stringsOf(actor["readable"])...), resource["classification"]) && o.granted(permission, actor, resource)
}

func (o Oracle) sameTenant(actor, resource object) bool {
	mine, ok := nonEmptyField(actor, "tenant")
	theirs, present := nonEmptyField(resource, "tenant")
	return ok && present && (mine == theirs || o.hasFault(TenantIgnored))
}

// withinCaveats reports whether the caveats allow the effect, the module and the project of
// the request.
func (o Oracle) withinCaveats(doc, actor, resource object) bool {
	effect, given := doc["effect"].(string)
	module := stringField(doc, "module")
	if (!given || !setOf(stringsOf(actor["effects"])...).has(effect)) && !o.hasFault(EffectIgnored) {
		return false
	}
	if module == "" || !setOf(stringsOf(actor["modules"])...).has(module) {
		return false
	}
	if isTrue(actor, "all_projects") {
		return true
	}
	if id, ok := resource["id"].(string); ok && resource["type"] == "initiative" && setOf(stringsOf(actor["initiatives"])...).has(id) && !o.hasFault(InitiativeExcluded) {
		return true
	}
	project, ok := nonEmptyField(resource, "project")
	if !ok {
		return o.hasFault(ProjectCaveatAllowsProjectless)
	}
	return setOf(stringsOf(actor["projects"])...).has(project)
}

// granted reports whether the actor holds the permission in a scope of the resource, or as
// .own for a resource that it created or owns.
func (o Oracle) granted(permission string, actor, resource object) bool {
	grant := asObject(asObject(actor["grants"])[permission])
	if o.covers(grant, resource) {
		return true
	}
	if !o.isOwn(permission, actor, resource) {
		return false
	}
	own := asObject(grant["own"])
	return o.covers(own, resource) || (own != nil && o.hasFault(OwnWithoutScope))
}

// covers reports whether one of the scopes contains the resource.
func (o Oracle) covers(where, resource object) bool {
	if where == nil {
		return false
	}
	if o.hasFault(ScopeIgnored) || isTrue(where, "tenant") {
		return true
	}
	organisation, ok := nonEmptyField(resource, "organisation")
	if ok && !o.hasFault(OrganisationScopeIgnored) && setOf(stringsOf(where["organisations"])...).has(organisation) {
		return true
	}
	project, ok := nonEmptyField(resource, "project")
	return ok && !o.hasFault(ProjectScopeIgnored) && setOf(stringsOf(where["projects"])...).has(project)
}

func (o Oracle) isOwn(permission string, actor, resource object) bool {
	id, ok := nonEmptyField(actor, "id")
	if !ok {
		return false
	}
	by := ownBy[strings.TrimSuffix(permission, ".own")]
	if o.hasFault(OwnByEveryRelation) {
		by = setOf("creator", "owner")
	}
	return (by.has("creator") && stringField(resource, "creator") == id && !o.hasFault(CreatorIsNotOwn)) ||
		(by.has("owner") && stringField(resource, "owner") == id && !o.hasFault(OwnerIsNotOwn))
}

// readsAudit decides about audit entries without comparing the clearance: own, organisation
// and tenant include only entries that are NULL or UNCLASSIFIED, classified includes all.
// audit.read stands for every scope that the actor holds.
func (o Oracle) readsAudit(permission string, actor, resource object) bool {
	classification, present := resource["classification"]
	tier, isText := classification.(string)
	null := present && classification == nil
	if !isText && !null {
		return false
	}
	plain := tier == unclassified || (null && !o.hasFault(AuditNullDenies))
	held := asObject(actor["audit"])
	requested := setOf("own", "organisation", "tenant", "classified")
	if scope, ok := strings.CutPrefix(permission, "audit.read."); ok {
		requested = requested.intersect(setOf(scope))
	}
	for scope := range requested {
		where := asObject(held[scope])
		if where == nil || !o.covers(where, resource) {
			continue
		}
		switch scope {
		case "own":
			id, ok := nonEmptyField(actor, "id")
			if plain && ok && (stringField(resource, "creator") == id || o.hasFault(AuditOwnReadsOthers)) {
				return true
			}
		case "organisation":
			mine, ok := nonEmptyField(actor, "organisation")
			if plain && ok && (stringField(resource, "organisation") == mine || o.hasFault(AuditOrganisationReadsOthers)) {
				return true
			}
		case "tenant":
			if plain || o.hasFault(AuditTenantReadsClassified) {
				return true
			}
		case "classified":
			if null || !o.hasFault(AuditClassifiedByRank) || setOf(stringsOf(actor["readable"])...).has(tier) {
				return true
			}
		}
	}
	return false
}
