package identity

import (
	"strings"
	"testing"
	"time"

	contract "parapet/internal/contract/identity"
)

// An accepted time zone can be loaded and is not a path.
func FuzzTimeZone(f *testing.F) {
	for _, seed := range []string{"UTC", "Europe/Rome", "America/Argentina/Buenos_Aires", "Etc/GMT+1", "Local", "", "../UTC", "/etc/passwd", "Europe//Rome", "UTC\x00", "zone.tab"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if checkTimeZone(name) != nil {
			return
		}
		if _, err := time.LoadLocation(name); err != nil || name == "Local" || name == "" || len(name) > 64 || strings.Contains(name, "..") {
			t.Errorf("checkTimeZone(%q): accepted, but it is not a time zone: %v", name, err)
		}
	})
}

// An address is valid either for a person or for an agent.
func FuzzCheckEmail(f *testing.F) {
	for _, seed := range []string{"agent+coder@acme.example", "Agent+X@acme.example", "agent+@acme.example", "agent@acme.example", "a@b", "agent+x@", "@", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, email string) {
		person, agent := checkEmail("email", contract.KindHuman, email) == nil, checkEmail("email", contract.KindAgent, email) == nil
		if person == agent {
			t.Errorf("checkEmail(%q): got valid for a person = %t and for an agent = %t, want one of them", email, person, agent)
		}
		if agent && (!strings.HasPrefix(strings.ToLower(email), "agent+") || !strings.Contains(email, "@")) {
			t.Errorf("checkEmail(%q): accepted as an agent's address", email)
		}
		if checkEmail("email", contract.KindService, email) == nil {
			t.Errorf("checkEmail(%q): accepted for a service principal", email)
		}
	})
}
