package principal

import (
	"fmt"
	"testing"
	"time"

	"parapet/internal/op"
)

func TestCache_IsBoundedInSizeAndTime(t *testing.T) {
	t.Parallel()
	c := newCache[string, int](10, time.Minute)
	now := time.Now()
	for i := range 1000 {
		c.put(fmt.Sprint(i), i, now, c.currentEpoch())
		if c.len() > 10 {
			t.Fatalf("got %d entries, want at most 10", c.len())
		}
	}
	if v, ok := c.get("999", now); !ok || v != 999 {
		t.Error("get: last entry not found")
	}
	if _, ok := c.get("999", now.Add(time.Minute)); ok {
		t.Error("get: found an entry after its TTL")
	}
}

// A value that was read before a notification and is stored after it must be discarded.
func TestCache_DiscardsValueLoadedBeforeDrop(t *testing.T) {
	t.Parallel()
	c := newCache[string, int](10, time.Minute)
	now := time.Now()
	epoch := c.currentEpoch()
	c.drop(func(string, int) bool { return true })
	c.put("a", 1, now, epoch)
	if _, ok := c.get("a", now); ok {
		t.Error("get: found a value loaded before the drop")
	}
	c.put("a", 1, now, c.currentEpoch())
	if _, ok := c.get("a", now); !ok {
		t.Error("get: value loaded after the drop not found")
	}
}

func TestCache_WithZeroTTL_StoresNothing(t *testing.T) {
	t.Parallel()
	c := newCache[string, int](10, 0)
	c.put("a", 1, time.Now(), c.currentEpoch())
	if c.len() != 0 {
		t.Error("got an entry in a cache with TTL 0")
	}
}

func TestCacheTTL_IsClampedToLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ set, limit, want time.Duration }{
		{DefaultCacheTTL, MaxCacheTTL, 30 * time.Second},
		{time.Hour, time.Hour, time.Minute},
		{45 * time.Second, 10 * time.Second, 10 * time.Second},
		{0, MaxCacheTTL, 0}, {time.Second, 0, 0}, {-time.Second, MaxCacheTTL, 0},
	} {
		if got := CacheTTL(c.set, c.limit); got != c.want {
			t.Errorf("CacheTTL(%s, %s) = %s, want %s", c.set, c.limit, got, c.want)
		}
	}
}

// A notification that cannot be parsed must not crash the checker and must clear its caches.
func FuzzParseNotification(f *testing.F) {
	f.Add(`{"kind":"api_key","tenant":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f","jti":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e40"}`)
	f.Add(`{"kind":"grants","tenant":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"}`)
	f.Add(`{"kind":"membership"}`)
	f.Add(`{`)
	f.Fuzz(func(t *testing.T, payload string) {
		c := &Checker{
			records: newCache[op.UUID, credentialRecord](8, time.Minute), targets: newCache[targetKey, op.UUID](8, time.Minute),
			subjects: newCache[subjectKey, *Principal](8, time.Minute),
		}
		c.records.put("018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e99", credentialRecord{}, time.Now(), 0)
		n, err := parseNotification(payload)
		c.applyNotification(n, err)
		if err != nil && c.records.len() != 0 {
			t.Errorf("invalid notification %q: cache was not cleared", payload)
		}
	})
}
