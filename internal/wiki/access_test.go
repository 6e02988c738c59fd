package wiki_test

import (
	"fmt"
	"testing"

	contract "parapet/internal/contract/wiki"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// requests are requests about the page "a", one for each operation.
func requests() map[string]fields {
	return map[string]fields{
		"list-pages":         {},
		"get-page":           {"path": "a"},
		"put-page":           {"path": "a", "markdown": "changed"},
		"delete-page":        {"path": "a"},
		"restore-page":       {"path": "a"},
		"list-page-versions": {"path": "a"},
		"diff-page":          {"path": "a"},
		"search-pages":       {"search": "text"},
	}
}

func TestOperations_EachHasARequestInAccessTests(t *testing.T) {
	t.Parallel()
	for _, o := range contract.Contract.Operations() {
		if requests()[o.Name] == nil {
			t.Errorf("%s has no request in requests", o.Name)
		}
	}
}

func TestOperations_MembersReadWithoutRoleAndWriteOnlyWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a", "text")
	for _, c := range []struct {
		name string
		who  person
		// The reasons of the denials; "" if the request succeeds.
		read, write string
	}{
		{"member without a role", person{}, "", "permission_missing"},
		{"guest", person{roles: []string{"Guest Customer"}}, "", "permission_missing"},
		{"the role of the synchronization", person{roles: []string{"wiki:page:write"}}, "", ""},
		{"read-only token", person{roles: []string{"Admin"}, caveats: []string{"read-only"}}, "", "caveat_effect"},
		{"token for the wiki", person{roles: []string{"Admin"}, caveats: []string{"module:wiki"}}, "", ""},
		{"token for another module", person{roles: []string{"Admin"}, caveats: []string{"module:tracker"}}, "caveat_module", "caveat_module"},
		{"token for a project", person{roles: []string{"Admin"}, caveats: []string{"project:018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"}}, "caveat_project", "caveat_project"},
		{"token with unknown caveat", person{roles: []string{"Admin"}, caveats: []string{"weekdays"}}, "caveat_unknown", "caveat_unknown"},
	} {
		who := w.addPerson(c.who)
		for name, in := range requests() {
			want, permission := c.read, contract.PermPagesRead
			if w.operations[name].Effect != op.Read {
				want, permission = c.write, contract.PermPageWrite
			}
			out, err := w.call(who, name, in)
			if want == "" {
				if err != nil {
					t.Errorf("%s: %s: %v", c.name, name, err)
				}
				continue
			}
			entries, isList := out.(*op.Page[contract.PageEntry])
			hits, isSearch := out.(*op.Page[contract.PageHit])
			if isList || isSearch {
				if isList && len(entries.Items) > 0 || isSearch && len(hits.Items) > 0 {
					t.Errorf("%s: %s: got %+v, want an empty list", c.name, name, out)
				}
				continue
			}
			f := fault.From(err)
			if f == nil || f.Code != fault.CodeForbidden || f.Permission != permission || len(f.Reasons) != 1 || f.Reasons[0].Code != want {
				t.Errorf("%s: %s: got %v, want FORBIDDEN for %s because of %s", c.name, name, err, permission, want)
			}
		}
		do[contract.PutPageOut](w, w.writer, "put-page", fields{"path": "a", "markdown": "text of " + c.name})
	}
}

// The response about a page of another tenant, or above the caller's clearance, is the same as
// for a page that does not exist.
func TestOperations_HiddenPageIsLikeAMissingOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a", "text", fields{"classification": "RESTRICTED"})
	w.put("deleted", "text", fields{"classification": "RESTRICTED"})
	do[op.None](w, w.writer, "delete-page", fields{"path": "deleted"})
	for name, who := range map[string]*person{
		"low clearance": w.addPerson(person{roles: []string{"Admin"}, clearance: "INTERNAL"}),
		"other tenant":  w.addPerson(person{roles: []string{"Admin"}, clearance: "SECRET", tenant: w.globex}),
	} {
		for operation, in := range requests() {
			switch {
			case operation == "list-pages":
				for _, deleted := range []bool{false, true} {
					if list := do[op.Page[contract.PageEntry]](w, who, operation, fields{"deleted": deleted, "depth": 1}); len(list.Items) != 0 {
						t.Errorf("%s: got %+v, want an empty list", name, list.Items)
					}
				}
				continue
			case operation == "search-pages":
				if hits := do[op.Page[contract.PageHit]](w, who, operation, in); len(hits.Items) != 0 {
					t.Errorf("%s: got %+v, want no hits", name, hits.Items)
				}
				continue
			case operation == "put-page" && name == "other tenant":
				continue // creates a page of the other tenant, below
			}
			got := w.wantError(fault.CodeNotFound, who, operation, in)
			missing := fields{}
			for k, v := range in {
				missing[k] = v
			}
			missing["path"] = "missing"
			if operation != "put-page" {
				want := w.wantError(fault.CodeNotFound, who, operation, missing)
				if got.Message != want.Message || len(got.Reasons)+len(got.Details) > 0 {
					t.Errorf("%s: %s: got %+v, want %+v", name, operation, got, want)
				}
			}
		}
		if name == "low clearance" {
			// A path belongs to one page, so the error of a write shows that it is used.
			for _, path := range []string{"a", "deleted"} {
				w.wantError(fault.CodeNotFound, who, "put-page", fields{"path": path, "markdown": "x", "ifVersion": 0})
			}
			w.wantError(fault.CodeNotFound, who, "restore-page", fields{"path": "deleted"})
		}
	}
	other := w.addPerson(person{roles: []string{"Admin"}, tenant: w.globex})
	if got := do[contract.PutPageOut](w, other, "put-page", fields{"path": "a", "markdown": "theirs"}); got.Result != contract.PageCreated {
		t.Errorf("the same path in another tenant: got %s, want created", got.Result)
	}
	if got := do[contract.Page](w, w.writer, "get-page", fields{"path": "a"}); got.Markdown != "text" {
		t.Errorf("page of acme: got %q, want its own text", got.Markdown)
	}
}

// Each version keeps the classification that it was written with. A reader needs clearance for
// it and for the page.
func TestClassification_EachVersionKeepsItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	low, middle := w.addPerson(person{roles: []string{"Admin"}}), w.addPerson(person{roles: []string{"Admin"}, clearance: "RESTRICTED"})
	w.put("a", "secret plan", fields{"classification": "SECRET"})
	w.put("a", "public plan", fields{"classification": "UNCLASSIFIED"})
	w.put("a", "public plan", fields{"classification": "INTERNAL"})
	w.put("a", "public plan", fields{"classification": "UNCLASSIFIED"})
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE action = 'page.updated' AND changes::jsonb ? 'classification'`); n != 3 {
		t.Errorf("audit entries about a changed classification: got %d, want 3", n)
	}
	for _, c := range []struct {
		who  *person
		want string
	}{{low, "[4 2]"}, {middle, "[4 3 2]"}, {w.writer, "[4 3 2 1]"}} {
		var versions []int
		for _, v := range do[op.Page[contract.PageVersion]](w, c.who, "list-page-versions", fields{"path": "a"}).Items {
			versions = append(versions, v.Version)
		}
		if fmt.Sprint(versions) != c.want {
			t.Errorf("clearance %s: got versions %v, want %s", c.who.clearance, versions, c.want)
		}
		for number := 1; number <= 4; number++ {
			_, err := w.call(c.who, "get-page", fields{"path": "a", "version": number})
			if listed := contains(versions, number); listed != (err == nil) || (err != nil && !fault.HasCode(err, fault.CodeNotFound)) {
				t.Errorf("clearance %s, version %d: got %v, listed %t", c.who.clearance, number, err, listed)
			}
		}
	}
	// Raising the classification hides all versions.
	w.put("a", "public plan", fields{"classification": "CONFIDENTIAL"})
	for _, in := range []fields{{"path": "a"}, {"path": "a", "version": 2}} {
		w.wantError(fault.CodeNotFound, middle, "get-page", in)
	}
	w.wantError(fault.CodeNotFound, middle, "list-page-versions", fields{"path": "a"})
	// Changing the classification requires clearance for both.
	w.put("b", "text")
	if f := w.wantError(fault.CodeValidation, middle, "put-page", fields{"path": "b", "markdown": "text", "classification": "SECRET"}); f.Field != "classification" {
		t.Errorf("raised above the caller's clearance: got field %q, want classification", f.Field)
	}
	if f := w.wantError(fault.CodeValidation, middle, "put-page", fields{"path": "new", "markdown": "text", "classification": "CONFIDENTIAL"}); f.Field != "classification" {
		t.Errorf("created above the caller's clearance: got field %q, want classification", f.Field)
	}
	w.wantError(fault.CodeNotFound, middle, "put-page", fields{"path": "a", "markdown": "text", "classification": "UNCLASSIFIED"})
	if got := do[contract.PutPageOut](w, middle, "put-page", fields{"path": "b", "markdown": "text", "classification": "RESTRICTED"}); got.Classification != "RESTRICTED" {
		t.Errorf("raised within the caller's clearance: got %s", got.Classification)
	}
	if got := do[contract.PutPageOut](w, middle, "put-page", fields{"path": "b", "markdown": "other text"}); got.Classification != "RESTRICTED" {
		t.Errorf("put without a classification: got %s, want it unchanged", got.Classification)
	}
}

func contains(versions []int, number int) bool {
	for _, v := range versions {
		if v == number {
			return true
		}
	}
	return false
}
