package identity

// FoldedName exports foldedName for tests.
func FoldedName(name string) string { return foldedName(name) }
