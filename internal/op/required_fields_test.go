package op_test

import (
	"reflect"
	"testing"

	"parapet/internal/contract"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

func TestFillRequiredFields_SetsDefaultsAndRequiredFieldsExceptIDs(t *testing.T) {
	t.Parallel()
	for _, o := range contract.Operations() {
		in := reflect.New(o.In)
		if err := o.FillRequiredFields(in.Interface()); err != nil {
			t.Errorf("%s: %v", o.Name, err)
			continue
		}
		for _, f := range o.Fields {
			v, value := in.Elem().Field(f.Index), f.Value()
			if value.Kind() == reflect.Slice {
				value = value.Elem()
			}
			isID := value == reflect.TypeFor[op.UUID]()
			switch {
			case isID && !v.IsZero():
				t.Errorf("%s: got the id %v in %s, want none", o.Name, v, f.Name)
			case !isID && f.Required && f.Source == op.FromBody && v.IsZero() && value.Kind() != reflect.Bool && value.Kind() != reflect.Int:
				t.Errorf("%s: got no value of the required field %s", o.Name, f.Name)
			}
		}
	}
	in := &tracker.CreateProjectIn{Name: "Kept"}
	if err := tracker.CreateProject.FillRequiredFields(in); err != nil || in.Name != "Kept" || in.Classification != "UNCLASSIFIED" {
		t.Errorf("got %v and %+v, want the given name and the default classification", err, in)
	}
}
