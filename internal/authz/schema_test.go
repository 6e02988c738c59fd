package authz

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/open-policy-agent/opa/v1/ast"

	"parapet/policies"
)

// TestInputs_MatchTheirSchemas compares the documents that the engine builds with the
// schemas, field by field. The compiler checks the rules against the same schemas.
func TestInputs_MatchTheirSchemas(t *testing.T) {
	t.Parallel()
	e, err := New(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	const id = "00000000-0000-7000-8000-000000000001"
	caller := SubjectInput{
		Token: Token{
			Kind: TokenSession, Tenant: id, Roles: []string{"Admin"}, RoleScopes: map[string][]string{"Other": {"project:" + id}},
			Clearance: "SECRET", Caveats: []string{"read-only"},
		},
		Tenant: id, TenantType: "STANDARD",
		User: User{ID: id, Kind: KindHuman, IntegrationKey: "none", Organisation: id},
		Stored: Stored{Clearance: "SECRET", Assignments: []Assignment{
			{Role: "Admin", Scope: ScopeTenant}, {Role: "Other", Scope: ScopeProject, ID: id},
		}},
		Roles: map[string][]string{"Admin": {"tasks.read", "task.update.own", "audit.read.own"}},
		Delegations: []Delegation{{
			ID: id, Scope: ScopeInitiative, Projects: []string{id}, Initiatives: []string{id}, Permissions: []string{"tasks.read"},
			Delegator: Delegator{
				ID: "00000000-0000-7000-8000-000000000002", Kind: KindHuman, Status: "ACTIVE", Membership: "ACTIVE", Clearance: "SECRET",
				Assignments: []Assignment{{Role: "Admin", Scope: ScopeTenant}, {Role: "Admin", Scope: ScopeProject, ID: id}},
			},
		}},
	}
	actor, err := e.Subject(t.Context(), caller)
	if err != nil {
		t.Fatal(err)
	}
	if len(actor.delegatedSubjects) != 1 {
		t.Fatalf("got %d delegated subjects, want 1", len(actor.delegatedSubjects))
	}
	s := e.current.Load().set
	whole := Resource{Type: "task", ID: id, Tenant: id, Organisation: id, Project: id, Creator: id, Owner: id, Classification: "SECRET"}
	entry := Resource{Type: "audit_entry", Tenant: id, NullClassification: true}
	days := 7
	principal := ServicePrincipal{
		ID: id, Tenant: id, Kind: KindService, Status: "ACTIVE", Membership: "ACTIVE", IntegrationKey: "spec-wiki-sync",
		Roles: []HeldRole{{Name: "r", Kind: "GLOBAL", Scope: ScopeTenant, Grants: []string{"tasks.read"}}},
	}
	candidate := Candidate{
		ID: id, Tenant: id, Kind: KindAgent, Status: "ACTIVE", Membership: "ACTIVE", Clearance: "SECRET", AgentsAllowed: true,
		Roles: []HeldRole{{Name: "r", Kind: "STANDARD", Scope: ScopeProject, ScopeID: id, Grants: []string{"tasks.read"}}},
	}
	grants := []Grant{{Permissions: []string{"tasks.read"}, Scope: ScopeTenant}, {Permissions: []string{"tasks.read"}, Scope: ScopeProject, ScopeID: id}}
	account := Account{ID: id, Kind: KindHuman, Status: "ACTIVE", Home: id, HasPassword: true, AddressConfirmed: true}
	holding := Holding{Tenant: id, Membership: "ACTIVE", Clearance: "SECRET", Grants: grants, Delegations: grants, Caller: actor, CallerMembership: "ACTIVE"}
	owner := KeyOwner{ID: id, Tenant: id, Kind: KindService}
	empty := SubjectInput{}
	for name, c := range map[string]struct {
		schema string
		input  ast.Value
	}{
		"a caller":                           {"subject", caller.document()},
		"an empty caller":                    {"subject", empty.document()},
		"a decision":                         {"access", s.input(&Input{Permission: "tasks.read", Effect: Read, Module: "tracker", Actor: actor, Resource: whole})},
		"an audit entry":                     {"access", s.input(&Input{Permission: "audit.read", Effect: Read, Module: "audit", Actor: actor, Resource: entry})},
		"issue a service key":                {"keys", IssueServiceKey{Actor: actor, Target: principal, Settings: KeySettings{MaxAdminDays: 1, MaxUserDays: 1}}.document()},
		"issue a personal key":               {"keys", IssueSelfKey{Actor: actor, ExpiresInDays: &days}.document()},
		"a grant of a role":                  {"grants", GiveAuthority{Actor: actor, RecipientID: id, RecipientKind: KindHuman, RoleKinds: []string{"STANDARD"}, Grants: grants, ClearanceTo: "SECRET"}.document()},
		"an account":                         {"accounts", ChangeAccount{Change: ChangeAddress, Actor: actor, Account: account, Holdings: []Holding{holding}, Roles: candidate.Roles}.document()},
		"a password reset":                   {"accounts", CompleteReset{Account: account, ByAdministrator: true}.document()},
		"the end of a session":               {"accounts", EndSession{Actor: actor, SessionTenant: id}.document()},
		"own credentials":                    {"accounts", ChangeOwnCredentials{Actor: actor, Account: account}.document()},
		"notifications":                      {"accounts", AdministratorNotifications{Actor: actor}.document()},
		"unassigning a role":                 {"roles", ChangeRole{Change: UnassignRole, Actor: actor, Role: candidate.Roles[0], RecipientID: id, RecipientKind: KindAgent}.document()},
		"creating a role":                    {"roles", ChangeRole{Change: CreateRole, Actor: actor, Spelling: "desk", Permission: "tasks.read"}.document()},
		"a list of keys":                     {"keys", ListKeys{Actor: actor, Owner: &owner}.document()},
		"revoking a key":                     {"keys", RevokeKey{Actor: actor, ServiceOwned: true, Key: Key{JTI: id, Tenant: id, Owner: owner}}.document()},
		"a profile":                          {"profiles", ValidateProfile{Target: principal}.document()},
		"an operation without permission":    {"open", AuthenticatedAccess{Actor: actor, Effect: Read, Module: "identity"}.document()},
		"assigning work":                     {"work", Assign{Actor: actor, Candidate: candidate, Resource: whole}.document()},
		"assigning work without a candidate": {"work", Assign{Actor: actor, Resource: whole}.document()},
		"acting for an agent":                {"work", ActAsAgent{Actor: actor, Agent: candidate, Resource: whole}.document()},
		"raising a decision request":         {"work", RaiseDecision{Actor: actor, Acting: id, Resource: whole, Assignee: id, Category: "TODO"}.document()},
		"promoting an issue":                 {"work", PromoteIssue{Actor: actor, Resource: whole}.document()},
		"counting":                           {"work", CountRecords{Actor: actor, Permission: "tasks.read", Resource: whole}.document()},
		"starting a run":                     {"work", StartRun{Agent: candidate, Resource: whole}.document()},
		"canceling a decision request":       {"work", CancelDecision{Actor: actor, RaisedBy: id, Resource: whole}.document()},
		"a delegation":                       {"delegations", Delegate{Actor: actor, Delegator: candidate, Delegate: candidate, Permissions: []string{"tasks.read"}, Resource: whole}.document()},
		"releasing a lease":                  {"work", ReleaseClaim{Actor: actor, Holder: id, Resource: whole}.document()},
		"acting in another tenant":           {"actas", ActAs{TokenKind: TokenSession, TokenTenant: id, PrincipalKind: KindHuman, Module: "wiki", Header: true, Target: id}.document()},
	} {
		value, err := ast.JSON(c.input)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, c.schema, value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		object, ok := value.(map[string]any)
		if !ok {
			t.Fatalf("%s: %T", name, value)
		}
		object["spare"] = true
		if err := validate(t, c.schema, object); err == nil {
			t.Errorf("%s: the schema accepts an unknown field", name)
		}
	}
}

func validate(t *testing.T, name string, value any) error {
	t.Helper()
	text, err := policies.FS.ReadFile("schemas/" + name + "/input.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	// OPA returns numbers as json.Number; encoding and decoding makes them float64.
	plain, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var again any
	if err := json.Unmarshal(plain, &again); err != nil {
		t.Fatal(err)
	}
	return resolved.Validate(again)
}
