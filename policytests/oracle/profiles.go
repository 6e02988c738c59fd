package oracle

// profiles maps integration keys to the exact permissions of the profile's role. The name of
// the role does not matter.
var profiles = map[string]set{
	"spec-wiki-sync":   setOf("wiki:page:write"),
	"multi-llm-review": setOf("tasks.read", "projects.read"),
}

// ValidateProfile evaluates parapet.profiles.validate.
func (o Oracle) ValidateProfile(in any) Verdict {
	var v Verdict
	o.requireProfile(&v, asObject(asObject(in)["target"]))
	return v.result()
}

// requireProfile requires that a service principal has exactly one GLOBAL role in the scope
// of the tenant, with exactly the permissions of the registered profile.
func (o Oracle) requireProfile(v *Verdict, target object) {
	if stringField(target, "kind") != "SERVICE" && !o.hasFault(ProfileOfHuman) {
		// The specification does not define the error code of this denial.
		v.deny(Conflict, "the target is not a service principal")
		v.deny(Forbidden, "the target is not a service principal")
	}
	want, registered := profiles[stringField(target, "integration_key")]
	v.require(registered, Conflict, "no profile is registered for the integration")
	roles, _ := target["roles"].([]any)
	hasOneRole := len(roles) == 1 || (o.hasFault(ProfileTwoRoles) && len(roles) > 0)
	v.require(hasOneRole, Conflict, "the service principal must have exactly one role")
	if !hasOneRole || !registered {
		return
	}
	role := asObject(roles[0])
	v.require(stringField(role, "kind") == "GLOBAL" || o.hasFault(ProfileStandardRole), Conflict, "the role is not GLOBAL")
	v.require(stringField(role, "scope") == "tenant" || o.hasFault(ProfileNarrowRole), Conflict, "the role's scope is not the tenant")
	list, _ := role["grants"].([]any)
	grants := setOf(stringsOf(role["grants"])...)
	exact := grants.equal(want) && len(stringsOf(role["grants"])) == len(list)
	switch {
	case o.hasFault(ProfileSubset):
		exact = len(grants.intersect(want)) == len(grants)
	case o.hasFault(ProfileSuperset):
		exact = len(grants.intersect(want)) == len(want)
	}
	v.require(exact, Conflict, "the role's permissions differ from the profile")
}
