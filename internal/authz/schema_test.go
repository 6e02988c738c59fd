package authz

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/open-policy-agent/opa/v1/ast"

	"parapet/policies"
)

// What the engine builds is what the schemas describe, field for field: the
// compiler checks the rules against the same files.
func TestInputsFitTheirSchemas(t *testing.T) {
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
		t.Fatalf("a delegation gives %d delegated subjects", len(actor.delegatedSubjects))
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
	held := Holding{Tenant: id, Membership: "ACTIVE", Clearance: "SECRET", Grants: grants, Delegations: grants, Caller: actor, CallerMembership: "ACTIVE"}
	owner := KeyOwner{ID: id, Tenant: id, Kind: KindService}
	empty := SubjectInput{}
	for name, c := range map[string]struct {
		schema string
		input  ast.Value
	}{
		"a caller":         {"subject", caller.document()},
		"an empty caller":  {"subject", empty.document()},
		"a decision":       {"access", s.input(&Input{Permission: "tasks.read", Effect: Read, Module: "tracker", Actor: actor, Resource: whole})},
		"an audit entry":   {"access", s.input(&Input{Permission: "audit.read", Effect: Read, Module: "audit", Actor: actor, Resource: entry})},
		"a service's key":  {"keys", IssueServiceKey{Actor: actor, Target: principal, Settings: KeySettings{MaxAdminDays: 1, MaxUserDays: 1}}.document()},
		"one's own key":    {"keys", IssueSelfKey{Actor: actor, ExpiresInDays: &days}.document()},
		"given":            {"grants", GiveAuthority{Actor: actor, RecipientID: id, RecipientKind: KindHuman, RoleKinds: []string{"STANDARD"}, Grants: grants, ClearanceTo: "SECRET"}.document()},
		"an account":       {"accounts", ChangeAccount{Change: ChangeAddress, Actor: actor, Account: account, Holdings: []Holding{held}, Roles: candidate.Roles}.document()},
		"a reset":          {"accounts", CompleteReset{Account: account, ByAdministrator: true}.document()},
		"a session":        {"accounts", EndSession{Actor: actor, SessionTenant: id}.document()},
		"one's own":        {"accounts", ChangeOwnCredentials{Actor: actor, Account: account}.document()},
		"notifications":    {"accounts", AdministratorNotifications{Actor: actor}.document()},
		"a role":           {"roles", ChangeRole{Change: UnassignRole, Actor: actor, Role: candidate.Roles[0], RecipientID: id, RecipientKind: KindAgent}.document()},
		"a role's name":    {"roles", ChangeRole{Change: CreateRole, Actor: actor, Spelling: "desk", Permission: "tasks.read"}.document()},
		"a list":           {"keys", ListKeys{Actor: actor, Owner: &owner}.document()},
		"a revocation":     {"keys", RevokeKey{Actor: actor, ServiceOwned: true, Key: Key{JTI: id, Tenant: id, Owner: owner}}.document()},
		"a profile":        {"profiles", ValidateProfile{Target: principal}.document()},
		"no permission":    {"open", AuthenticatedAccess{Actor: actor, Effect: Read, Module: "identity"}.document()},
		"work to give":     {"work", Assign{Actor: actor, Candidate: candidate, Resource: whole}.document()},
		"work for nobody":  {"work", Assign{Actor: actor, Resource: whole}.document()},
		"an agent":         {"work", ActAsAgent{Actor: actor, Agent: candidate, Resource: whole}.document()},
		"a request":        {"work", RaiseDecision{Actor: actor, Acting: id, Resource: whole, Assignee: id, Category: "TODO"}.document()},
		"a promotion":      {"work", PromoteIssue{Actor: actor, Resource: whole}.document()},
		"counting":         {"work", CountRecords{Actor: actor, Permission: "tasks.read", Resource: whole}.document()},
		"a run's start":    {"work", StartRun{Agent: candidate, Resource: whole}.document()},
		"a request's end":  {"work", CancelDecision{Actor: actor, RaisedBy: id, Resource: whole}.document()},
		"a delegation":     {"delegations", Delegate{Actor: actor, Delegator: candidate, Delegate: candidate, Permissions: []string{"tasks.read"}, Resource: whole}.document()},
		"a claim's end":    {"work", ReleaseClaim{Actor: actor, Holder: id, Resource: whole}.document()},
		"acting elsewhere": {"actas", ActAs{TokenKind: TokenSession, TokenTenant: id, PrincipalKind: KindHuman, Module: "wiki", Header: true, Target: id}.document()},
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
			t.Errorf("%s: the schema takes a field that it does not know", name)
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
	// Numbers come as json.Number from OPA: once through JSON makes them plain.
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
