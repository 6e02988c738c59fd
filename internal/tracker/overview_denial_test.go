package tracker

import (
	"errors"
	"testing"

	"parapet/internal/fault"
)

// A failed decision also returns FORBIDDEN, but the overview must return it as an error.
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
			t.Errorf("isDenial(%v): got %t, want %t", c.err, got, c.want)
		}
	}
}
