package op

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"parapet/internal/fault"
)

type nested struct {
	Kind string `json:"kind"`
}

type thingIn struct {
	ID     UUID        `path:"id" doc:"The thing."`
	Limit  int         `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Page size."`
	After  Date        `query:"after" doc:"Only later ones."`
	For    UUID        `query:"for" doc:"Only this one's."`
	Title  string      `json:"title" required:"true" maxLength:"10" doc:"The title."`
	State  string      `json:"state" enum:"OPEN|DONE" doc:"The state."`
	Note   Opt[string] `json:"note" maxLength:"5" doc:"A note."`
	Owner  Opt[UUID]   `json:"owner" doc:"The owner."`
	Tags   []string    `json:"tags" maxLength:"2" doc:"Tags."`
	Nested *nested     `json:"nested" doc:"A nested object."`
	Mail   string      `json:"mail" format:"email" doc:"An address."`
	Code   string      `json:"code" pattern:"^[A-Z]{2}$" form:"two capital letters" doc:"A code."`

	Text     string       `json:"text" doc:"Free text."`
	Level    Opt[string]  `json:"level" enum:"LOW|HIGH" doc:"A level."`
	Due      Opt[Date]    `json:"due" doc:"A day."`
	Start    *Date        `json:"start" doc:"A day."`
	Assignee Opt[string]  `json:"assignee" format:"uuid" empty:"true" doc:"Somebody, or nobody."`
	Points   Opt[float64] `json:"points" doc:"An estimate."`
	Sure     Opt[bool]    `json:"sure" doc:"Whether it is sure."`

	Search string `query:"search" maxLength:"9" empty:"true" doc:"Words."`
	Action string `query:"action" doc:"One action only."`
	Kind   string `query:"kind" enum:"A|B" doc:"One kind only."`
	From   string `query:"from" format:"date-time" doc:"Since when."`
	Open   *bool  `query:"open" doc:"Open ones only."`
	Cursor string `query:"cursor" doc:"Where the page starts."`
}

type thingOut struct {
	ID UUID `json:"id" doc:"The thing."`
}

const thingID = "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"

func thing() Op[thingIn, thingOut] {
	return New[thingIn, thingOut](Spec{Name: "change-thing", Module: "tracker", Method: "PATCH", Path: "/api/things/{id}", Permission: "thing.update", Effect: Write, Summary: "Changes a thing."})
}

func read(t *testing.T, query, body string) (*thingIn, error) {
	t.Helper()
	q, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	in, err := thing().Read(Raw{Path: func(string) string { return strings.ToUpper(thingID) }, Query: q, Body: []byte(body)})
	if err != nil {
		return nil, err
	}
	return in.(*thingIn), nil
}

func TestRead_DecodesInput(t *testing.T) {
	t.Parallel()
	in, err := read(t, "after=2027-03-31", `{"title":"tïtle","note":null,"owner":"018F3C5E-7A10-7C3E-9D2B-5B0A4C1D2E3F","nested":{"kind":"x"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if in.ID != thingID || in.Limit != 50 || in.After != "2027-03-31" || in.Title != "tïtle" {
		t.Errorf("required fields and defaults: got %+v, want the values of the request and the limit 50", in)
	}
	if !in.Note.Set || !in.Note.Null || in.Owner.Value != thingID || in.Nested.Kind != "x" {
		t.Errorf("optional fields: got %+v, want a null note, the owner and the nested kind", in)
	}
	if in, err := read(t, "", `{"title":"t"}`); err != nil || in.Note.Set || in.Owner.Set {
		t.Errorf("absent optional fields: got %+v, %v, want them unset", in, err)
	}
}

func TestRead_RejectsInvalidInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ note, query, body, field string }{
		{"unknown field", "", `{"title":"t","colour":"red"}`, "colour"},
		{"unknown field in an object", "", `{"title":"t","nested":{"kind":"x","size":1}}`, "nested.size"},
		{"duplicate field", "", `{"title":"t","title":"u"}`, "title"},
		{"duplicate field in an object", "", `{"title":"t","nested":{"kind":"x","kind":"y"}}`, "nested.kind"},
		{"name in another case", "", `{"Title":"t"}`, "Title"},
		{"nested name in another case", "", `{"title":"t","nested":{"Kind":"x"}}`, "nested.Kind"},
		{"missing field", "", `{}`, "title"},
		{"no body", "", ``, "title"},
		{"blank required field", "", `{"title":"  "}`, "title"},
		{"null in a required field", "", `{"title":null}`, "title"},
		{"too long", "", `{"title":"12345678901"}`, "title"},
		{"wrong type", "", `{"title":7}`, "title"},
		{"value not in the enum", "", `{"title":"t","state":"open"}`, "state"},
		{"optional too long", "", `{"title":"t","note":"123456"}`, "note"},
		{"neither an id nor a name", "", `{"title":"t","owner":7}`, "owner"},
		{"control character in a name", "", `{"title":"t","owner":"a\u001bb"}`, "owner"},
		{"name too long", "", `{"title":"t","owner":"` + strings.Repeat("x", 255) + `"}`, "owner"},
		{"blank name", "", `{"title":"t","owner":" "}`, "owner"},
		{"too many items", "", `{"title":"t","tags":["a","b","c"]}`, "tags"},
		{"NUL", "", `{"title":"t\u0000"}`, "title"},
		{"NUL in a list", "", `{"title":"t","tags":["\u0000"]}`, "tags"},
		{"pattern not matched", "", `{"title":"t","code":"x"}`, "code"},
		{"not an email address", "", `{"title":"t","mail":"Colleague <colleague@example.com>"}`, "mail"},
		{"not UTF-8", "", "{\"title\":\"\xff\"}", "body"},
		{"lone surrogate", "", `{"title":"\ud800"}`, "body"},
		{"two JSON values", "", `{"title":"t"} {}`, "body"},
		{"array instead of object", "", `[]`, "body"},
		{"incomplete JSON", "", `{"title":"t"`, "body"},
		{"unknown parameter", "access_token=x", `{"title":"t"}`, "access_token"},
		{"duplicate parameter", "limit=1&limit=2", `{"title":"t"}`, "limit"},
		{"number out of range", "limit=201", `{"title":"t"}`, "limit"},
		{"not a number", "limit=1e2", `{"title":"t"}`, "limit"},
		{"invalid id in the query", "for=x", `{"title":"t"}`, "for"},
		{"empty id in the query", "for=", `{"title":"t"}`, "for"},
		{"not a date", "after=2027-02-30", `{"title":"t"}`, "after"},
		{"empty enum", "", `{"title":"t","state":""}`, "state"},
		{"empty optional enum", "", `{"title":"t","level":""}`, "level"},
		{"empty format", "", `{"title":"t","mail":""}`, "mail"},
		{"empty pattern", "", `{"title":"t","code":""}`, "code"},
		{"empty optional id", "", `{"title":"t","owner":""}`, "owner"},
		{"empty optional date", "", `{"title":"t","due":""}`, "due"},
		{"empty date", "", `{"title":"t","start":""}`, "start"},
		{"empty number", "", `{"title":"t","points":""}`, "points"},
		{"empty boolean", "", `{"title":"t","sure":""}`, "sure"},
		{"empty list", "", `{"title":"t","tags":""}`, "tags"},
		{"empty object", "", `{"title":"t","nested":""}`, "nested"},
		{"empty query text", "action=", `{"title":"t"}`, "action"},
		{"empty query enum", "kind=", `{"title":"t"}`, "kind"},
		{"empty query date", "after=", `{"title":"t"}`, "after"},
		{"empty query timestamp", "from=", `{"title":"t"}`, "from"},
		{"empty query number", "limit=", `{"title":"t"}`, "limit"},
		{"empty query boolean", "open=", `{"title":"t"}`, "open"},
		{"query parameter without a name", "=1", `{"title":"t"}`, "query"},
		{"field without a name", "", `{"title":"t","":1}`, "body"},
	} {
		t.Run(c.note, func(t *testing.T) {
			t.Parallel()
			in, err := read(t, c.query, c.body)
			if err == nil {
				t.Fatalf("got %+v, want a VALIDATION fault", in)
			}
			f := fault.From(err)
			if f.Code != fault.CodeValidation || f.Field != c.field {
				t.Fatalf("got %s %q (%s), want VALIDATION of %q", f.Code, f.Field, f.Message, c.field)
			}
		})
	}
}

// Free text, search, cursor and fields with the tag empty accept the empty string.
func TestRead_AcceptsEmptyStringInFreeText(t *testing.T) {
	t.Parallel()
	in, err := read(t, "search=&cursor=", `{"title":"t","text":"","note":"","assignee":"","level":null}`)
	if err != nil {
		t.Fatal(err)
	}
	if !in.Note.Set || in.Note.Null || !in.Assignee.Set || in.Assignee.Null || !in.Level.Null {
		t.Errorf("empty strings: got %+v, want a note and an assignee that are set and not null, and a null level", in)
	}
}

func TestValidate_RejectsEmptyOptionalValues(t *testing.T) {
	t.Parallel()
	for field, in := range map[string]*thingIn{
		"level": {ID: thingID, Limit: 1, Title: "t", Level: Some("")},
		"owner": {ID: thingID, Limit: 1, Title: "t", Owner: Some(UUID(""))},
		"due":   {ID: thingID, Limit: 1, Title: "t", Due: Some(Date(""))},
	} {
		if err := thing().Validate(in); fault.From(err) == nil || fault.From(err).Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if err := thing().Validate(&thingIn{ID: thingID, Limit: 1, Title: "t"}); err != nil {
		t.Errorf("absent fields: %v", err)
	}
}

func TestRead_OperationWithoutBody(t *testing.T) {
	t.Parallel()
	o := New[struct{}, thingOut](Spec{Name: "do-it", Module: "tracker", Method: "POST", Path: "/api/do", Permission: "thing.update", Effect: Write, Summary: "Does it."})
	for body, field := range map[string]string{"": "", " ": "", "{}": "", " { } ": "", `{"colour":1}`: "colour", "[]": "body", "null": "body", "{": "body", "x": "body", "{}{}": "body"} {
		_, err := o.Read(Raw{Body: []byte(body)})
		if field == "" && err != nil {
			t.Errorf("%q: %v", body, err)
		}
		if field != "" && (!fault.HasCode(err, fault.CodeValidation) || fault.From(err).Field != field) {
			t.Errorf("%q: got %v, want VALIDATION of %q", body, err, field)
		}
	}
}

func TestRead_ErrorDescribesValue(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"title":"t","code":""}`:            "The field code must be two capital letters.",
		`{"title":"t","nested":"x"}`:         "The field nested must be an object.",
		`{"title":"t","nested":{"kind":1}}`:  "The field nested.kind must be a string.",
		`{"title":"t","tags":[1]}`:           "The field tags.0 must be a string.",
		`{"title":"t","owner":1}`:            "The field owner must be an id, email address, integration key, name or me.",
		`{"title":"t","tags":["a","b","c"]}`: "The field tags must have at most 2 items.",
	} {
		if _, err := read(t, "", body); fault.From(err) == nil || fault.From(err).Message != want {
			t.Errorf("%s: got %v, want %s", body, err, want)
		}
	}
	one := 1
	for want, f := range map[string]Field{
		"The field x must have at least 1 character.": {Name: "x", MinLength: &one},
		"The field x must have at most 1 character.":  {Name: "x", MaxLength: &one},
	} {
		if err := f.validateLength(map[bool]int{true: 0, false: 2}[f.MinLength != nil], "characters"); fault.From(err).Message != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for kind, want := range map[Kind]string{KindTask: "an id or key", KindProject: "an id, prefix or name"} {
		if got := kind.Choices(); got != want {
			t.Errorf("%s: got %s, want %s", kind, got, want)
		}
	}
}

func TestRead_PatternErrorDescribesFormInWords(t *testing.T) {
	t.Parallel()
	_, err := read(t, "", `{"title":"t","code":"x"}`)
	if f := fault.From(err); f.Message != "The field code must be two capital letters." {
		t.Errorf("pattern error: got %q, want \"The field code must be two capital letters.\"", f.Message)
	}
}

func TestWrite_RoundTripsThroughRead(t *testing.T) {
	t.Parallel()
	want := thingIn{ID: thingID, Limit: 7, After: "2027-03-31", Title: "a/b?c&ü", Note: Clear[string](), Owner: Some(UUID(thingID)), Tags: []string{"x"}, Nested: &nested{"k"}}
	w, err := thing().Write(&want)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(w.Target)
	if err != nil || u.Path != "/api/things/"+thingID {
		t.Fatalf("target %q: %v", w.Target, err)
	}
	got, err := read(t, u.RawQuery, string(w.Body))
	if err != nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	if got.Title != want.Title || got.Limit != 7 || !got.Note.Null || got.Owner.Value != thingID || got.Nested.Kind != "k" || got.Tags[0] != "x" {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	if strings.Contains(string(w.Body), "state") {
		t.Error("the body contains an optional field with the zero value")
	}
}

func TestNew_PanicsOnInvalidSpec(t *testing.T) {
	t.Parallel()
	valid := Spec{Name: "change-thing", Module: "m", Method: "PATCH", Path: "/api/things/{id}", Permission: "p", Effect: Write, Summary: "s"}
	for note, change := range map[string]func(*Spec){
		"name not kebab case":          func(s *Spec) { s.Name = "ChangeThing" },
		"no permission":                func(s *Spec) { s.Permission = "" },
		"public with permission":       func(s *Spec) { s.Access = Public },
		"no effect":                    func(s *Spec) { s.Effect = "" },
		"path parameter without field": func(s *Spec) { s.Path = "/api/things/{id}/{other}" },
		"field without path parameter": func(s *Spec) { s.Path = "/api/things" },
		"body of a GET":                func(s *Spec) { s.Method = "GET" },
	} {
		spec := valid
		change(&spec)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: New did not panic", note)
				}
			}()
			New[thingIn, thingOut](spec)
		}()
	}
}

func TestSchemas_DescribeFields(t *testing.T) {
	t.Parallel()
	o := thing()
	in, err := o.InputSchema()
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Properties) != len(o.Fields) || in.Properties["limit"].Maximum == nil || in.Properties["for"].Format != "uuid" ||
		in.Properties["owner"].Format != "" || !strings.Contains(in.Properties["owner"].Description, "(id, email address,") {
		t.Errorf("input schema: %+v", in)
	}
	if got := in.Properties["note"].Types; len(got) != 2 || got[1] != "null" {
		t.Errorf("types of an optional field: got %v, want its type and null", got)
	}
	if tags := in.Properties["tags"]; tags.MaxItems == nil || *tags.MaxItems != 2 || tags.MaxLength != nil {
		t.Errorf("schema of a list: got %+v, want maxItems 2 and no maxLength", tags)
	}
	body, err := o.BodySchema()
	if err != nil || body.Properties["id"] != nil || body.Properties["title"] == nil {
		t.Errorf("body schema: %+v, %v", body, err)
	}
}

func TestReadCursor_AcceptsOnlyOwnCursors(t *testing.T) {
	t.Parallel()
	text := NewCursor("list-things", thingID, "2027", "b")
	keys, err := ReadCursor(text, "list-things", thingID, 2)
	if err != nil || len(keys) != 2 || keys[1] != "b" {
		t.Fatalf("%v, %v", keys, err)
	}
	for note, f := range map[string]func() ([]string, error){
		"another list":         func() ([]string, error) { return ReadCursor(text, "list-others", thingID, 2) },
		"another tenant":       func() ([]string, error) { return ReadCursor(text, "list-things", "x", 2) },
		"wrong number of keys": func() ([]string, error) { return ReadCursor(text, "list-things", thingID, 1) },
		"garbage":              func() ([]string, error) { return ReadCursor("???", "list-things", thingID, 2) },
		"padding":              func() ([]string, error) { return ReadCursor(text+"=", "list-things", thingID, 2) },
		"too long":             func() ([]string, error) { return ReadCursor(strings.Repeat("A", 2000), "list-things", thingID, 2) },
	} {
		if _, err := f(); !fault.HasCode(err, fault.CodeValidation) {
			t.Errorf("%s: got %v, want VALIDATION", note, err)
		}
	}
}

func TestReadTimeCursor_ReturnsPositionForEqualKeys(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 1, 4, 9, 0, 0, 1000, time.UTC)
	text := NewCursor("list-things", thingID, "open", CursorTime(at), string(thingID))
	got, err := ReadTimeCursor(text, "list-things", thingID, "open")
	if err != nil || !got.At.Equal(at) || got.ID != thingID {
		t.Errorf("got %+v, %v, want %s and %s", got, err, at, thingID)
	}
	if got, err := ReadTimeCursor("", "list-things", thingID, "open"); got != nil || err != nil {
		t.Errorf("empty cursor: got %+v, %v, want nil", got, err)
	}
	for name, c := range map[string]struct{ text, key string }{
		"other keys":    {text, "closed"},
		"no timestamp":  {NewCursor("list-things", thingID, "open", "2027", string(thingID)), "open"},
		"no id":         {NewCursor("list-things", thingID, "open", CursorTime(at), "x"), "open"},
		"no other keys": {NewCursor("list-things", thingID, CursorTime(at), string(thingID)), "open"},
	} {
		if got, err := ReadTimeCursor(c.text, "list-things", thingID, c.key); got != nil || !fault.HasCode(err, fault.CodeValidation) {
			t.Errorf("%s: got %+v, %v, want VALIDATION", name, got, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("limit=3", `{"title":"t"}`)
	f.Add("", `{"title":"t","note":null,"tags":["a"]}`)
	f.Add("after=2027-01-01", `{"title":"t","title":"u"}`)
	o := thing()
	f.Fuzz(func(t *testing.T, query, body string) {
		q, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		in, err := o.Read(Raw{Path: func(string) string { return thingID }, Query: q, Body: []byte(body)})
		if err != nil {
			if fault.From(err).Code != fault.CodeValidation {
				t.Fatalf("%q %q: got %v, want VALIDATION", query, body, err)
			}
			return
		}
		w, err := o.Write(in)
		if err != nil {
			t.Fatalf("Write of a decoded input: %v", err)
		}
		u, err := url.Parse(w.Target)
		if err != nil {
			t.Fatal(err)
		}
		again, err := o.Read(Raw{Path: func(string) string { return thingID }, Query: u.Query(), Body: w.Body})
		if err != nil {
			t.Fatalf("Read of a written request: %s: %v", w.Body, err)
		}
		if a, b := in.(*thingIn), again.(*thingIn); a.Title != b.Title || a.Note != b.Note || a.Limit != b.Limit {
			t.Fatalf("round trip: got %+v, want %+v", b, a)
		}
	})
}

func FuzzReadCursor(f *testing.F) {
	f.Add(NewCursor("list-things", thingID, "a", "b"))
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := ReadCursor(text, "list-things", thingID, 2)
		if err == nil && text != "" && len(keys) != 2 {
			t.Fatalf("ReadCursor(%q): got %v, want 2 keys", text, keys)
		}
	})
}

func TestWriteArguments_BuildsRequestOrNamesField(t *testing.T) {
	t.Parallel()
	o := thing().Operation
	w, err := o.WriteArguments([]byte(`{"note":null,"title":"a/b","limit":7,"id":"` + thingID + `","after":"2027-03-31","for":null,"tags":["x"]}`))
	if err != nil || w.Method != "PATCH" || w.Target != "/api/things/"+thingID+"?after=2027-03-31&limit=7" || string(w.Body) != `{"title":"a/b","note":null,"tags":["x"]}` {
		t.Fatalf("%+v %s %v", w, w.Body, err)
	}
	for text, field := range map[string]string{
		``: "id", `null`: "id", `{"id":null}`: "id", `{"id":""}`: "id", `{"id":".."}`: "id", `{"id":"a/../b"}`: "id", `{"id":1}`: "id", `{"id":"x","limit":"7"}`: "limit", `{"id":"x","limit":true}`: "limit",
		`{"id":"x","stranger":1}`: "stranger", `{"id":"x","ID":"y"}`: "ID", `{"id":"x","id":"y"}`: "id", `[]`: "body", `{`: "body", `{"id":"x"} {}`: "body", `{"id":"x","after":"\u0000"}`: "after",
	} {
		if _, err := o.WriteArguments([]byte(text)); !fault.HasCode(err, fault.CodeValidation) || fault.From(err).Field != field {
			t.Errorf("%s: %v, want a fault of %s", text, err, field)
		}
	}
}

// A proxy may resolve dot segments, which would lead to another route.
func TestPathParam_RejectsDotSegments(t *testing.T) {
	t.Parallel()
	for _, id := range []UUID{"", ".", "..", "../", "a/../b", "../../auth/me"} {
		if w, err := thing().Write(&thingIn{ID: id, Title: "t"}); fault.From(err) == nil || fault.From(err).Field != "id" {
			t.Errorf("ID %q: got target %q, %v, want a fault of id", id, w.Target, err)
		}
	}
}

func FuzzWriteArguments(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"id":"` + thingID + `","title":"t"}`, `{"id":"a/../b","limit":9,"title":"x"}`, `{"id":"?#%2e%2e/{id}","tags":[]}`, `{"id":"x","id":"y"}`, `[]`, `{"id":"\ud800"}`} {
		f.Add([]byte(seed))
	}
	o := thing().Operation
	f.Fuzz(func(t *testing.T, text []byte) {
		w, err := o.WriteArguments(text)
		if err != nil {
			if !fault.HasCode(err, fault.CodeValidation) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		u, err := url.Parse(w.Target)
		if err != nil || u.Host != "" || u.Fragment != "" {
			t.Fatalf("WriteArguments(%q): got target %q (%v)", text, w.Target, err)
		}
		if parts := strings.Split(u.EscapedPath(), "/"); len(parts) != 4 || parts[1] != "api" || parts[2] != "things" || parts[3] == "" || parts[3] == "." || parts[3] == ".." {
			t.Fatalf("WriteArguments(%q): got target %q", text, w.Target)
		}
		for name := range u.Query() {
			if !slices.Contains([]string{"limit", "after", "for", "search", "action", "kind", "from", "open", "cursor"}, name) {
				t.Fatalf("WriteArguments(%q): got target %q", text, w.Target)
			}
		}
	})
}

func TestTaskKeyPrefix_IsTextBeforeNumber(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"HW-3": "HW", "hw2-17": "hw2", "Apollo12345-1": "", "H-3": "", "2W-3": "", "HW-": "", "HW-3a": "", "HW-3-4": "", "HW": "", "": "", "HW-3\n": "",
	} {
		if got := TaskKeyPrefix(key); got != want {
			t.Errorf("TaskKeyPrefix(%q): got %q, want %q", key, got, want)
		}
	}
}

func TestSingular_IsInverseOfPlural(t *testing.T) {
	t.Parallel()
	for plural, singular := range map[string]string{
		"tasks": "task", "keys": "key", "audit entries": "audit entry", "dependencies": "dependency", "people": "person", "criteria": "criterion", "epic children": "epic child",
	} {
		if s, p := Singular(plural), Plural(singular); s != singular || p != plural {
			t.Errorf("got Singular(%q) %q and Plural(%q) %q, want the other word", plural, s, singular, p)
		}
	}
}
