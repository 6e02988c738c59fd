package oracle

// Open evaluates parapet.open.verdict: may the credential be used for an operation that
// needs no permission? Only caveats can deny.
func (o Oracle) Open(in any) Verdict {
	doc := asObject(in)
	actor := asObject(doc["actor"])
	effect, module := word(doc, "effect"), word(doc, "module")

	var v Verdict
	v.require(setOf(texts(actor["effects"])...).has(effect) || o.broken(OpenIgnoresEffect), Forbidden, "the caveats leave no such effect")
	v.require(setOf(texts(actor["modules"])...).has(module) || o.broken(OpenIgnoresModule), Forbidden, "the caveats leave no such module")
	v.require(effect == "read" || yes(actor, "all_projects") || o.broken(OpenIgnoresProject), Forbidden, "a change outside of the project that the caveats leave")
	return v.done()
}
