package identity

import (
	"fmt"
	"testing"
	"time"
)

func TestThrottleRefills(t *testing.T) {
	t.Parallel()
	limits := Throttle{Account: Limit{Burst: 2, Every: time.Minute}, Address: Limit{Burst: 100, Every: time.Second}}
	th := newThrottle(limits)
	now := time.Unix(1_700_000_000, 0)
	take := func(at time.Time) (time.Duration, bool) { return th.consume("a@x.example", "192.0.2.1", at) }
	for range 2 {
		if _, ok := take(now); !ok {
			t.Fatal("refused within the burst")
		}
	}
	wait, ok := take(now.Add(15 * time.Second))
	if ok || wait != 45*time.Second {
		t.Errorf("wait %s, %v", wait, ok)
	}
	if _, ok := take(now.Add(59 * time.Second)); ok {
		t.Error("allowed a second early")
	}
	if _, ok := take(now.Add(60 * time.Second)); !ok {
		t.Error("refused after the wait")
	}
	// Never more than the burst, however long nobody came; time does not run back.
	late := now.Add(24 * time.Hour)
	for i := range 3 {
		if _, ok := take(late); ok != (i < 2) {
			t.Errorf("attempt %d after a day: %v", i, ok)
		}
	}
	if _, ok := take(now); ok {
		t.Error("a clock that went back gave an attempt")
	}
}

// What is refused for the account costs the address nothing, and the other way.
func TestThrottleTakesBothOrNone(t *testing.T) {
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
			t.Errorf("attempt %d of %s from %s: %v", i, c.account, c.address, ok)
		}
	}
}

func TestThrottleIsBounded(t *testing.T) {
	t.Parallel()
	th := newThrottle(DefaultThrottle())
	now := time.Unix(1_700_000_000, 0)
	for i := range 3 * throttleSize {
		th.consume(fmt.Sprint(i), fmt.Sprint("10.0.", i/250, ".", i%250), now)
	}
	if n := len(th.currentGeneration) + len(th.previousGeneration); n > throttleSize {
		t.Errorf("%d buckets", n)
	}
}

// One client's many IPv6 addresses are one bucket, and an IPv4 address is the
// same in both spellings.
func TestAddressKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true}, {"2001:db8:1:2::1", "2001:db8:1:3::1", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true}, {"192.0.2.1", "192.0.2.2", false}, {"fe80::1%eth0", "fe80::1%eth1", true},
	} {
		if got := addressKey(c.a) == addressKey(c.b); got != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	f.Add("A", "tenant", "", "A", "project", "1")
	f.Add("A", "project", "1", "A", "tenant", "")
	f.Add("A", "project", "1", "B", "organisation", "2")
	f.Fuzz(func(t *testing.T, n1, s1, i1, n2, s2, i2 string) {
		held := []heldRole{{Name: n1, Scope: s1, ScopeID: i1}, {Name: n2, Scope: s2, ScopeID: i2}}
		roles, scopes := tokenRoles(held, nil)
		for name := range scopes {
			for _, h := range held {
				if h.Name == name && h.Scope == "tenant" {
					t.Errorf("%q is held in the whole tenant and is narrowed to %v", name, scopes[name])
				}
			}
		}
		for _, name := range roles {
			wide := false
			for _, h := range held {
				wide = wide || (h.Name == name && h.Scope == "tenant")
			}
			if !wide && len(scopes[name]) == 0 {
				t.Errorf("%q is held narrowly and the token would say tenant-wide", name)
			}
		}
	})
}
