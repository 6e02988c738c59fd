package tracker

import "parapet/internal/op"

// cycleCheck answers, while an import adds dependencies, whether the next one
// would close a cycle, without a search for each.
//
// Every dependency that an import adds has a task of its batch at one end. So it
// is enough to know, for each task, which tasks of the batch it waits for, directly
// or not, and which of them wait for it: two sets of one bit a batch task. A new
// dependency updates the sets of the tasks that it changes. A set only grows, so
// all updates together look at each dependency at most once a bit.
type cycleCheck struct {
	nodes map[op.UUID]int
	// waitsFor and waiting are the dependencies of a node, in both directions.
	waitsFor, waiting [][]int
	// reaches and reachedBy are the sets.
	reaches, reachedBy []bitset
	bits               map[op.UUID]int
	// hasOnlyOwn says that every task that is to wait is of the batch: then nobody asks
	// for reachedBy.
	hasOnlyOwn bool
	// steps counts the dependencies looked at.
	steps int
}

type bitset []uint64

func (s bitset) has(bit int) bool { return s[bit/64]&(1<<(bit%64)) != 0 }
func (s bitset) set(bit int)      { s[bit/64] |= 1 << (bit % 64) }

// add adds the other set and reports whether that changed anything.
func (s bitset) add(other bitset) bool {
	changed := false
	for i, word := range other {
		if word&^s[i] != 0 {
			s[i] |= word
			changed = true
		}
	}
	return changed
}

// newCycleCheck starts with what is stored. batch are the tasks that every added
// dependency has at one end, and with hasOnlyOwn the task that waits is one of them.
func newCycleCheck(stored graph, batch []op.UUID, onlyOwn bool) *cycleCheck {
	c := &cycleCheck{nodes: map[op.UUID]int{}, bits: make(map[op.UUID]int, len(batch)), hasOnlyOwn: onlyOwn}
	for _, id := range batch {
		if _, twice := c.bits[id]; !twice {
			c.bits[id] = len(c.bits)
		}
	}
	for id := range c.bits {
		c.node(id)
	}
	for task, others := range stored {
		for _, other := range others {
			c.add(task, other)
		}
	}
	return c
}

func (c *cycleCheck) node(id op.UUID) int {
	n, known := c.nodes[id]
	if known {
		return n
	}
	n = len(c.nodes)
	c.nodes[id] = n
	c.waitsFor, c.waiting = append(c.waitsFor, nil), append(c.waiting, nil)
	words := (len(c.bits) + 63) / 64
	reaches, reachedBy := make(bitset, words), make(bitset, words)
	if bit, ok := c.bits[id]; ok {
		reaches.set(bit)
		reachedBy.set(bit)
	}
	c.reaches, c.reachedBy = append(c.reaches, reaches), append(c.reachedBy, reachedBy)
	return n
}

// closesCycle reports whether the task can't wait for the other one, because the other
// waits for it already. One of the two is of the batch.
func (c *cycleCheck) closesCycle(task, other op.UUID) bool {
	from, to := c.node(other), c.node(task)
	if bit, ok := c.bits[task]; ok {
		return c.reaches[from].has(bit)
	}
	return c.reachedBy[to].has(c.bits[other])
}

// add lets the task wait for the other one.
func (c *cycleCheck) add(task, other op.UUID) {
	from, to := c.node(task), c.node(other)
	c.waitsFor[from], c.waiting[to] = append(c.waitsFor[from], to), append(c.waiting[to], from)
	c.spread(c.reaches, c.waiting, to, from)
	if !c.hasOnlyOwn {
		c.spread(c.reachedBy, c.waitsFor, from, to)
	}
}

// spread adds the set of one node to that of its neighbor and on, as far as sets
// change.
func (c *cycleCheck) spread(sets []bitset, neighbors [][]int, from, to int) {
	c.steps++
	if !sets[to].add(sets[from]) {
		return
	}
	for work := []int{to}; len(work) > 0; {
		changed := work[len(work)-1]
		work = work[:len(work)-1]
		for _, next := range neighbors[changed] {
			c.steps++
			if sets[next].add(sets[changed]) {
				work = append(work, next)
			}
		}
	}
}
