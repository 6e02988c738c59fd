package tracker

import (
	"net/url"
	"strings"
	"testing"

	"parapet/internal/fault"
	"parapet/internal/op"
)

func TestOperations_HavePermissionAndSchemas(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, o := range Contract.Operations() {
		if seen[o.Name] {
			t.Errorf("operation %s is listed twice", o.Name)
		}
		seen[o.Name] = true
		// GetWorkspace and GetInbox check the permissions of each part instead.
		if o.Module != Module || (o.Permission == "") != (o.Name == GetWorkspace.Name || o.Name == GetInbox.Name) {
			t.Errorf("operation %s: got module %q and permission %q, want module %q and a permission", o.Name, o.Module, o.Permission, Module)
		}
	}
	if _, err := op.OpenAPI("t", "0", Contract.Operations()); err != nil {
		t.Fatalf("OpenAPI: %v", err)
	}
	for _, o := range Contract.Operations() {
		if _, err := o.InputSchema(); err != nil {
			t.Errorf("%s: input schema: %v", o.Name, err)
		}
		if _, err := o.OutputSchema(); err != nil {
			t.Errorf("%s: output schema: %v", o.Name, err)
		}
	}
}

func readImport(body string) (*ImportItemsIn, error) {
	in, err := ImportItems.Read(op.Raw{
		Path:  func(string) string { return "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f" },
		Query: url.Values{},
		Body:  []byte(body),
	})
	if err != nil {
		return nil, err
	}
	return in.(*ImportItemsIn), nil
}

func TestImportItem_MalformedItemSetsProblem(t *testing.T) {
	t.Parallel()
	in, err := readImport(`{"items":[
		{"id":"a-1","title":"Good","priority":0,"created_at":"2025-11-02T21:58:07.295058-08:00","dependencies":[{"depends_on_id":"a-2","type":"blocks"}]},
		{"id":"a-2","title":7},
		{"id":"a-3","title":"x","owner":"y"},
		{"id":"a-4","Title":"x"},
		{"id":"a-5","title":"n\u0000ul"},
		{"id":"a\u0000","title":"x"},
		[1],
		{"id":"a-8","title":"x","dependencies":[{"depends_on_id":"a","kind":"blocks"}]},
		{"id":"a-9","title":"x","priority":1.5},
		null
	]}`)
	if err != nil {
		t.Fatal(err)
	}
	if p := in.Items[0].Problem(); p != "" || in.Items[0].Title != "Good" || in.Items[0].Dependencies[0].DependsOnID != "a-2" {
		t.Fatalf("valid item: got problem %q, item %+v", p, in.Items[0])
	}
	ids := []string{"a-1", "a-2", "a-3", "a-4", "a-5", "", "", "a-8", "a-9", ""}
	for i, item := range in.Items[1:] {
		if item.Problem() == "" && item.ID != "" {
			t.Errorf("item %d: got no problem, want one: %+v", i+1, item)
		}
		if item.ID != ids[i+1] {
			t.Errorf("item %d: got id %q, want %q", i+1, item.ID, ids[i+1])
		}
		if item.Title != "" {
			t.Errorf("item %d: got fields of a malformed item, want only its id: %+v", i+1, item)
		}
	}
}

func TestImportItems_InvalidBodyFailsWithValidation(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"items":[{"id":"a",}]}`, `{"items":[]}`, `{}`, `{"items":[{"id":"a","title":"b"}],"x":1}`, `{"items":[{"id":"a","id":"b"}]}`} {
		if _, err := readImport(body); !fault.HasCode(err, fault.CodeValidation) {
			t.Errorf("%s: got %v, want VALIDATION", body, err)
		}
	}
	if _, err := readImport(`{"items":[` + strings.Repeat(`{"id":"a","title":"b"},`, MaxImportItems) + `{"id":"a","title":"b"}]}`); !fault.HasCode(err, fault.CodeValidation) {
		t.Errorf("%d items: got %v, want VALIDATION", MaxImportItems+1, err)
	}
}

func FuzzImportItem(f *testing.F) {
	for _, seed := range []string{`{"id":"a","title":"b"}`, `{"id":"a","priority":"x"}`, `[]`, `null`, `{"dependencies":[{"type":null}]}`, `{"labels":["\u0000"]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in, err := readImport(`{"items":[` + text + `]}`)
		if err != nil {
			return
		}
		for _, item := range in.Items {
			if item.containsNUL() {
				t.Fatalf("decoded item contains a NUL character: %+v", item)
			}
			if item.Problem() != "" && item.Title != "" {
				t.Fatalf("malformed item has fields besides its id: %+v", item)
			}
		}
	})
}
