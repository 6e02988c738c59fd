package catalog

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// The index of embeddings is locality-sensitive hashing with random hyperplanes: each bit of a
// hash says on which side of a hyperplane through the origin a vector lies. Two vectors with a
// high cosine similarity have most bits in common. The bits are divided into bands. A search
// reads, for each band, the vectors with the same hash and with the hashes that differ in the
// bits about which the query is least certain. It compares these candidates exactly.
const (
	lshBands = 6
	lshBits  = 12
	// lshProbes is the number of hashes that a search reads for each band.
	lshProbes = 40
)

// hyperplaneSigns returns 64 components of a hyperplane, each +1 or -1, as bits. They are
// pseudo-random numbers (SplitMix64) and the same in every process and version.
func hyperplaneSigns(plane, block int) uint64 {
	z := (uint64(plane)<<32 | uint64(block)) + 0x9e3779b97f4a7c15
	z *= 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// projections returns the dot product of the vector with each hyperplane.
func projections(vector []float32) [lshBands * lshBits]float64 {
	var all [lshBands * lshBits]float64
	for plane := range all {
		sum := 0.0
		for block := 0; block < len(vector); block += 64 {
			signs := hyperplaneSigns(plane, block)
			for i, x := range vector[block:min(block+64, len(vector))] {
				if signs>>i&1 == 0 {
					sum += float64(x)
				} else {
					sum -= float64(x)
				}
			}
		}
		all[plane] = sum
	}
	return all
}

// bandHashes returns the hash of the vector in each band.
func bandHashes(vector []float32) [lshBands]int32 {
	var hashes [lshBands]int32
	for plane, p := range projections(vector) {
		if p > 0 {
			hashes[plane/lshBits] |= 1 << (plane % lshBits)
		}
	}
	return hashes
}

// probes returns the bands and hashes that a search for the vector reads: for each band its own
// hash and those at the lowest distance. The distance of a hash is the sum of the squared
// projections of the bits that differ.
func probes(vector []float32) (bands []int16, hashes []int32) {
	all := projections(vector)
	type flip struct {
		mask int32
		cost float64
	}
	for band := range lshBands {
		part := all[band*lshBits : (band+1)*lshBits]
		var own int32
		flips := make([]flip, 1<<lshBits)
		for i, p := range part {
			if p > 0 {
				own |= 1 << i
			}
		}
		for mask := range flips {
			flips[mask].mask = int32(mask)
			for rest := uint32(mask); rest != 0; rest &= rest - 1 {
				p := part[bits.TrailingZeros32(rest)]
				flips[mask].cost += p * p
			}
		}
		slices.SortFunc(flips, func(a, b flip) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.mask, b.mask)) })
		for _, f := range flips[:lshProbes] {
			bands, hashes = append(bands, int16(band)), append(hashes, own^f.mask)
		}
	}
	return bands, hashes
}

// cosine returns the cosine similarity of two vectors of the same length that are not zero.
func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	return dot / math.Sqrt(aa*bb)
}
