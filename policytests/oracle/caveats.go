package oracle

import "strings"

// caveats contains what the caveats of a token allow.
type caveats struct {
	effects      set
	modules      set
	projects     set
	everyProject bool
}

// deniesAll reports whether the caveats allow nothing.
func (c caveats) deniesAll() bool {
	return len(c.effects) == 0
}

// caveatsDenyingAll returns caveats that allow nothing.
func caveatsDenyingAll() caveats {
	return caveats{effects: set{}, modules: set{}, projects: set{}}
}

// caveats reads a list of caveats. All caveats apply, so two caveats for different projects
// allow no project. An unknown caveat or a missing list denies everything.
func (o Oracle) caveats(v any) caveats {
	all := caveats{effects: setOf("read", "write"), modules: setOf(modules...), projects: set{}, everyProject: true}
	list, ok := v.([]any)
	if !ok {
		if o.hasFault(MissingCaveatsAllowed) {
			return all
		}
		return caveatsDenyingAll()
	}
	allowed := all
	for _, item := range list {
		caveat, _ := item.(string)
		project, isProject := cutUUID(caveat, "project:")
		name, isModule := strings.CutPrefix(caveat, "module:")
		switch {
		case caveat == "read-only":
			if !o.hasFault(ReadOnlyIgnored) {
				allowed.effects = allowed.effects.intersect(setOf("read"))
			}
		case isProject && o.hasFault(ProjectCaveatIgnored):
		case isProject && o.hasFault(ProjectCaveatsAdd):
			allowed.everyProject = false
			allowed.projects.add(project)
		case isProject && allowed.everyProject:
			allowed.everyProject = false
			allowed.projects = setOf(project)
		case isProject:
			allowed.projects = allowed.projects.intersect(setOf(project))
		case isModule && setOf(modules...).has(name):
			if !o.hasFault(ModuleCaveatIgnored) {
				allowed.modules = allowed.modules.intersect(setOf(name))
			}
		case o.hasFault(UnknownCaveatIgnored):
		default:
			return caveatsDenyingAll()
		}
	}
	return allowed
}
