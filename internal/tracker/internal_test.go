package tracker

// Cascade lists for a test, by the table of the deleted record, the tables whose
// records the deletion authorizes.
func Cascade(table string) map[string][]string {
	found := map[string][]string{}
	for _, d := range dependentsOf(table) {
		found[d.table] = append(found[d.table], d.permission)
	}
	return found
}
