package op

import (
	"testing"

	"parapet/internal/fault"
)

type versionedIn struct {
	ID        UUID `path:"id" doc:"The thing."`
	IfVersion *int `json:"ifVersion" minimum:"0" doc:"The version."`
}

type existingIn struct {
	ID        UUID `path:"id" doc:"The thing."`
	IfVersion *int `query:"ifVersion" minimum:"1" doc:"The version."`
}

func TestRead_PreconditionHeadersSetIfVersion(t *testing.T) {
	t.Parallel()
	change := New[versionedIn, thingOut](Spec{Name: "change-thing", Module: "tracker", Method: "PUT", Path: "/api/things/{id}", Permission: "thing.update", Effect: Write, Summary: "Changes a thing."})
	remove := New[existingIn, None](Spec{Name: "delete-thing", Module: "tracker", Method: "DELETE", Path: "/api/things/{id}", Permission: "thing.update", Effect: Destroy, Summary: "Deletes a thing."})
	version := func(n int) *int { return &n }
	for _, c := range []struct {
		name, ifMatch, ifNoneMatch, body string
		want                             *int
		field                            string
	}{
		{"no header", "", "", `{}`, nil, ""},
		{"field", "", "", `{"ifVersion":3}`, version(3), ""},
		{"If-Match", `"3"`, "", `{}`, version(3), ""},
		{"If-None-Match", "", "*", `{}`, version(0), ""},
		{"both headers", `"3"`, "*", `{}`, nil, "ifVersion"},
		{"header and field", `"3"`, "", `{"ifVersion":3}`, nil, "ifVersion"},
		{"any version", `*`, "", `{}`, nil, "If-Match"},
		{"weak tag", `W/"3"`, "", `{}`, nil, "If-Match"},
		{"two tags", `"3", "4"`, "", `{}`, nil, "If-Match"},
		{"no quotes", `3`, "", `{}`, nil, "If-Match"},
		{"empty tag", `""`, "", `{}`, nil, "If-Match"},
		{"sign", `"-3"`, "", `{}`, nil, "If-Match"},
		{"no number", `"abc"`, "", `{}`, nil, "If-Match"},
		{"too large", `"99999999999999999999"`, "", `{}`, nil, "If-Match"},
		{"If-None-Match with a tag", "", `"3"`, `{}`, nil, "If-None-Match"},
	} {
		path := func(string) string { return thingID }
		in, err := change.Read(Raw{Path: path, Body: []byte(c.body), IfMatch: c.ifMatch, IfNoneMatch: c.ifNoneMatch})
		var got *int
		if err == nil {
			got = in.(*versionedIn).IfVersion
		}
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want || (c.field != "") != (err != nil) || err != nil && fault.From(err).Field != c.field {
			t.Errorf("%s: got %v, %v; want %v or an error about %q", c.name, got, err, c.want, c.field)
		}
		if c.body != `{}` {
			continue
		}
		in, err = remove.Read(Raw{Path: path, IfMatch: c.ifMatch, IfNoneMatch: c.ifNoneMatch})
		switch {
		case c.ifNoneMatch != "":
			if err == nil {
				t.Errorf("%s: a deletion accepts If-None-Match", c.name)
			}
		case err == nil && c.want != nil && *in.(*existingIn).IfVersion != *c.want, (err != nil) != (c.field != ""):
			t.Errorf("%s: deletion: got %v, %v", c.name, in, err)
		}
	}
	// Other operations ignore the headers.
	if _, err := thing().Read(Raw{Path: func(string) string { return thingID }, Body: []byte(`{"title":"x"}`), IfMatch: "x", IfNoneMatch: "x"}); err != nil {
		t.Errorf("operation without ifVersion: %v", err)
	}
}
