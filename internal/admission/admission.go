// Package admission shares the slots of one resource, the connections of a
// database pool, among tenants.
//
// A Queue guarantees, within its Limits:
//
//   - A tenant has at most Share slots. At most ShareWriters of them are for
//     writes and bulk work, and at most ShareBulk for bulk work, so a tenant whose
//     writers wait for locks can still read.
//   - All tenants together have at most Writers slots for writes and bulk work, and
//     at most Bulk for bulk work. The remaining slots are for reads, so reads
//     never wait for a writer that waits for a lock.
//   - At most Queue callers of a tenant wait in each lane. Further callers get ErrFull
//     immediately. Other tenants and other lanes are not affected.
//   - Free slots are granted round robin: first by tenant, then by lane within the tenant,
//     then in order of arrival within the lane. The first waiting caller of a tenant
//     therefore waits for at most one grant to each other tenant.
//   - System work (the empty tenant) has no share limit, and Reserve slots are reserved
//     for it, so health checks succeed while every tenant waits.
//
// A Queue does not know what the slots stand for. It grants slots only when a caller
// enters or leaves, so its rules are tested without a clock.
package admission

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Lane is the kind of work that a slot is for.
type Lane int

// The lanes. Writes and bulk work are both writers.
const (
	Read Lane = iota
	Write
	// Bulk is work that takes seconds, such as an import.
	Bulk
	laneCount
)

// Lanes returns all lanes.
func Lanes() []Lane { return []Lane{Read, Write, Bulk} }

// String returns the lane's name in metrics.
func (l Lane) String() string { return [...]string{"read", "write", "bulk"}[l] }

// Errors of Acquire. They are temporary: the same call may succeed later.
var (
	// ErrFull means that too many callers of the tenant are already waiting.
	ErrFull = errors.New("admission: too many callers of this tenant are waiting")
	// ErrTimeout means that no slot became free in time because other tenants use them.
	ErrTimeout = errors.New("admission: no slot was free in time")
	// ErrShare means that no slot became free in time because the tenant uses its whole share.
	ErrShare = errors.New("admission: the tenant uses all slots of its share")
)

// Limits are numbers of slots, except Queue, which is a number of callers. The package
// comment says what each one limits.
type Limits struct {
	Slots        int
	Reserve      int
	Writers      int
	Bulk         int
	Share        int
	ShareWriters int
	ShareBulk    int
	Queue        int
}

// DefaultQueue is the default number of callers of a tenant that may wait in a lane.
const DefaultQueue = 256

// NewLimits derives limits from the number of slots, the share of one tenant in slots
// and the length of a tenant's queue. If share or queue is not positive, it uses the
// default: a quarter of the slots but at least 2, and DefaultQueue.
func NewLimits(slots, share, queue int) Limits {
	slots = max(slots, 1)
	if share <= 0 {
		share = max(slots/4, 2)
	}
	if queue <= 0 {
		queue = DefaultQueue
	}
	share = min(share, slots)
	reserve := 0
	if slots >= 4 {
		reserve = 1
	}
	writers := max(slots-reserve-max(slots/4, 1), 1)
	return Limits{
		Slots: slots, Reserve: reserve, Writers: writers, Bulk: max(min(slots/8, writers), 1),
		Share: share, ShareWriters: max(share-1, 1), ShareBulk: max(share/4, 1), Queue: queue,
	}
}

// Queue grants slots. It is safe for concurrent use.
type Queue struct {
	limits Limits

	mu sync.Mutex
	// held counts the slots in use by lane; tenants has an entry for each tenant that
	// uses a slot or waits.
	held    [laneCount]int
	system  int
	tenants map[string]*tenant
	// ring lists the tenants with waiting callers; next is the index of the tenant to serve next.
	ring []*tenant
	next int

	counts counts
}

// tenant records the slots that one tenant uses and its waiting callers.
type tenant struct {
	id      string
	held    [laneCount]int
	waiting [laneCount][]*Slot
	// turn is the lane that is served next.
	turn Lane
}

// Slot is a granted slot or a position in the queue.
type Slot struct {
	queue  *Queue
	tenant *tenant
	lane   Lane
	// granted is closed when the slot is granted.
	granted  chan struct{}
	held     bool
	released bool
	// immediate reports that Enter granted the slot.
	immediate bool
}

// New returns a Queue with all slots free.
func New(limits Limits) *Queue {
	return &Queue{limits: limits, tenants: map[string]*tenant{}}
}

// Limits returns the limits of the queue.
func (q *Queue) Limits() Limits { return q.limits }

// Enter requests a slot without waiting: the slot is granted immediately or when others
// leave. The empty tenant is system work. The caller must call Leave. The error is
// ErrFull or nil.
func (q *Queue) Enter(name string, lane Lane) (*Slot, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.tenants[name]
	if t == nil {
		t = &tenant{id: name}
		q.tenants[name] = t
	}
	s := &Slot{queue: q, tenant: t, lane: lane, granted: make(chan struct{})}
	if len(t.waiting[lane]) == 0 && q.canAdmit(t, lane) {
		// The waiting callers are at their limits and could not take this slot, so no turn is skipped.
		q.grant(s)
		s.immediate = true
		q.counts.recordWait(lane, 0)
		return s, nil
	}
	if len(t.waiting[lane]) >= q.limits.Queue && name != "" {
		q.counts.full[lane]++
		return nil, ErrFull
	}
	if t.waitingCallers() == 0 {
		q.ring = append(q.ring, t)
	}
	t.waiting[lane] = append(t.waiting[lane], s)
	return s, nil
}

// Granted returns a channel that is closed when the slot is granted.
func (s *Slot) Granted() <-chan struct{} { return s.granted }

// Leave frees the slot, or leaves the queue. Further calls do nothing.
func (s *Slot) Leave() {
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.released {
		return
	}
	s.released = true
	t := s.tenant
	if s.held {
		q.held[s.lane]--
		t.held[s.lane]--
		if t.id == "" {
			q.system--
		}
	} else {
		t.removeCaller(s)
		if t.waitingCallers() == 0 {
			q.leaveRing(t)
		}
	}
	q.grantFreeSlots()
	q.removeIdleTenant(t)
}

// Acquire waits for a slot until ctx ends or wait is over. It returns ErrFull,
// ErrTimeout, ErrShare or the error of ctx.
func (q *Queue) Acquire(ctx context.Context, name string, lane Lane, wait time.Duration) (*Slot, error) {
	s, err := q.Enter(name, lane)
	if err != nil {
		return nil, err
	}
	if s.immediate {
		return s, nil
	}
	began := time.Now()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-s.granted:
		q.recordWait(lane, time.Since(began))
		return s, nil
	case <-timer.C:
		shareUsed := s.isShareUsed()
		s.Leave()
		q.recordTimeout(lane)
		if shareUsed {
			return nil, ErrShare
		}
		return nil, ErrTimeout
	case <-ctx.Done():
		s.Leave()
		return nil, ctx.Err()
	}
}

// canAdmit reports whether the limits allow the tenant another slot of the lane.
func (q *Queue) canAdmit(t *tenant, lane Lane) bool {
	l := q.limits
	held := q.slotsInUse()
	if held >= l.Slots {
		return false
	}
	if t.id == "" {
		return true
	}
	if held-q.system >= l.Slots-l.Reserve || q.isShareUsed(t, lane) {
		return false
	}
	if lane == Read {
		return true
	}
	return q.held[Write]+q.held[Bulk] < l.Writers && (lane != Bulk || q.held[Bulk] < l.Bulk)
}

// isShareUsed reports whether the tenant already uses its share of slots for the lane.
func (q *Queue) isShareUsed(t *tenant, lane Lane) bool {
	l := q.limits
	return t.held[Read]+t.held[Write]+t.held[Bulk] >= l.Share ||
		lane != Read && t.held[Write]+t.held[Bulk] >= l.ShareWriters ||
		lane == Bulk && t.held[Bulk] >= l.ShareBulk
}

// isShareUsed reports whether the slot is delayed by the tenant's own share.
func (s *Slot) isShareUsed() bool {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.tenant.id != "" && s.queue.isShareUsed(s.tenant, s.lane)
}

func (q *Queue) slotsInUse() int { return q.held[Read] + q.held[Write] + q.held[Bulk] }

func (q *Queue) grant(s *Slot) {
	s.held = true
	q.held[s.lane]++
	s.tenant.held[s.lane]++
	if s.tenant.id == "" {
		q.system++
	}
	close(s.granted)
}

// grantFreeSlots grants free slots to waiting callers, round robin by tenant.
func (q *Queue) grantFreeSlots() {
	for skipped := 0; skipped < len(q.ring) && q.slotsInUse() < q.limits.Slots; {
		if q.next >= len(q.ring) {
			q.next = 0
		}
		t := q.ring[q.next]
		s := t.takeNextCaller(q)
		if s == nil {
			skipped++
			q.next++
			continue
		}
		skipped = 0
		q.grant(s)
		if t.waitingCallers() == 0 {
			q.leaveRing(t)
		} else {
			q.next++
		}
	}
}

// takeNextCaller removes the next caller from the tenant's queue and returns it. It returns nil if
// the limits allow none of them a slot.
func (t *tenant) takeNextCaller(q *Queue) *Slot {
	for i := range laneCount {
		lane := (t.turn + i) % laneCount
		if len(t.waiting[lane]) == 0 || !q.canAdmit(t, lane) {
			continue
		}
		s := t.waiting[lane][0]
		t.waiting[lane] = t.waiting[lane][1:]
		t.turn = (lane + 1) % laneCount
		return s
	}
	return nil
}

func (t *tenant) waitingCallers() int {
	return len(t.waiting[Read]) + len(t.waiting[Write]) + len(t.waiting[Bulk])
}

// removeCaller removes a caller from the tenant's queue.
func (t *tenant) removeCaller(s *Slot) {
	for i, other := range t.waiting[s.lane] {
		if other == s {
			t.waiting[s.lane] = append(t.waiting[s.lane][:i:i], t.waiting[s.lane][i+1:]...)
			return
		}
	}
}

// leaveRing removes the tenant from the ring. The tenant after it is next.
func (q *Queue) leaveRing(t *tenant) {
	for i, other := range q.ring {
		if other != t {
			continue
		}
		q.ring = append(q.ring[:i], q.ring[i+1:]...)
		if i < q.next {
			q.next--
		}
		return
	}
}

// removeIdleTenant deletes the record of a tenant that neither uses slots nor waits.
func (q *Queue) removeIdleTenant(t *tenant) {
	if t.held == [laneCount]int{} && t.waitingCallers() == 0 {
		delete(q.tenants, t.id)
	}
}
