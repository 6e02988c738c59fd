package oracle

// ActAs evaluates parapet.actas.verdict: may the request act in the target tenant? Without
// the header x-act-as-org, the target is the tenant of the token.
func (o Oracle) ActAs(in any) Verdict {
	doc := asObject(in)
	kind, token := stringField(doc, "principal_kind"), stringField(doc, "token_kind")
	own, ownGiven := nonEmptyField(doc, "token_tenant")
	target, targetGiven := nonEmptyField(doc, "target")
	header, headerGiven := doc["header"].(bool)

	var v Verdict
	v.require(ownGiven && targetGiven && headerGiven, Forbidden, "a field is missing")
	v.require(!header || setOf(modules...).has(stringField(doc, "module")), Forbidden, "the module does not accept the header")
	if header && stringField(doc, "module") == "wiki" && token != "api_key" && !o.hasFault(ActAsWikiSession) {
		v.deny(Forbidden, "the wiki accepts the header only with an API key")
	}
	if own != target {
		v.require(kindsAreKnown(caller{kind: kind, tokenKind: token}), Forbidden, "the kind of the principal or the token is unknown")
		v.require(header || o.hasFault(ActAsWithoutHeader), Forbidden, "the header is required to act in another tenant")
		v.require(kind != "SERVICE" || o.hasFault(ActAsService), Forbidden, "a service principal cannot act in another tenant")
		v.require(token != "internal" || o.hasFault(ActAsInternal), Forbidden, "an internal token cannot act in another tenant")
	}
	return v.result()
}
