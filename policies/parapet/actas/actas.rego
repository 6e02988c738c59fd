# METADATA
# title: Acting in a tenant
# description: >
#   Whether a request may be meant for input.target, before anything is read there. The
#   tenant context (an active membership, the tenant enabled) is checked after this.
# schemas:
#   - input: schema.actas.input
package parapet.actas

# METADATA
# title: The verdict
# scope: document
# entrypoint: true
default verdict := {"allow": false, "code": "FORBIDDEN", "reasons": ["not_own_tenant"]}

verdict := {"allow": false, "code": "FORBIDDEN", "reasons": ["header_not_honoured"]} if not _header_honoured

else := {"allow": true, "reasons": []} if _own_tenant

else := {"allow": true, "reasons": []} if _may_leave_own_tenant

_named(tenant) if {
	is_string(tenant)
	tenant != ""
}

_own_tenant if {
	_named(input.target)
	input.target == input.token_tenant
}

# Without the header the target is the token's own tenant.
_may_leave_own_tenant if {
	input.header == true
	_named(input.target)
	_named(input.token_tenant)
	input.token_kind in {"session", "api_key"}
	input.principal_kind in {"HUMAN", "AGENT"}
}

_header_honoured if input.header == false

_header_honoured if {
	input.header == true
	input.module in data.parapet.catalogue.modules
	input.module != "wiki"
}

# The wiki honours the header for API keys alone.
_header_honoured if {
	input.header == true
	input.module == "wiki"
	input.token_kind == "api_key"
}
