package tracker

import (
	"errors"
	"testing"

	"parapet/internal/fault"
)

// A decision that could not be made denies as well, but it is no refusal that an
// overview may be reduced for.
func TestIsDenial(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fault.Forbidden("projects.read"), true},
		{fault.Forbidden("projects.read").WithCause(errors.New("the engine is out of time")), false},
		{fault.NotFound("project"), false}, {fault.Unavailable(nil), false}, {nil, false},
	} {
		if got := isDenial(c.err); got != c.want {
			t.Errorf("%v: %t, want %t", c.err, got, c.want)
		}
	}
}
