package oracle

// ActAs evaluates parapet.actas.verdict: may the request act in the target tenant? Without
// the header x-act-as-org, the target is the tenant of the token.
func (o Oracle) ActAs(in any) Verdict {
	doc := asObject(in)
	kind, token := word(doc, "principal_kind"), word(doc, "token_kind")
	own, ownThere := text(doc, "token_tenant")
	target, targetThere := text(doc, "target")
	header, headerSaid := doc["header"].(bool)

	var v Verdict
	v.require(ownThere && targetThere && headerSaid, Forbidden, "a field is missing")
	v.require(!header || setOf(modules...).has(word(doc, "module")), Forbidden, "no module that honours the header")
	if header && word(doc, "module") == "wiki" && token != "api_key" && !o.broken(ActAsWikiSession) {
		v.deny(Forbidden, "the wiki honours the header for API keys alone")
	}
	if own != target {
		v.require(kindsAreKnown(caller{kind: kind, tokenKind: token}), Forbidden, "the kind of the principal or the token is unknown")
		v.require(header || o.broken(ActAsWithoutHeader), Forbidden, "another tenant without the header")
		v.require(kind != "SERVICE" || o.broken(ActAsService), Forbidden, "a service principal is bound to its tenant")
		v.require(token != "internal" || o.broken(ActAsInternal), Forbidden, "an internal token is bound to its tenant")
	}
	return v.done()
}
