package op

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"parapet/internal/fault"
)

func spec(name string) Spec {
	return Spec{Name: name, Module: "tracker", Method: "POST", Path: "/api/" + name, Permission: "thing.update", Effect: Write, Summary: "Changes a thing."}
}

// Error has the name of url.Error and of the schema of error responses.
type Error struct {
	Text string `json:"text"`
}

func TestOpenAPI_TypesWithTheSameNameGetThePackageAsPrefix(t *testing.T) {
	t.Parallel()
	type out struct {
		A Error     `json:"a"`
		B url.Error `json:"b"`
	}
	c, err := newComponents([]*Operation{New[struct{}, out](spec("do")).Operation})
	if err != nil {
		t.Fatal(err)
	}
	if c.schemas["OpError"] == nil || c.schemas["UrlError"] == nil || c.schemas["Error"] != nil {
		t.Errorf("got the schemas %v, want OpError and UrlError", sortedKeys(c.schemas))
	}
}

func TestOpenAPI_RejectsNameCollisions(t *testing.T) {
	t.Parallel()
	if _, err := OpenAPI("t", "1", []*Operation{New[struct{}, Error](spec("do")).Operation}); err == nil {
		t.Error("a type with the name of the error schema: got no error")
	}
	first, second := firstItem(), secondItem()
	if _, err := OpenAPI("t", "1", []*Operation{first, second}); err == nil || !strings.Contains(err.Error(), "item") {
		t.Errorf("two types of one package with the same name: got %v, want an error that names the type", err)
	}
	o := thing().Operation
	if _, err := OpenAPI("t", "1", []*Operation{o, o}); err == nil {
		t.Error("two operations for one route: got no error")
	}
}

func firstItem() *Operation {
	type item struct {
		A string `json:"a"`
	}
	return New[struct{}, item](spec("first")).Operation
}

func secondItem() *Operation {
	type item struct {
		B string `json:"b"`
	}
	return New[struct{}, item](spec("second")).Operation
}

type embedded struct {
	ID string `json:"id" doc:"The id."`
}

type detail struct {
	embedded
	Level *string  `json:"level" enum:"LOW|HIGH" doc:"The level."`
	Lists []nested `json:"lists,omitempty" doc:"Lists."`
	Next  *nested  `json:"next,omitempty" doc:"The next one."`
}

func TestOpenAPI_BuildsSchemasFromTypes(t *testing.T) {
	t.Parallel()
	type levelIn struct {
		Level Opt[string] `json:"level" enum:"LOW|HIGH" doc:"A level."`
		Tags  Opt[[]int]  `json:"tags" doc:"Tags."`
	}
	c, err := newComponents([]*Operation{
		New[struct{}, Page[detail]](spec("list")).Operation,
		New[levelIn, None](spec("set")).Operation,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sortedKeys(c.schemas), []string{"EmptyObject", "Level", "detail", "detailPage", "levelRequest", "nested"}; !slices.Equal(got, want) {
		t.Fatalf("got the schemas %v, want %v", got, want)
	}
	s := c.schemas["detail"]
	if s.Properties["id"] == nil || !slices.Equal(s.Required, []string{"id", "level"}) || s.AdditionalProperties != nil {
		t.Errorf("schema of an output type: got %+v, want the embedded members and no limit on members", s)
	}
	if p := s.Properties["lists"]; p.Type != "array" || p.Items.Ref != schemaPrefix+"nested" {
		t.Errorf("list: got %+v, want an array of references", p)
	}
	if p := s.Properties["next"]; p.Ref != schemaPrefix+"nested" || p.Description != "The next one." {
		t.Errorf("optional pointer: got %+v, want a reference with its description", p)
	}
	if p := s.Properties["level"]; len(p.AnyOf) != 2 || p.AnyOf[0].Ref != schemaPrefix+"Level" || p.AnyOf[1].Type != "null" {
		t.Errorf("pointer that is always present: got %+v, want the enum or null", p)
	}
	body := c.schemas["levelRequest"]
	if p := body.Properties["tags"]; len(p.AnyOf) != 2 || p.AnyOf[0].Type != "array" || body.AdditionalProperties == nil {
		t.Errorf("request body: got %+v, want a list or null and no further members", p)
	}
}

func TestErrorResponses_CoverAllCodes(t *testing.T) {
	t.Parallel()
	statuses := map[int]bool{405: true} // the document lists every method of a path
	for _, r := range errorResponses() {
		statuses[r.status] = true
		if fault.Status(r.example.Code) != r.status {
			t.Errorf("%s: the example has the code %s of the status %d, want %d", r.name, r.example.Code, fault.Status(r.example.Code), r.status)
		}
	}
	for _, code := range fault.Codes() {
		if !statuses[fault.Status(code)] {
			t.Errorf("no response has the status %d of the code %s", fault.Status(code), code)
		}
	}
	if codes := errorSchemas()["ErrorCode"].Enum; len(codes) != len(fault.Codes()) || !slices.Contains(codes, any("RATE_LIMITED")) {
		t.Errorf("error codes: got %v, want all of fault.Codes", codes)
	}
}

func TestTags_AreSortedAndDescribed(t *testing.T) {
	t.Parallel()
	if !slices.IsSortedFunc(tags, func(a, b tag) int { return strings.Compare(a.name, b.name) }) {
		t.Error("the tags are not sorted by name")
	}
	for _, g := range tags {
		if g.description == "" || len(g.paths) == 0 {
			t.Errorf("the tag %s has no description or no path", g.name)
		}
	}
	if got := tagOf(thing().Operation).name; got != "tracker" {
		t.Errorf("tag of a path that no tag lists: got %s, want the module tracker", got)
	}
}
