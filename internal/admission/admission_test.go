package admission_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"parapet/internal/admission"
)

// limits are small enough to fill by hand: 8 slots, 1 for system work, at most 5
// writers; a tenant has 3 slots, 2 of them for writers, and a queue of 4.
func limits() admission.Limits {
	return admission.Limits{Slots: 8, Reserve: 1, Writers: 5, Bulk: 2, Share: 3, ShareWriters: 2, ShareBulk: 1, Queue: 4}
}

func mustEnter(t *testing.T, q *admission.Queue, tenant string, lane admission.Lane) *admission.Slot {
	t.Helper()
	s, err := q.Enter(tenant, lane)
	if err != nil {
		t.Fatalf("Enter(%s, %s): %v", tenant, lane, err)
	}
	return s
}

func isGranted(s *admission.Slot) bool {
	select {
	case <-s.Granted():
		return true
	default:
		return false
	}
}

// countGranted lets n callers of a tenant enter a lane and counts the slots that are granted
// immediately.
func countGranted(t *testing.T, q *admission.Queue, tenant string, lane admission.Lane, n int) int {
	t.Helper()
	count := 0
	for range n {
		if isGranted(mustEnter(t, q, tenant, lane)) {
			count++
		}
	}
	return count
}

func TestQueue_LimitsEachLane(t *testing.T) {
	t.Parallel()
	type step struct {
		tenant string
		lane   admission.Lane
		callers,
		granted int
	}
	for name, steps := range map[string][]step{
		"a tenant gets at most its share": {{"a", admission.Read, 4, 3}, {"b", admission.Read, 4, 3}},
		"writers leave a slot of the share for reads": {
			{"a", admission.Write, 4, 2}, {"a", admission.Read, 1, 1}, {"a", admission.Read, 1, 0},
		},
		"bulk work is limited within the share": {
			{"a", admission.Bulk, 3, 1}, {"a", admission.Write, 1, 1}, {"a", admission.Read, 1, 1},
		},
		"all writers together leave slots for reads": {
			{"a", admission.Write, 2, 2}, {"b", admission.Write, 2, 2}, {"c", admission.Write, 2, 1}, {"d", admission.Write, 1, 0},
			{"d", admission.Read, 2, 2}, {"e", admission.Read, 1, 0},
		},
		"bulk work of all tenants is limited": {
			{"a", admission.Bulk, 1, 1}, {"b", admission.Bulk, 1, 1}, {"c", admission.Bulk, 1, 0}, {"c", admission.Write, 1, 1},
		},
		"reserved slots are for system work": {
			{"a", admission.Read, 3, 3}, {"b", admission.Read, 3, 3}, {"c", admission.Read, 2, 1}, {"", admission.Read, 2, 1},
		},
		"system work has no share limit": {{"", admission.Write, 9, 8}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := admission.New(limits())
			for i, s := range steps {
				if got := countGranted(t, q, s.tenant, s.lane, s.callers); got != s.granted {
					t.Errorf("step %d: %d of %d callers of %q got a slot for a %s, want %d", i, got, s.callers, s.tenant, s.lane, s.granted)
				}
			}
		})
	}
}

func TestQueue_FullQueueOfATenant_ReturnsErrFull(t *testing.T) {
	t.Parallel()
	q := admission.New(limits())
	countGranted(t, q, "a", admission.Write, 2+4)
	if _, err := q.Enter("a", admission.Write); !errors.Is(err, admission.ErrFull) {
		t.Errorf("Enter of a fifth waiting writer: got %v, want ErrFull", err)
	}
	if isGranted(mustEnter(t, q, "a", admission.Bulk)) {
		t.Error("Enter of bulk work: got a slot beyond the tenant's writer share")
	}
	if !isGranted(mustEnter(t, q, "a", admission.Read)) {
		t.Error("Enter of a reader: got no slot while the tenant's writer queue is full")
	}
	if !isGranted(mustEnter(t, q, "b", admission.Write)) {
		t.Error("Enter of another tenant: got no slot")
	}
	s := q.Stats(admission.Write)
	if s.Held != 3 || s.Waiting != 4 || s.Full != 1 || q.Stats(admission.Bulk).Waiting != 1 {
		t.Errorf("Stats: got %+v, want 3 held slots, 4 waiting writers, 1 full queue and 1 waiting bulk caller", s)
	}
}

func TestQueue_ServesTenantsInTurn(t *testing.T) {
	t.Parallel()
	l := limits()
	l.Slots, l.Reserve, l.Queue = 3, 0, 100
	q := admission.New(l)
	holders := []*admission.Slot{}
	for range 3 {
		holders = append(holders, mustEnter(t, q, "a", admission.Read))
	}
	waiting := map[*admission.Slot]string{}
	add := func(tenant string, n int) {
		for range n {
			waiting[mustEnter(t, q, tenant, admission.Read)] = tenant
		}
	}
	add("a", 50)
	add("b", 2)
	add("c", 1)
	var order []string
	for i := 0; len(order) < 6; i++ {
		holders[i].Leave()
		for s, tenant := range waiting {
			if isGranted(s) {
				order = append(order, tenant)
				holders = append(holders, s)
				delete(waiting, s)
			}
		}
	}
	// Each tenant gets one grant per round, although a entered first with fifty callers.
	if want := []string{"a", "b", "c", "a", "b", "a"}; !reflect.DeepEqual(order, want) {
		t.Errorf("serving order: got %v, want %v", order, want)
	}
}

// TestQueue_KeepsTheTurnWhenATenantLeaves lets all waiting callers of a tenant leave:
// a tenant before the next one, the next one itself, and one after it.
func TestQueue_KeepsTheTurnWhenATenantLeaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// served is how many callers of a, b, c and d (two each) are served before the tenants in leaves leave.
		served int
		leaves string
		want   string
	}{
		"no tenant leaves":                           {2, "", "cdabcd"},
		"the first served tenant":                    {2, "a", "cdbcd"},
		"the last served tenant":                     {2, "b", "cdacd"},
		"all served tenants":                         {2, "ab", "cdcd"},
		"the next tenant":                            {2, "c", "dabd"},
		"a tenant that was not served yet":           {2, "d", "cabc"},
		"the tenants before and after the next one":  {2, "bd", "cac"},
		"a served tenant while the last one is next": {3, "a", "dbcd"},
		"the last tenant while it is next":           {3, "d", "abc"},
		"every tenant except the first":              {3, "bcd", "a"},
		"a tenant before any is served":              {0, "a", "bcdbcd"},
		"a tenant after each was served once":        {4, "a", "bcd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := admission.New(admission.Limits{Slots: 1, Share: 1, Queue: 2})
			holder := mustEnter(t, q, "", admission.Read)
			waiting := map[string][]*admission.Slot{}
			for range 2 {
				for _, tenant := range []string{"a", "b", "c", "d"} {
					waiting[tenant] = append(waiting[tenant], mustEnter(t, q, tenant, admission.Read))
				}
			}
			serve := func() string {
				holder.Leave()
				for tenant, slots := range waiting {
					if len(slots) > 0 && isGranted(slots[0]) {
						holder, waiting[tenant] = slots[0], slots[1:]
						return tenant
					}
				}
				return ""
			}
			for range c.served {
				serve()
			}
			for _, tenant := range c.leaves {
				for _, s := range waiting[string(tenant)] {
					s.Leave()
				}
				delete(waiting, string(tenant))
			}
			var order string
			for next := serve(); next != ""; next = serve() {
				order += next
			}
			if order != c.want {
				t.Errorf("serving order: got %s, want %s", order, c.want)
			}
		})
	}
}

func TestQueue_ServesLanesOfATenantInTurn(t *testing.T) {
	t.Parallel()
	q := admission.New(admission.Limits{Slots: 1, Writers: 1, Bulk: 1, Share: 1, ShareWriters: 1, ShareBulk: 1, Queue: 9})
	holder := mustEnter(t, q, "a", admission.Read)
	reads := []*admission.Slot{mustEnter(t, q, "a", admission.Read), mustEnter(t, q, "a", admission.Read)}
	write, bulk := mustEnter(t, q, "a", admission.Write), mustEnter(t, q, "a", admission.Bulk)
	for i, want := range []*admission.Slot{reads[0], write, bulk, reads[1]} {
		holder.Leave()
		if !isGranted(want) {
			t.Fatalf("turn %d: the slot was granted to another lane", i)
		}
		holder = want
	}
}

func TestSlot_LeaveIsIdempotentAndFreesTheQueuePosition(t *testing.T) {
	t.Parallel()
	q := admission.New(admission.Limits{Slots: 1, Writers: 1, Bulk: 1, Share: 1, ShareWriters: 1, ShareBulk: 1, Queue: 1})
	holder, waiter := mustEnter(t, q, "a", admission.Read), mustEnter(t, q, "a", admission.Read)
	waiter.Leave()
	waiter.Leave()
	next := mustEnter(t, q, "a", admission.Read)
	holder.Leave()
	holder.Leave()
	if isGranted(waiter) || !isGranted(next) {
		t.Error("Leave: the slot was granted to a caller that had left")
	}
	if isGranted(mustEnter(t, q, "a", admission.Read)) {
		t.Error("two calls of Leave freed two slots")
	}
}

func TestQueue_AcquireReturnsWhenTheWaitOrContextEnds(t *testing.T) {
	t.Parallel()
	q := admission.New(admission.Limits{Slots: 1, Writers: 1, Bulk: 1, Share: 1, ShareWriters: 1, ShareBulk: 1, Queue: 9})
	holder := mustEnter(t, q, "a", admission.Read)
	for tenant, want := range map[string]error{"a": admission.ErrShare, "b": admission.ErrTimeout, "": admission.ErrTimeout} {
		if _, err := q.Acquire(t.Context(), tenant, admission.Read, time.Nanosecond); !errors.Is(err, want) {
			t.Errorf("Acquire for tenant %q: got %v, want %v", tenant, err, want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.Acquire(ended, "a", admission.Read, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("Acquire with a cancelled context: got %v, want %v", err, context.Canceled)
	}
	holder.Leave()
	s, err := q.Acquire(t.Context(), "a", admission.Read, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	s.Leave()
	if s := q.Stats(admission.Read); s.Held != 0 || s.Waiting != 0 || s.Timeout != 3 || s.Granted != 2 || s.Waited[2] != 2 {
		t.Errorf("Stats: got %+v, want 2 granted callers, 3 timeouts and no slot in use", s)
	}
}

func TestNewLimits_LeavesSlotsForReadsAtEverySize(t *testing.T) {
	t.Parallel()
	for slots := 1; slots <= 1000; slots++ {
		for _, share := range []int{0, 1, 2, 5, 2000} {
			l := admission.NewLimits(slots, share, 0)
			if l.Share < 1 || l.Share > slots || l.Writers < 1 || l.Bulk < 1 || l.Bulk > l.Writers || l.ShareWriters < 1 || l.ShareBulk < 1 || l.Queue != admission.DefaultQueue {
				t.Fatalf("NewLimits(%d, %d): got %+v", slots, share, l)
			}
			if slots > 1 && l.Writers >= slots-l.Reserve {
				t.Fatalf("NewLimits(%d): writers can take every slot: %+v", slots, l)
			}
			if l.Share > 1 && l.ShareWriters >= l.Share {
				t.Fatalf("NewLimits(%d, %d): a tenant's writers can take its share: %+v", slots, share, l)
			}
		}
	}
	if got, want := admission.NewLimits(16, 0, 0), (admission.Limits{Slots: 16, Reserve: 1, Writers: 11, Bulk: 2, Share: 4, ShareWriters: 3, ShareBulk: 1, Queue: 256}); got != want {
		t.Errorf("NewLimits(16, 0, 0): got %+v, want %+v", got, want)
	}
}

// TestQueue_KeepsItsGuarantees_RandomCallers lets random callers enter and leave, and
// verifies the guarantees after every step: no limit is exceeded, and no caller waits for
// a slot that the limits leave free.
func TestQueue_KeepsItsGuarantees_RandomCallers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := admission.NewLimits(1+r.IntN(20), r.IntN(6), 1+r.IntN(6))
		q := admission.New(l)
		var callers []caller
		for range 100 {
			if r.IntN(3) > 0 {
				c := caller{tenant: []string{"", "a", "b", "c", "d", "e"}[r.IntN(6)], lane: admission.Lane(r.IntN(3))}
				s, err := q.Enter(c.tenant, c.lane)
				if err == nil {
					c.slot = s
					callers = append(callers, c)
				} else if countWaiting(callers, c) < l.Queue {
					t.Fatalf("seed %d: got ErrFull with %d waiting callers", seed, countWaiting(callers, c))
				}
			} else if len(callers) > 0 {
				i := r.IntN(len(callers))
				callers[i].slot.Leave()
				callers = append(callers[:i], callers[i+1:]...)
			}
			checkGuarantees(t, seed, l, callers)
		}
	}
}

type caller struct {
	tenant string
	lane   admission.Lane
	slot   *admission.Slot
}

func countWaiting(callers []caller, who caller) (n int) {
	for _, c := range callers {
		if c.tenant == who.tenant && c.lane == who.lane && !isGranted(c.slot) {
			n++
		}
	}
	return n
}

// checkGuarantees verifies the guarantees of the package comment by counting slots.
func checkGuarantees(t *testing.T, seed uint64, l admission.Limits, callers []caller) {
	t.Helper()
	count := func(match func(caller) bool) (n int) {
		for _, c := range callers {
			if isGranted(c.slot) && match(c) {
				n++
			}
		}
		return n
	}
	writer := func(c caller) bool { return c.lane != admission.Read && c.tenant != "" }
	bulk := func(c caller) bool { return c.lane == admission.Bulk && c.tenant != "" }
	all := count(func(caller) bool { return true })
	tenants := count(func(c caller) bool { return c.tenant != "" })
	if all > l.Slots || tenants > l.Slots-l.Reserve || count(writer) > l.Writers || count(bulk) > l.Bulk {
		t.Fatalf("seed %d: more slots are used than %+v allows", seed, l)
	}
	// Slots of system writers count against the limits of tenants.
	writers := count(func(c caller) bool { return c.lane != admission.Read })
	bulks := count(func(c caller) bool { return c.lane == admission.Bulk })
	for _, c := range callers {
		of := func(match func(caller) bool) int {
			return count(func(o caller) bool { return o.tenant == c.tenant && match(o) })
		}
		share, w, b := of(func(caller) bool { return true }), of(writer), of(bulk)
		if c.tenant != "" && (share > l.Share || w > l.ShareWriters || b > l.ShareBulk) {
			t.Fatalf("seed %d: %s uses more than its share of %+v", seed, c.tenant, l)
		}
		free := all < l.Slots
		if c.tenant != "" {
			free = free && tenants < l.Slots-l.Reserve && share < l.Share
			if c.lane != admission.Read {
				free = free && writers < l.Writers && w < l.ShareWriters
			}
			if c.lane == admission.Bulk {
				free = free && bulks < l.Bulk && b < l.ShareBulk
			}
		}
		if free && !isGranted(c.slot) {
			t.Fatalf("seed %d: %q waits in the %s lane for a slot that is free", seed, c.tenant, c.lane)
		}
	}
}

func TestQueue_ConcurrentCallersAllReturnTheirSlots(t *testing.T) {
	t.Parallel()
	q := admission.New(limits())
	var running sync.WaitGroup
	for i := range 40 {
		running.Go(func() {
			for range 50 {
				s, err := q.Acquire(context.Background(), string(rune('a'+i%4)), admission.Lane(i%3), time.Minute)
				if err == nil {
					s.Leave()
				} else if !errors.Is(err, admission.ErrFull) {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	for _, lane := range admission.Lanes() {
		if s := q.Stats(lane); s.Held != 0 || s.Waiting != 0 {
			t.Errorf("%s: got %d slots in use and %d waiting callers, want 0", lane, s.Held, s.Waiting)
		}
	}
}
