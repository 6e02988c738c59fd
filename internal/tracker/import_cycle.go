package tracker

import "parapet/internal/op"

// cycleCheck reports whether a new dependency would close a cycle. An import uses it
// instead of searching the graph once per dependency.
//
// Every dependency that an import adds has a task of its batch at one end. It is
// therefore enough to store two sets for each task: the batch tasks that it waits for,
// directly or indirectly, and the batch tasks that wait for it. Each set has one bit
// per batch task. Adding a dependency updates the sets of the affected tasks. Because
// sets only grow, each dependency is visited at most once per bit.
type cycleCheck struct {
	nodes map[op.UUID]int
	// blockers[n] are the nodes that node n waits for; dependents[n] are the nodes that
	// wait for it.
	blockers, dependents [][]int
	// reaches[n] are the batch tasks that node n waits for, directly or indirectly;
	// reachedBy[n] are the batch tasks that wait for it. A batch task is in its own sets.
	reaches, reachedBy []bitset
	bits               map[op.UUID]int
	// allWaitersInBatch is set if the waiting task of every new dependency is in the
	// batch. reachedBy is then not needed and not updated.
	allWaitersInBatch bool
	// steps counts the visited dependencies, for tests.
	steps int
}

type bitset []uint64

func (s bitset) has(bit int) bool { return s[bit/64]&(1<<(bit%64)) != 0 }
func (s bitset) set(bit int)      { s[bit/64] |= 1 << (bit % 64) }

// add adds the members of other and reports whether s changed.
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

// newCycleCheck returns a check of the stored dependencies. batch are the tasks of the
// batch. Set allWaitersInBatch if the waiting task of every new dependency is one of
// them.
func newCycleCheck(stored graph, batch []op.UUID, allWaitersInBatch bool) *cycleCheck {
	c := &cycleCheck{nodes: map[op.UUID]int{}, bits: make(map[op.UUID]int, len(batch)), allWaitersInBatch: allWaitersInBatch}
	for _, id := range batch {
		if _, exists := c.bits[id]; !exists {
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

// node returns the index of the task's node and adds the node if there is none.
func (c *cycleCheck) node(id op.UUID) int {
	n, exists := c.nodes[id]
	if exists {
		return n
	}
	n = len(c.nodes)
	c.nodes[id] = n
	c.blockers, c.dependents = append(c.blockers, nil), append(c.dependents, nil)
	words := (len(c.bits) + 63) / 64
	reaches, reachedBy := make(bitset, words), make(bitset, words)
	if bit, ok := c.bits[id]; ok {
		reaches.set(bit)
		reachedBy.set(bit)
	}
	c.reaches, c.reachedBy = append(c.reaches, reaches), append(c.reachedBy, reachedBy)
	return n
}

// closesCycle reports whether a dependency of task on other would close a cycle,
// because other already waits for task. At least one of the two must be in the batch.
func (c *cycleCheck) closesCycle(task, other op.UUID) bool {
	from, to := c.node(other), c.node(task)
	if bit, ok := c.bits[task]; ok {
		return c.reaches[from].has(bit)
	}
	return c.reachedBy[to].has(c.bits[other])
}

// add adds a dependency of task on other.
func (c *cycleCheck) add(task, other op.UUID) {
	from, to := c.node(task), c.node(other)
	c.blockers[from], c.dependents[to] = append(c.blockers[from], to), append(c.dependents[to], from)
	c.propagate(c.reaches, c.dependents, to, from)
	if !c.allWaitersInBatch {
		c.propagate(c.reachedBy, c.blockers, from, to)
	}
}

// propagate adds the set of node from to the set of node to, and continues with the
// neighbors of each node whose set changes.
func (c *cycleCheck) propagate(sets []bitset, neighbors [][]int, from, to int) {
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
