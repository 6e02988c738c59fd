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

// Compares the check with a graph search per dependency, on random graphs and random
// dependencies.
func TestCycleCheck_AgreesWithGraphSearch(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		batch, others := taskIDs(1+r.IntN(12)), taskIDs(r.IntN(12))
		all := append(append([]op.UUID{}, batch...), others...)
		stored := graph{}
		// Every stored dependency points to an earlier task in a random order, so the stored
		// graph has no cycle.
		order := r.Perm(len(all))
		for range r.IntN(30) {
			a, b := r.IntN(len(all)), r.IntN(len(all))
			if order[a] > order[b] {
				stored[all[a]] = append(stored[all[a]], all[b])
			}
		}
		allWaitersInBatch := r.IntN(2) == 0
		check, search := newCycleCheck(stored, batch, allWaitersInBatch), graph{}
		for id, list := range stored {
			search[id] = append([]op.UUID{}, list...)
		}
		for range 60 {
			task, other := batch[r.IntN(len(batch))], all[r.IntN(len(all))]
			if !allWaitersInBatch && r.IntN(2) == 0 {
				task, other = other, task
			}
			closes := search.shortestPath(other, task) != nil
			if got := check.closesCycle(task, other); got != closes {
				t.Fatalf("seed %d: closesCycle: got %t, want %t", seed, got, closes)
			}
			if !closes {
				search[task] = append(search[task], other)
				check.add(task, other)
			}
		}
	}
}

// Counts the visited dependencies for the largest batch with 39 dependencies per item:
// on earlier items, on later items, and on random items, where most would close a
// cycle. A graph search per dependency visits about 175 million.
func TestCycleCheck_LimitsVisitedDependencies(t *testing.T) {
	t.Parallel()
	const items, links = 500, 39
	r := rand.New(rand.NewPCG(1, 2))
	for name, other := range map[string]func(item, link int) int{
		"earlier items": func(item, link int) int { return item - 1 - link },
		"later items":   func(item, link int) int { return item + 1 + link },
		"random items":  func(int, int) int { return r.IntN(items) },
	} {
		ids := taskIDs(items)
		check, dependencies := newCycleCheck(graph{}, ids, true), 0
		for item := range items {
			for link := range links {
				o := other(item, link)
				if o < 0 || o >= items || o == item {
					continue
				}
				dependencies++
				if !check.closesCycle(ids[item], ids[o]) {
					check.add(ids[item], ids[o])
				}
			}
		}
		t.Logf("%s: %d dependencies, %d steps", name, dependencies, check.steps)
		if limit := dependencies * items / 2; check.steps > limit {
			t.Errorf("%s: got %d steps for %d dependencies, want at most %d", name, check.steps, dependencies, limit)
		}
	}
}
