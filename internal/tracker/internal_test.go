package tracker

import "parapet/internal/agentrun"

// Runs returns the part of the module about agent runs.
func (s *Service) Runs() *agentrun.Service { return s.runs }

// Cascade returns the tables whose records a deletion from the table authorizes, with
// the required permissions.
func Cascade(table string) map[string][]string {
	found := map[string][]string{}
	for _, d := range dependentsOf(table) {
		found[d.table] = append(found[d.table], d.permission)
	}
	return found
}
