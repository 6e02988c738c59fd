package principal

import (
	"fmt"
	"testing"
	"time"

	"parapet/internal/op"
)

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache[string, int](10, time.Minute)
	now := time.Now()
	for i := range 1000 {
		c.put(fmt.Sprint(i), i, now, c.start())
		if c.len() > 10 {
			t.Fatalf("%d entries", c.len())
		}
	}
	if v, ok := c.get("999", now); !ok || v != 999 {
		t.Error("the last entry is gone")
	}
	if _, ok := c.get("999", now.Add(time.Minute)); ok {
		t.Error("an entry outlived its time")
	}
}

// A value that was read before a notice and arrives after it is not kept.
func TestCacheRefusesWhatADropOvertook(t *testing.T) {
	t.Parallel()
	c := newCache[string, int](10, time.Minute)
	now := time.Now()
	epoch := c.start()
	c.drop(func(string, int) bool { return true })
	c.put("a", 1, now, epoch)
	if _, ok := c.get("a", now); ok {
		t.Error("a value from before the drop is kept")
	}
	c.put("a", 1, now, c.start())
	if _, ok := c.get("a", now); !ok {
		t.Error("a value from after the drop is not kept")
	}
}

func TestCacheThatRemembersNothing(t *testing.T) {
	t.Parallel()
	c := newCache[string, int](10, 0)
	c.put("a", 1, time.Now(), c.start())
	if c.len() != 0 {
		t.Error("it remembers")
	}
}

func TestCacheTTLIsClamped(t *testing.T) {
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

// Whatever a notice holds, the checker goes on, and what it cannot read costs it
// all that it remembers.
func FuzzHear(f *testing.F) {
	f.Add(`{"kind":"api_key","tenant":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f","jti":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e40"}`)
	f.Add(`{"kind":"grants","tenant":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"}`)
	f.Add(`{"kind":"membership"}`)
	f.Add(`{`)
	f.Fuzz(func(t *testing.T, payload string) {
		c := &Checker{
			live: newCache[op.UUID, liveRecord](8, time.Minute), targets: newCache[targetKey, op.UUID](8, time.Minute),
			subjects: newCache[subjectKey, *Principal](8, time.Minute),
		}
		c.live.put("018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e99", liveRecord{}, time.Now(), 0)
		n, err := parseNotification(payload)
		c.apply(n, err)
		if err != nil && c.live.len() != 0 {
			t.Errorf("%q cannot be read and left what is remembered", payload)
		}
	})
}
