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
	o.profile(&v, asObject(asObject(in)["target"]))
	return v.done()
}

// profile requires that a service principal has exactly one GLOBAL role in the scope of the
// tenant, with exactly the permissions of the registered profile.
func (o Oracle) profile(v *Verdict, target object) {
	if word(target, "kind") != "SERVICE" && !o.broken(ProfileOfHuman) {
		// The specification does not define the error code of this denial.
		v.deny(Conflict, "the target is no service principal")
		v.deny(Forbidden, "the target is no service principal")
	}
	want, registered := profiles[word(target, "integration_key")]
	v.require(registered, Conflict, "no profile is registered for the integration")
	roles, _ := target["roles"].([]any)
	one := len(roles) == 1 || (o.broken(ProfileTwoRoles) && len(roles) > 0)
	v.require(one, Conflict, "not exactly one role")
	if !one || !registered {
		return
	}
	role := asObject(roles[0])
	v.require(word(role, "kind") == "GLOBAL" || o.broken(ProfileStandardRole), Conflict, "the role is not GLOBAL")
	v.require(word(role, "scope") == "tenant" || o.broken(ProfileNarrowRole), Conflict, "the role is not held in the tenant")
	list, _ := role["grants"].([]any)
	grants := setOf(texts(role["grants"])...)
	exact := grants.equal(want) && len(texts(role["grants"])) == len(list)
	switch {
	case o.broken(ProfileSubset):
		exact = len(grants.both(want)) == len(grants)
	case o.broken(ProfileSuperset):
		exact = len(grants.both(want)) == len(want)
	}
	v.require(exact, Conflict, "the grants have drifted from the profile")
}
