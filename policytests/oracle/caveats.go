package oracle

import "strings"

// caveats contains what the caveats of a token allow.
type caveats struct {
	effects      set
	modules      set
	projects     set
	everyProject bool
}

// denyAll reports whether a caveat is unknown, which denies everything.
func (c caveats) denyAll() bool {
	return len(c.effects) == 0
}

func refuseAll() caveats {
	return caveats{effects: set{}, modules: set{}, projects: set{}}
}

// caveats reads the list of caveats. All of them apply, so two different projects allow
// none. An unknown caveat denies everything, and so does a missing list.
func (o Oracle) caveats(v any) caveats {
	open := caveats{effects: setOf("read", "write"), modules: setOf(modules...), projects: set{}, everyProject: true}
	list, ok := v.([]any)
	if !ok {
		if o.broken(MissingCaveatsAllowed) {
			return open
		}
		return refuseAll()
	}
	left := open
	for _, item := range list {
		caveat, _ := item.(string)
		project, isProject := after(caveat, "project:")
		name, isModule := strings.CutPrefix(caveat, "module:")
		switch {
		case caveat == "read-only":
			if !o.broken(ReadOnlyIgnored) {
				left.effects = left.effects.both(setOf("read"))
			}
		case isProject && o.broken(ProjectCaveatIgnored):
		case isProject && o.broken(ProjectCaveatsAdd):
			left.everyProject = false
			left.projects.add(project)
		case isProject && left.everyProject:
			left.everyProject = false
			left.projects = setOf(project)
		case isProject:
			left.projects = left.projects.both(setOf(project))
		case isModule && setOf(modules...).has(name):
			if !o.broken(ModuleCaveatIgnored) {
				left.modules = left.modules.both(setOf(name))
			}
		case o.broken(UnknownCaveatIgnored):
		default:
			return refuseAll()
		}
	}
	return left
}
