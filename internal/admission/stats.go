package admission

import "time"

// Bounds returns the upper bounds of Stats.Waited, in seconds.
func Bounds() [boundCount]float64 {
	return [boundCount]float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2}
}

// boundCount is the number of Bounds. Only Granted counts a wait longer than the last bound.
const boundCount = 10

// counts are the counters of a Queue, by lane.
type counts struct {
	full, timeout [laneCount]uint64
	granted       [laneCount]uint64
	seconds       [laneCount]float64
	waited        [laneCount][boundCount]uint64
}

func (c *counts) recordWait(lane Lane, d time.Duration) {
	c.granted[lane]++
	c.seconds[lane] += d.Seconds()
	for i, bound := range Bounds() {
		if d.Seconds() <= bound {
			c.waited[lane][i]++
		}
	}
}

// Stats are a lane's current numbers. They are not broken down by tenant, because a
// metric with a tenant label would grow without bound.
type Stats struct {
	// Held is the number of slots in use, Waiting the number of callers in the queue.
	Held, Waiting int
	// Full counts ErrFull; Timeout counts ErrTimeout and ErrShare.
	Full, Timeout uint64
	// Granted counts slots granted by Acquire. Seconds is the total time that their callers
	// waited. Waited counts those that waited at most as long as the bound that is the key
	// (cumulative, as in Prometheus).
	Granted uint64
	Seconds float64
	Waited  map[float64]uint64
}

// Stats returns the numbers of a lane.
func (q *Queue) Stats(lane Lane) Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := Stats{
		Held: q.held[lane], Full: q.counts.full[lane], Timeout: q.counts.timeout[lane],
		Granted: q.counts.granted[lane], Seconds: q.counts.seconds[lane], Waited: map[float64]uint64{},
	}
	for _, t := range q.ring {
		s.Waiting += len(t.waiting[lane])
	}
	for i, bound := range Bounds() {
		s.Waited[bound] = q.counts.waited[lane][i]
	}
	return s
}

func (q *Queue) recordWait(lane Lane, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.counts.recordWait(lane, d)
}

func (q *Queue) recordTimeout(lane Lane) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.counts.timeout[lane]++
}
