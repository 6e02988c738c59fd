package identity

import (
	"fmt"
	"testing"
	"time"
)

func TestThrottle_RefillsOverTime(t *testing.T) {
	t.Parallel()
	limits := Throttle{Account: Limit{Burst: 2, Every: time.Minute}, Address: Limit{Burst: 100, Every: time.Second}}
	th := newThrottle(limits)
	now := time.Unix(1_700_000_000, 0)
	take := func(at time.Time) (time.Duration, bool) { return th.consume("a@x.example", "192.0.2.1", at) }
	for range 2 {
		if _, ok := take(now); !ok {
			t.Fatal("consume within the burst: got false")
		}
	}
	wait, ok := take(now.Add(15 * time.Second))
	if ok || wait != 45*time.Second {
		t.Errorf("got wait %s, %v, want 45s", wait, ok)
	}
	if _, ok := take(now.Add(59 * time.Second)); ok {
		t.Error("consume one second early: got true")
	}
	if _, ok := take(now.Add(60 * time.Second)); !ok {
		t.Error("consume after the wait: got false")
	}
	// A long pause gives at most the burst. A clock that goes back gives no attempts.
	late := now.Add(24 * time.Hour)
	for i := range 3 {
		if _, ok := take(late); ok != (i < 2) {
			t.Errorf("attempt %d after a day: got %v", i, ok)
		}
	}
	if _, ok := take(now); ok {
		t.Error("consume with a clock that went back: got true")
	}
}

// An attempt that the limit of the account rejects does not count for the address, and the
// reverse.
func TestThrottle_RejectedAttemptCountsForNeitherAccountNorAddress(t *testing.T) {
	t.Parallel()
	th := newThrottle(Throttle{Account: Limit{Burst: 1, Every: time.Hour}, Address: Limit{Burst: 2, Every: time.Hour}})
	now := time.Unix(1_700_000_000, 0)
	for i, c := range []struct {
		account, address string
		ok               bool
	}{
		{"a", "192.0.2.1", true}, {"a", "192.0.2.1", false}, {"a", "192.0.2.1", false}, {"b", "192.0.2.1", true},
		{"c", "192.0.2.1", false}, {"c", "192.0.2.2", true}, {"A", "192.0.2.3", false},
	} {
		if _, ok := th.consume(c.account, c.address, now); ok != c.ok {
			t.Errorf("attempt %d of account %s from %s: got %v", i, c.account, c.address, ok)
		}
	}
}

func TestThrottle_IsBoundedInSize(t *testing.T) {
	t.Parallel()
	th := newThrottle(DefaultThrottle())
	now := time.Unix(1_700_000_000, 0)
	for i := range 3 * throttleSize {
		th.consume(fmt.Sprint(i), fmt.Sprint("10.0.", i/250, ".", i%250), now)
	}
	if n := len(th.currentGeneration) + len(th.previousGeneration); n > throttleSize {
		t.Errorf("got %d buckets, want at most throttleSize", n)
	}
}

// All IPv6 addresses of a /64 share a key, and so do both spellings of an IPv4 address.
func TestAddressKey_GroupsAddressesOfOneClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true}, {"2001:db8:1:2::1", "2001:db8:1:3::1", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true}, {"192.0.2.1", "192.0.2.2", false}, {"fe80::1%eth0", "fe80::1%eth1", true},
	} {
		if got := addressKey(c.a) == addressKey(c.b); got != c.same {
			t.Errorf("addressKey(%s) == addressKey(%s): got %v", c.a, c.b, got)
		}
	}
}

func FuzzTokenRoles(f *testing.F) {
	f.Add("A", "tenant", "", "A", "project", "1")
	f.Add("A", "project", "1", "A", "tenant", "")
	f.Add("A", "project", "1", "B", "organisation", "2")
	f.Fuzz(func(t *testing.T, n1, s1, i1, n2, s2, i2 string) {
		held := []heldRole{{Name: n1, Scope: s1, ScopeID: i1}, {Name: n2, Scope: s2, ScopeID: i2}}
		roles, scopes := tokenRoles(held, nil)
		for name := range scopes {
			for _, h := range held {
				if h.Name == name && h.Scope == "tenant" {
					t.Errorf("role %q is held in the whole tenant: got scopes %v, want none", name, scopes[name])
				}
			}
		}
		for _, name := range roles {
			isTenantWide := false
			for _, h := range held {
				isTenantWide = isTenantWide || (h.Name == name && h.Scope == "tenant")
			}
			if !isTenantWide && len(scopes[name]) == 0 {
				t.Errorf("role %q is not held in the whole tenant: got no scopes", name)
			}
		}
	})
}
