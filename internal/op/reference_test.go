package op

import (
	"slices"
	"testing"
)

type cargo struct {
	Title    string     `json:"title"`
	Owner    UUID       `json:"owner"`
	Person   *Reference `json:"ownerUser,omitempty"`
	Scope    string     `json:"scope"`
	ScopeID  UUID       `json:"scopeId"`
	ScopedTo *Reference `json:"scopeRecord,omitempty"`
	Parts    []cargo    `json:"parts"`
}

type shipment struct {
	cargoOf   UUID
	ProjectID UUID       `json:"projectId"`
	Project   *Reference `json:"project,omitempty"`
	Main      *cargo     `json:"main"`
	Items     []cargo    `json:"items"`
	Other     *cargo     `json:"other"`
}

func TestVisitReferences_FindsEachIDWithReference(t *testing.T) {
	t.Parallel()
	o := New[struct{}, shipment](Spec{Name: "get-shipment", Module: "tracker", Method: "GET", Path: "/shipment", Access: Authenticated, Effect: Read, Summary: "Get."})
	out := &shipment{
		cargoOf: "hidden", ProjectID: "p", Main: &cargo{Owner: "a", Scope: "project", ScopeID: "s"},
		Items: []cargo{{Owner: "b"}, {}, {Owner: "a", Scope: "organisation", ScopeID: "o"}},
	}
	var got []string
	o.VisitReferences(out, func(kind Kind, id UUID, reference **Reference) {
		got = append(got, string(kind)+" "+string(id))
		*reference = &Reference{ID: id}
	})
	want := []string{"project p", "person a", "project s", "person b", "person a", "organisation o"}
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("reference %d: got %s, want %s", i, got[i], want[i])
		}
	}
	if out.Items[2].Person.ID != "a" || out.Items[2].ScopedTo.ID != "o" || out.Items[1].Person != nil || out.Project.ID != "p" {
		t.Errorf("references: got %+v", out)
	}
}

func TestVisitReferences_TakesKindFromRecordType(t *testing.T) {
	t.Parallel()
	type entry struct {
		ResourceType string     `json:"resourceType"`
		ResourceID   string     `json:"resourceId"`
		Resource     *Reference `json:"resource"`
	}
	type log struct {
		Items []entry `json:"items"`
	}
	o := New[struct{}, log](Spec{Name: "list-log", Module: "tracker", Method: "GET", Path: "/log", Access: Authenticated, Effect: Read, Summary: "List."})
	const id = "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"
	out := &log{}
	for _, recordType := range []string{"user", "membership", "task", "tenant", "session"} {
		out.Items = append(out.Items, entry{ResourceType: recordType, ResourceID: id})
	}
	out.Items = append(out.Items, entry{ResourceType: "task", ResourceID: "APOLLO-1"}, entry{ResourceType: "user"})
	var got []string
	o.VisitReferences(out, func(kind Kind, _ UUID, _ **Reference) { got = append(got, string(kind)) })
	if want := []string{"person", "person", "task", "tenant", "session"}; !slices.Equal(got, want) {
		t.Errorf("got the kinds %q, want %q", got, want)
	}
}

func TestVisitReferences_FillsListsInTheOrderOfTheirIDs(t *testing.T) {
	t.Parallel()
	type scopes struct {
		Projects       []UUID      `json:"projects"`
		ProjectRecords []Reference `json:"projectRecords,omitempty"`
	}
	type access struct {
		Items []scopes `json:"items"`
	}
	o := New[struct{}, access](Spec{Name: "list-scopes", Module: "tracker", Method: "GET", Path: "/scopes", Access: Authenticated, Effect: Read, Summary: "List."})
	out := &access{Items: []scopes{{Projects: []UUID{"b", "a"}}, {}}}
	var got []string
	o.VisitReferences(out, func(kind Kind, id UUID, _ **Reference) { got = append(got, string(kind)+" "+string(id)) })
	if want := []string{"project b", "project a"}; !slices.Equal(got, want) || out.Items[0].ProjectRecords != nil {
		t.Errorf("got %q and the references %v, want %q and none", got, out.Items[0].ProjectRecords, want)
	}
	for range 2 { // a repetition adds nothing
		o.VisitReferences(out, func(_ Kind, id UUID, reference **Reference) { *reference = &Reference{ID: id} })
	}
	if want := []Reference{{ID: "b"}, {ID: "a"}}; !slices.Equal(out.Items[0].ProjectRecords, want) || out.Items[1].ProjectRecords != nil {
		t.Errorf("got the references %v and %v, want %v and none", out.Items[0].ProjectRecords, out.Items[1].ProjectRecords, want)
	}
}

func TestNew_RejectsReferenceWithoutIDOrKind(t *testing.T) {
	t.Parallel()
	type withoutID struct {
		Owner UUID       `json:"owner"`
		Boat  *Reference `json:"boat"`
	}
	type withoutKind struct {
		ResourceID string     `json:"resourceId"`
		Resource   *Reference `json:"resource"`
	}
	type withoutList struct {
		Boats       []UUID      `json:"boats"`
		BoatRecords []Reference `json:"boatRecords"`
	}
	spec := Spec{Name: "get-lost", Module: "tracker", Method: "GET", Path: "/lost", Access: Authenticated, Effect: Read, Summary: "Get."}
	for name, declare := range map[string]func(){
		"id": func() { New[struct{}, withoutID](spec) }, "kind": func() { New[struct{}, withoutKind](spec) },
		"list of ids": func() { New[struct{}, withoutList](spec) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("reference without %s: New did not panic", name)
				}
			}()
			declare()
		}()
	}
}

func TestVisitNames_FindsNamesInPlaceOfIDs(t *testing.T) {
	t.Parallel()
	type input struct {
		ProjectID UUID      `path:"projectId" doc:"The project."`
		Assignee  Opt[UUID] `json:"assignee" doc:"The assignee."`
		LeaseID   UUID      `json:"leaseId" doc:"The lease."`
		Scope     string    `json:"scope" doc:"The scope."`
		ScopeID   UUID      `json:"scopeId" doc:"The record."`
		Owner     UUID      `json:"owner" doc:"The owner."`
	}
	o := New[input, None](Spec{Name: "move", Module: "tracker", Method: "POST", Path: "/move/{projectId}", Access: Authenticated, Effect: Write, Summary: "Move."})
	const id = UUID("018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f")
	in := &input{ProjectID: "APOLLO", Assignee: Some(UUID("me")), LeaseID: "x", Scope: "organisation", ScopeID: "Works", Owner: id}
	var got []string
	err := o.VisitNames(in, func(f Field, kind Kind, name *UUID) error {
		got = append(got, f.Name+" "+string(kind)+" "+string(*name))
		*name = id
		return nil
	})
	if want := []string{"projectId project APOLLO", "assignee person me", "scopeId organisation Works"}; err != nil || len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if in.ProjectID != id || in.Assignee.Value != id || in.ScopeID != id || in.LeaseID != "x" {
		t.Errorf("input: got %+v, want the ids", in)
	}
	public := New[input, None](Spec{Name: "ask", Module: "tracker", Method: "POST", Path: "/ask/{projectId}", Access: Public, Effect: Write, Summary: "Ask."})
	if err := public.VisitNames(&input{ProjectID: "APOLLO"}, func(f Field, _ Kind, _ *UUID) error {
		t.Errorf("public operation: the field %s accepts a name", f.Name)
		return nil
	}); err != nil {
		t.Error(err)
	}
}
