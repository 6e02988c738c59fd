package identity

import (
	"strings"
	"testing"
	"time"

	contract "parapet/internal/contract/identity"
)

// What is accepted as a zone is one, and is no path.
func FuzzTimeZone(f *testing.F) {
	for _, seed := range []string{"UTC", "Europe/Rome", "America/Argentina/Buenos_Aires", "Etc/GMT+1", "Local", "", "../UTC", "/etc/passwd", "Europe//Rome", "UTC\x00", "zone.tab"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if checkTimeZone(name) != nil {
			return
		}
		if _, err := time.LoadLocation(name); err != nil || name == "Local" || name == "" || len(name) > 64 || strings.Contains(name, "..") {
			t.Errorf("%q is accepted: %v", name, err)
		}
	})
}

// No address is both a person's and a synthetic agent's.
func FuzzAddressOfAnAgent(f *testing.F) {
	for _, seed := range []string{"agent+coder@acme.example", "Agent+X@acme.example", "agent+@acme.example", "agent@acme.example", "a@b", "agent+x@", "@", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, email string) {
		person, agent := checkEmail("email", contract.KindHuman, email) == nil, checkEmail("email", contract.KindAgent, email) == nil
		if person == agent {
			t.Errorf("%q: a person's %t, an agent's %t", email, person, agent)
		}
		if agent && (!strings.HasPrefix(strings.ToLower(email), "agent+") || !strings.Contains(email, "@")) {
			t.Errorf("%q is taken for an agent's", email)
		}
		if checkEmail("email", contract.KindService, email) == nil {
			t.Errorf("%q can be given to a service principal", email)
		}
	})
}
