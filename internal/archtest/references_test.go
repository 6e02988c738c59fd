package archtest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"parapet/internal/contract"
	"parapet/internal/op"
)

// idsWithoutReference lists the ids in outputs that have no reference next to them, as
// "Type.field" or "field" for every type, each with its reason.
func idsWithoutReference() map[string]string {
	return map[string]string{
		"WebhookDelivery.webhookId":         "a webhook has no name",
		"ShortlistEntry.entryId":            "the title of the entry is next to it",
		"id":                                "it is the record itself",
		"assignmentId":                      "an assignment of a role has no name",
		"correlationId":                     "it identifies a request",
		"credentialId":                      "it identifies a session or a key, which only its owner may read",
		"decisionRequestId":                 "a decision request has no name; get-task returns its question",
		"delegationId":                      "a delegation has no name; delegator and scope are next to it",
		"eventId":                           "an event has no name",
		"jti":                               "it is the key itself, which has a label",
		"tokenId":                           "it identifies the caller's own credential",
		"CustomFieldValue.fieldId":          "the name of the field is next to it",
		"AssignedRole.roleId":               "the name of the role is next to it",
		"RoleAssignment.roleId":             "the name of the role is next to it",
		"MeOut.tenantId":                    "slug and name of the tenant are next to it",
		"WorkspaceUser.tenantId":            "get-me returns slug and name of the tenant",
		"OrganisationChoice.tenantId":       "it is another tenant of the caller; the name is next to it",
		"OrganisationChoice.organisationId": "the name of the organisation is next to it",
		"MeOut.tokenTenantId":               "it can be a tenant in which the request does not act",
		"LoginOut.tenantId":                 "nobody is logged in yet, so no permission allows a lookup",
	}
}

// Every id of an output has a reference with the name of the record next to it.
func TestOutputs_NameTheRecordOfEachID(t *testing.T) {
	t.Parallel()
	exceptions, used, ids := idsWithoutReference(), map[string]bool{}, 0
	var walk func(t reflect.Type, enclosing []reflect.Type)
	var missing []string
	walk = func(rt reflect.Type, enclosing []reflect.Type) {
		for rt.Kind() == reflect.Pointer || rt.Kind() == reflect.Slice {
			rt = rt.Elem()
		}
		if rt.Kind() != reflect.Struct || rt == reflect.TypeFor[op.Reference]() || slices.Contains(enclosing, rt) {
			return
		}
		names := map[string]bool{}
		for i := range rt.NumField() {
			if ft := rt.Field(i).Type; ft == reflect.TypeFor[*op.Reference]() || ft == reflect.TypeFor[[]op.Reference]() {
				name, _, _ := strings.Cut(rt.Field(i).Tag.Get("json"), ",")
				names[name] = true
			}
		}
		for i := range rt.NumField() {
			f := rt.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Type == reflect.TypeFor[op.UUID]() && op.ReferenceName(name) != "" && names[op.ReferenceName(name)]:
				ids++
			case f.Type == reflect.TypeFor[[]op.UUID]() && op.ReferenceListName(name) != "" && names[op.ReferenceListName(name)]:
				ids++
			case f.Type == reflect.TypeFor[op.UUID]() || f.Type == reflect.TypeFor[[]op.UUID]():
				short, long := name, rt.Name()+"."+name
				switch {
				case exceptions[long] != "":
					used[long] = true
				case exceptions[short] != "":
					used[short] = true
				default:
					missing = append(missing, long)
				}
			default:
				walk(f.Type, append(slices.Clone(enclosing), rt))
			}
		}
	}
	for _, o := range contract.Operations() {
		walk(o.Out, nil)
	}
	slices.Sort(missing)
	for _, name := range slices.Compact(missing) {
		t.Errorf("%s is an id without a reference next to it; add the field %q or an exception with its reason", name, op.ReferenceName(name[strings.LastIndexByte(name, '.')+1:]))
	}
	for name := range exceptions {
		if !used[name] {
			t.Errorf("exception %s: no output has this id any more", name)
		}
	}
	if ids < 50 {
		t.Errorf("got %d ids with a reference, want at least 50", ids)
	}
}
