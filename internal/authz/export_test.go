package authz

// BindAnew binds a filter without looking for a kept one, for the benchmark.
func BindAnew(e *Engine, permission string, actor *Subject, columns *Columns) Filter {
	p, _ := e.current.Load().set.plan(filterKey{permission, columns})
	return Filter{p.bind(actor)}
}
