package tracker

import (
	"math/rand/v2"
	"testing"

	"parapet/internal/op"
	"parapet/internal/uid"
)

func taskIDs(n int) []op.UUID {
	ids := make([]op.UUID, n)
	for i := range ids {
		ids[i] = uid.New()
	}
	return ids
}

// TestCycleCheck_AgreesWithGraphSearch compares the check with the search
// that it replaces, on random graphs and random links in random order.
func TestCycleCheck_AgreesWithGraphSearch(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		batch, others := taskIDs(1+r.IntN(12)), taskIDs(r.IntN(12))
		all := append(append([]op.UUID{}, batch...), others...)
		stored := graph{}
		// Stored dependencies lead from a later task to an earlier one of a random
		// order: they close no cycle.
		order := r.Perm(len(all))
		for range r.IntN(30) {
			a, b := r.IntN(len(all)), r.IntN(len(all))
			if order[a] > order[b] {
				stored[all[a]] = append(stored[all[a]], all[b])
			}
		}
		onlyOwn := r.IntN(2) == 0
		check, search := newCycleCheck(stored, batch, onlyOwn), graph{}
		for id, list := range stored {
			search[id] = append([]op.UUID{}, list...)
		}
		for range 60 {
			task, other := batch[r.IntN(len(batch))], all[r.IntN(len(all))]
			if !onlyOwn && r.IntN(2) == 0 {
				task, other = other, task
			}
			closes := search.shortestPath(other, task) != nil
			if got := check.closesCycle(task, other); got != closes {
				t.Fatalf("seed %d: closes is %t, want %t", seed, got, closes)
			}
			if !closes {
				search[task] = append(search[task], other)
				check.add(task, other)
			}
		}
	}
}

// TestCycleCheck_LimitsVisitedDependencies counts the links looked at for the largest batch with
// 39 links an item: in the order of the file, in reverse, and at random, where most
// links close a cycle. A search for each link looks at some 175 million.
func TestCycleCheck_LimitsVisitedDependencies(t *testing.T) {
	t.Parallel()
	const items, links = 500, 39
	r := rand.New(rand.NewPCG(1, 2))
	for name, other := range map[string]func(item, link int) int{
		"the items before": func(item, link int) int { return item - 1 - link },
		"the items behind": func(item, link int) int { return item + 1 + link },
		"random items":     func(int, int) int { return r.IntN(items) },
	} {
		ids := taskIDs(items)
		check, asked := newCycleCheck(graph{}, ids, true), 0
		for item := range items {
			for link := range links {
				o := other(item, link)
				if o < 0 || o >= items || o == item {
					continue
				}
				asked++
				if !check.closesCycle(ids[item], ids[o]) {
					check.add(ids[item], ids[o])
				}
			}
		}
		t.Logf("%s: %d links, %d steps", name, asked, check.steps)
		if check.steps > asked*items/2 {
			t.Errorf("%s: %d links took %d steps", name, asked, check.steps)
		}
	}
}
