package identity

import (
	"fmt"

	"parapet/internal/authz"
	"parapet/internal/fault"
)

// accountFault turns a refusal of parapet.accounts, parapet.grants or
// parapet.roles into the answer. The sentences are here; what is refused, and
// why, is the policies' decision.
func accountFault(v authz.Verdict, err error) error {
	if err == nil && v.Allow {
		return nil
	}
	reason := ""
	if len(v.Reasons) > 0 {
		reason = v.Reasons[0]
	}
	message := accountSentences()[reason]
	switch {
	case err != nil || message == "":
		return fault.ForbiddenTenant().WithCause(err)
	case v.Code == string(fault.CodeConflict):
		return fault.Conflict(message)
	case v.Permission != "":
		f := fault.Forbidden(v.Permission)
		f.Message = fmt.Sprintf("%s The permission %s is missing.", message, v.Permission)
		return f
	default:
		return fault.Refused(message)
	}
}

// accountSentences are what callers read for a reason: what is wrong, then what
// would be right.
func accountSentences() map[string]string {
	return map[string]string{
		"not_at_home": "The user's record is administered by its home tenant. Here only the membership and the clearance can be changed.",
		"account_exceeds_caller": "The account holds more than you do, in this tenant, in another or by delegation. " +
			"Ask an administrator who holds all of it.",
		"not_a_person":       "Only a person has a password.",
		"account_not_active": "The account is not ACTIVE. Activate it first.",
		"address_not_confirmed": "An administrator set the account's address and its holder has not confirmed it, so no link is sent there. " +
			"The holder logs in and confirms it with change-email.",
		"oneself":                   "Nobody suspends, removes or restores themselves: another administrator does.",
		"deleted":                   "The agent is deleted, which is for good.",
		"last_administrator":        "The tenant would have no active Admin left. Give the role to somebody else first.",
		"not_an_agent":              "Only a synthetic agent can be deleted. Suspend the user, or remove the membership.",
		"not_a_session":             "This is an API key and no session: revoke it with DELETE /api/auth/api-keys/<id>.",
		"session_of_another_tenant": "A session ends in its own tenant: log out without x-act-as-org.",
		"session_required":          "Only the session of the account's holder may do this: an API key can't. Log in first.",
		"account_of_another_tenant": "The account belongs to another tenant: change its password and its address there.",
		"not_an_administrator":      "Only administrators may do this.",
		"service_principal_role": "A service principal holds exactly one GLOBAL role, the one of its registered profile: " +
			"no other can be given to it and this one can't be taken.",
		"global_role":            "A GLOBAL role is for a service principal alone.",
		"beyond_own":             "Nobody hands out more than they hold.",
		"own_clearance":          "Nobody raises their own clearance: another administrator does.",
		"clearance_beyond_own":   "Nobody hands out a clearance above their own.",
		"reserved_name":          "The name is that of a default role, perhaps in another spelling. Choose another name.",
		"keeps_its_name":         "A default or GLOBAL role keeps its name: tokens, profiles and provisioning know it by that.",
		"stays":                  "A default or GLOBAL role stays: profiles and provisioning need it.",
		"administrators_need_it": "The administrators' role keeps this permission: without it nobody could administer the tenant's roles.",
	}
}
