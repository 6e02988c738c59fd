package oracle

import "strings"

// Allow evaluates parapet.access.allow: may the actor use the permission on the resource?
func (o Oracle) Allow(in any) bool {
	doc := asObject(in)
	actor, resource := asObject(doc["actor"]), asObject(doc["resource"])
	permission, ok := text(doc, "permission")
	if !ok || !o.sameTenant(actor, resource) || !o.withinCaveats(doc, actor, resource) {
		return false
	}
	if permission == "audit.read" || strings.HasPrefix(permission, "audit.read.") {
		return o.readsAudit(permission, actor, resource)
	}
	if platform.has(permission) && word(actor, "tenant_type") != "PROGRAMME_OFFICE" && !o.broken(PlatformFromAnywhere) {
		return false
	}
	return o.reads(setOf(texts(actor["readable"])...), resource["classification"]) && o.granted(permission, actor, resource)
}

func (o Oracle) sameTenant(actor, resource object) bool {
	mine, ok := text(actor, "tenant")
	theirs, there := text(resource, "tenant")
	return ok && there && (mine == theirs || o.broken(TenantIgnored))
}

// withinCaveats reports whether the caveats allow the effect, the module and the project of
// the request.
func (o Oracle) withinCaveats(doc, actor, resource object) bool {
	effect, said := doc["effect"].(string)
	module := word(doc, "module")
	if (!said || !setOf(texts(actor["effects"])...).has(effect)) && !o.broken(EffectIgnored) {
		return false
	}
	if module == "" || !setOf(texts(actor["modules"])...).has(module) {
		return false
	}
	if yes(actor, "all_projects") {
		return true
	}
	if id, ok := resource["id"].(string); ok && resource["type"] == "initiative" && setOf(texts(actor["initiatives"])...).has(id) && !o.broken(InitiativeExcluded) {
		return true
	}
	project, ok := text(resource, "project")
	if !ok {
		return o.broken(ProjectCaveatAllowsProjectless)
	}
	return setOf(texts(actor["projects"])...).has(project)
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
	return o.covers(own, resource) || (own != nil && o.broken(OwnWithoutScope))
}

// covers reports whether one of the scopes contains the resource.
func (o Oracle) covers(where, resource object) bool {
	if where == nil {
		return false
	}
	if o.broken(ScopeIgnored) || yes(where, "tenant") {
		return true
	}
	organisation, ok := text(resource, "organisation")
	if ok && !o.broken(OrganisationScopeIgnored) && setOf(texts(where["organisations"])...).has(organisation) {
		return true
	}
	project, ok := text(resource, "project")
	return ok && !o.broken(ProjectScopeIgnored) && setOf(texts(where["projects"])...).has(project)
}

func (o Oracle) isOwn(permission string, actor, resource object) bool {
	id, ok := text(actor, "id")
	if !ok {
		return false
	}
	by := ownBy[strings.TrimSuffix(permission, ".own")]
	if o.broken(OwnByEveryRelation) {
		by = setOf("creator", "owner")
	}
	return (by.has("creator") && word(resource, "creator") == id && !o.broken(CreatorIsNotOwn)) ||
		(by.has("owner") && word(resource, "owner") == id && !o.broken(OwnerIsNotOwn))
}

// readsAudit decides about audit entries without comparing the clearance: own, organisation
// and tenant include only entries that are NULL or UNCLASSIFIED, classified includes all.
// audit.read stands for every scope that the actor holds.
func (o Oracle) readsAudit(permission string, actor, resource object) bool {
	classification, there := resource["classification"]
	tier, isText := classification.(string)
	null := there && classification == nil
	if !isText && !null {
		return false
	}
	plain := tier == unclassified || (null && !o.broken(AuditNullDenies))
	held := asObject(actor["audit"])
	asked := setOf("own", "organisation", "tenant", "classified")
	if scope, ok := strings.CutPrefix(permission, "audit.read."); ok {
		asked = asked.both(setOf(scope))
	}
	for scope := range asked {
		where := asObject(held[scope])
		if where == nil || !o.covers(where, resource) {
			continue
		}
		switch scope {
		case "own":
			id, ok := text(actor, "id")
			if plain && ok && (word(resource, "creator") == id || o.broken(AuditOwnReadsOthers)) {
				return true
			}
		case "organisation":
			mine, ok := text(actor, "organisation")
			if plain && ok && (word(resource, "organisation") == mine || o.broken(AuditOrganisationReadsOthers)) {
				return true
			}
		case "tenant":
			if plain || o.broken(AuditTenantReadsClassified) {
				return true
			}
		case "classified":
			if null || !o.broken(AuditClassifiedByRank) || setOf(texts(actor["readable"])...).has(tier) {
				return true
			}
		}
	}
	return false
}
