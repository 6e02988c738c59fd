package catalog

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestProbes_FindNearestVectors measures the recall of the index without a database: the share
// of the 10 nearest of 10,000 vectors in 200 clusters that are among the candidates.
func TestProbes_FindNearestVectors(t *testing.T) {
	t.Parallel()
	const dimension, clusters, count, queries, k = 128, 200, 10_000, 20, 10
	random := rand.New(rand.NewPCG(1, 2))
	near := func(center []float32, spread float64) []float32 {
		v := make([]float32, dimension)
		for i := range v {
			v[i] = float32(random.NormFloat64() * spread)
			if center != nil {
				v[i] += center[i]
			}
		}
		return v
	}
	centers := make([][]float32, clusters)
	for i := range centers {
		centers[i] = near(nil, 1)
	}
	vectors := make([][]float32, count)
	index := map[[2]int32][]int{}
	for i := range vectors {
		vectors[i] = near(centers[i%clusters], 0.6)
		for band, hash := range bandHashes(vectors[i]) {
			key := [2]int32{int32(band), hash}
			index[key] = append(index[key], i)
		}
	}
	found, candidates := 0, 0
	for q := range queries {
		query := near(centers[q], 0.6)
		similarity := make([]float64, count)
		nearest := make([]int, count)
		for i := range vectors {
			similarity[i], nearest[i] = cosine(query, vectors[i]), i
		}
		slices.SortFunc(nearest, func(a, b int) int { return cmp.Compare(similarity[b], similarity[a]) })
		seen := map[int]bool{}
		bands, hashes := probes(query)
		for i := range bands {
			for _, v := range index[[2]int32{int32(bands[i]), hashes[i]}] {
				seen[v] = true
			}
		}
		candidates += len(seen)
		for _, i := range nearest[:k] {
			if seen[i] {
				found++
			}
		}
	}
	recall, share := float64(found)/(queries*k), float64(candidates)/(queries*count)
	t.Logf("recall at %d: %.3f; candidates: %.1f %% of the vectors", k, recall, 100*share)
	if recall < 0.95 || share > 0.1 {
		t.Errorf("got the recall %.3f with %.1f %% of the vectors as candidates, want at least 0.95 with at most 10 %%", recall, 100*share)
	}
}
