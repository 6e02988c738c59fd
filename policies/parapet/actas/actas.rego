# METADATA
# title: Acting in a tenant
# description: >
#   Decides whether a request may act in the tenant input.target, before anything is read
#   from it. Afterwards the program checks that the tenant is enabled and that the user
#   has an active membership.
# schemas:
#   - input: schema.actas.input
package parapet.actas

# METADATA
# title: Act in the target tenant
# scope: document
# entrypoint: true
default verdict := {"allow": false, "code": "FORBIDDEN", "reasons": ["not_own_tenant"]}

verdict := {"allow": false, "code": "FORBIDDEN", "reasons": ["header_not_honoured"]} if not _header_accepted

else := {"allow": true, "reasons": []} if _is_own_tenant

else := {"allow": true, "reasons": []} if _may_act_in_other_tenant

_is_tenant_id(tenant) if {
	is_string(tenant)
	tenant != ""
}

_is_own_tenant if {
	_is_tenant_id(input.target)
	input.target == input.token_tenant
}

# The header x-act-as-org selects another tenant. Without it, the target is the tenant
# of the token.
_may_act_in_other_tenant if {
	input.header == true
	_is_tenant_id(input.target)
	_is_tenant_id(input.token_tenant)
	input.token_kind in {"session", "api_key"}
	input.principal_kind in {"HUMAN", "AGENT"}
}

_header_accepted if input.header == false

_header_accepted if {
	input.header == true
	input.module in data.parapet.catalogue.modules
	input.module != "wiki"
}

# The wiki accepts the header from API keys only.
_header_accepted if {
	input.header == true
	input.module == "wiki"
	input.token_kind == "api_key"
}
