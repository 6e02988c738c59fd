// Package admission shares the slots of one resource, the connections of a
// database pool, among tenants.
//
// It guarantees, with the Limits that a Queue was made with:
//
//   - A tenant holds at most Share slots. At most ShareWriters of them are for
//     writes and bulk work, and at most ShareBulk for bulk work, so a tenant whose
//     writers wait for locks can still read.
//   - All tenants together hold at most Writers slots for writes and bulk work, and
//     at most Bulk for bulk work. Writers can never take the other slots, so reads
//     never wait for a writer that waits for a lock.
//   - At most Queue callers of a tenant wait in each lane. The next one gets ErrFull at
//     once. Neither another tenant nor another lane of the same tenant gets ErrFull because of it.
//   - A free slot goes to the next tenant in turn that has a caller who may take it
//     (round robin by tenant), and within the tenant to the next lane in turn, and
//     within the lane to the caller who came first. A waiting caller who is first in
//     its tenant therefore waits for at most one grant to each other tenant.
//   - System work (the empty tenant) has no share, and Reserve slots that tenants
//     cannot take: health checks answer while every tenant waits.
//
// A Queue knows nothing of what the slots are. It decides when a caller enters or
// leaves and at no other time, so its rules are tested without a clock.
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

// Lanes lists the lanes.
func Lanes() []Lane { return []Lane{Read, Write, Bulk} }

// String is the lane's name in metrics.
func (l Lane) String() string { return [...]string{"read", "write", "bulk"}[l] }

// Errors of Acquire. Neither is the caller's fault: the same call may succeed
// later.
var (
	// ErrFull says that too many callers of the tenant wait already.
	ErrFull = errors.New("admission: too many callers of this tenant are waiting")
	// ErrTimeout says that no slot was free within the given time, because others
	// hold them.
	ErrTimeout = errors.New("admission: no slot was free in time")
	// ErrShare says the same, because the tenant holds all slots of its share.
	ErrShare = errors.New("admission: the tenant's own callers hold its share")
)

// Limits are numbers of slots, except Queue, which is a number of callers.
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

// DefaultQueue is how many callers of a tenant wait in a lane unless a setting says
// otherwise.
const DefaultQueue = 256

// NewLimits derives limits from the number of slots, the share of one tenant in slots
// and the length of a tenant's queue. Zero or less means the default: a quarter
// of the slots but at least 2, and DefaultQueue.
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
	// held counts the slots in use by lane; tenants are those that hold or wait.
	held    [laneCount]int
	system  int
	tenants map[string]*tenant
	// ring are the tenants with waiting callers; next is whose turn it is.
	ring []*tenant
	next int

	counts counts
}

// tenant is what one tenant holds and who waits for it.
type tenant struct {
	id      string
	held    [laneCount]int
	waiting [laneCount][]*Slot
	// turn is the lane that is served next.
	turn Lane
}

// Slot is a granted slot or a place in the queue.
type Slot struct {
	queue  *Queue
	tenant *tenant
	lane   Lane
	// granted is closed when the slot is.
	granted  chan struct{}
	held     bool
	released bool
	// immediate says that Enter granted it.
	immediate bool
}

// New makes a Queue with all slots free.
func New(limits Limits) *Queue {
	return &Queue{limits: limits, tenants: map[string]*tenant{}}
}

// Limits are those that the Queue was made with.
func (q *Queue) Limits() Limits { return q.limits }

// Enter asks for a slot without waiting: the Slot is granted at once, or later,
// when others leave. The empty tenant is system work. The caller must call Leave.
// The error is ErrFull or nil.
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
		// Everybody who waits could not take this slot: it is nobody's turn.
		q.grant(s)
		s.immediate = true
		q.counts.wait(lane, 0)
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

// Granted is closed once the slot is granted.
func (s *Slot) Granted() <-chan struct{} { return s.granted }

// Leave gives the slot back, or leaves the queue. Only the first call counts.
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
		t.drop(s)
		if t.waitingCallers() == 0 {
			q.leaveRing(t)
		}
	}
	q.serve()
	q.forget(t)
}

// Acquire waits for a slot until ctx ends or the wait is over. Its errors are
// ErrFull, ErrTimeout, ErrShare and ctx's own.
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
		q.waited(lane, time.Since(began))
		return s, nil
	case <-timer.C:
		own := s.shareIsUsed()
		s.Leave()
		q.timedOut(lane)
		if own {
			return nil, ErrShare
		}
		return nil, ErrTimeout
	case <-ctx.Done():
		s.Leave()
		return nil, ctx.Err()
	}
}

// canAdmit reports whether the limits leave a slot of the lane for the tenant.
func (q *Queue) canAdmit(t *tenant, lane Lane) bool {
	l := q.limits
	held := q.inUse()
	if held >= l.Slots {
		return false
	}
	if t.id == "" {
		return true
	}
	if held-q.system >= l.Slots-l.Reserve || q.usesShare(t, lane) {
		return false
	}
	if lane == Read {
		return true
	}
	return q.held[Write]+q.held[Bulk] < l.Writers && (lane != Bulk || q.held[Bulk] < l.Bulk)
}

// usesShare reports whether the tenant holds as many slots as its share has for
// the lane.
func (q *Queue) usesShare(t *tenant, lane Lane) bool {
	l := q.limits
	return t.held[Read]+t.held[Write]+t.held[Bulk] >= l.Share ||
		lane != Read && t.held[Write]+t.held[Bulk] >= l.ShareWriters ||
		lane == Bulk && t.held[Bulk] >= l.ShareBulk
}

// shareIsUsed reports whether the slot waits for the tenant's own callers.
func (s *Slot) shareIsUsed() bool {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.tenant.id != "" && s.queue.usesShare(s.tenant, s.lane)
}

func (q *Queue) inUse() int { return q.held[Read] + q.held[Write] + q.held[Bulk] }

func (q *Queue) grant(s *Slot) {
	s.held = true
	q.held[s.lane]++
	s.tenant.held[s.lane]++
	if s.tenant.id == "" {
		q.system++
	}
	close(s.granted)
}

// serve grants free slots to waiting callers, tenant by tenant in turn.
func (q *Queue) serve() {
	for skipped := 0; skipped < len(q.ring) && q.inUse() < q.limits.Slots; {
		if q.next >= len(q.ring) {
			q.next = 0
		}
		t := q.ring[q.next]
		s := t.first(q)
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

// first takes the caller whose turn it is out of the tenant's queue; nil when the
// limits leave no slot for any.
func (t *tenant) first(q *Queue) *Slot {
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

// drop removes a caller from the tenant's queue.
func (t *tenant) drop(s *Slot) {
	for i, other := range t.waiting[s.lane] {
		if other == s {
			t.waiting[s.lane] = append(t.waiting[s.lane][:i:i], t.waiting[s.lane][i+1:]...)
			return
		}
	}
}

// leaveRing takes the tenant out of the ring. The tenant behind it is next.
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

// forget drops the record of a tenant that neither holds nor waits.
func (q *Queue) forget(t *tenant) {
	if t.held == [laneCount]int{} && t.waitingCallers() == 0 {
		delete(q.tenants, t.id)
	}
}
