package oracle

// Open evaluates parapet.open.verdict: may the credential be used for an operation that
// needs no permission? Only caveats can deny.
func (o Oracle) Open(in any) Verdict {
	doc := asObject(in)
	actor := asObject(doc["actor"])
	effect, module := stringField(doc, "effect"), stringField(doc, "module")

	var v Verdict
	v.require(setOf(stringsOf(actor["effects"])...).has(effect) || o.hasFault(OpenIgnoresEffect), Forbidden, "the caveats do not allow the effect")
	v.require(setOf(stringsOf(actor["modules"])...).has(module) || o.hasFault(OpenIgnoresModule), Forbidden, "the caveats do not allow the module")
	v.require(effect == "read" || isTrue(actor, "all_projects") || o.hasFault(OpenIgnoresProject), Forbidden, "with a project caveat, only reading is allowed")
	return v.result()
}
