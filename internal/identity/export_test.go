package identity

// FoldedName is how the spelling of a role's name is compared.
func FoldedName(name string) string { return foldedName(name) }
