package op_test

import (
	"errors"
	"slices"
	"testing"

	"parapet/internal/fault"
	"parapet/internal/op"
)

// boatRow is a record with one field for each way to set a field.
type boatRow struct {
	Name  string
	Seats int
	Note  string
	Owner *string
	Tags  []string
}

type boatUpdate struct {
	Name  op.Opt[string]
	Seats op.Opt[int]
	Note  op.Opt[string]
	Owner op.Opt[string]
	Tags  op.Opt[[]string]
}

func (r *boatRow) apply(in boatUpdate) ([]string, error) {
	var p op.Patch
	op.SetTrimmed(&p, "name", &r.Name, in.Name)
	op.Set(&p, "seats", &r.Seats, in.Seats)
	op.SetOrClear(&p, "note", &r.Note, in.Note)
	op.SetOptional(&p, "owner", &r.Owner, in.Owner)
	op.SetOrClear(&p, "tags", &r.Tags, in.Tags)
	return p.Changed()
}

func TestPatch(t *testing.T) {
	t.Parallel()
	anna, ben := "anna", "ben"
	old := func() boatRow {
		owner := anna
		return boatRow{Name: "Ada", Seats: 4, Note: "old", Owner: &owner, Tags: []string{"a"}}
	}
	for name, c := range map[string]struct {
		in      boatUpdate
		want    func(*boatRow)
		changed []string
		field   string
	}{
		"absent fields do not change":      {},
		"equal values are not changes":     {in: boatUpdate{Name: op.Some(" Ada "), Seats: op.Some(4), Owner: op.Some("anna"), Tags: op.Some([]string{"a"})}},
		"all fields change in order":       {in: boatUpdate{Name: op.Some("Eva"), Seats: op.Some(5), Note: op.Some("new"), Owner: op.Some("ben"), Tags: op.Some([]string{"b"})}, want: func(r *boatRow) { *r = boatRow{"Eva", 5, "new", &ben, []string{"b"}} }, changed: []string{"name", "seats", "note", "owner", "tags"}},
		"null clears":                      {in: boatUpdate{Note: op.Clear[string](), Owner: op.Clear[string](), Tags: op.Clear[[]string]()}, want: func(r *boatRow) { r.Note, r.Owner, r.Tags = "", nil, nil }, changed: []string{"note", "owner", "tags"}},
		"the zero value clears an option":  {in: boatUpdate{Owner: op.Some("")}, want: func(r *boatRow) { r.Owner = nil }, changed: []string{"owner"}},
		"null in a required field":         {in: boatUpdate{Seats: op.Clear[int]()}, field: "seats"},
		"null in a required text":          {in: boatUpdate{Name: op.Clear[string]()}, field: "name"},
		"blank text":                       {in: boatUpdate{Name: op.Some(" \t")}, field: "name"},
		"the first of two errors is named": {in: boatUpdate{Name: op.Some(""), Seats: op.Clear[int]()}, field: "name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row, want := old(), old()
			changed, err := row.apply(c.in)
			if c.field != "" {
				var f *fault.Error
				if !fault.HasCode(err, fault.CodeValidation) || !errors.As(err, &f) || f.Field != c.field {
					t.Fatalf("got error %v, want a validation error of the field %s", err, c.field)
				}
				return
			}
			if c.want != nil {
				c.want(&want)
			}
			if err != nil || !slices.Equal(changed, c.changed) {
				t.Errorf("got changed fields %q and error %v, want %q", changed, err, c.changed)
			}
			if row.Name != want.Name || row.Seats != want.Seats || row.Note != want.Note || !slices.Equal(row.Tags, want.Tags) ||
				(row.Owner == nil) != (want.Owner == nil) || row.Owner != nil && *row.Owner != *want.Owner {
				t.Errorf("got %+v, want %+v", row, want)
			}
		})
	}
}

func TestPatch_WatchSeesLaterChange(t *testing.T) {
	t.Parallel()
	row := boatRow{Name: "Ada", Tags: []string{}}
	var p op.Patch
	op.Watch(&p, "name", &row.Name)
	op.Watch(&p, "seats", &row.Seats)
	op.Watch(&p, "tags", &row.Tags)
	row.Name, row.Tags = "Eva", nil
	if changed, err := p.Changed(); err != nil || !slices.Equal(changed, []string{"name"}) {
		t.Errorf("got %q and error %v, want only name: an empty list equals a missing one", changed, err)
	}
}
