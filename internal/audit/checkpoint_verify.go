package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/sumdb/note"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// checkpointPattern matches the names of checkpoints, which sort by time.
const checkpointPattern = "audit-*.checkpoint"

func checkpointName(at time.Time) string {
	return "audit-" + at.UTC().Format("20060102T150405Z") + ".checkpoint"
}

// checkpointNames lists the checkpoints in a folder, oldest first.
func checkpointNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("audit: checkpoints: %w", err)
	}
	var names []string
	for _, e := range entries { // sorted by name
		if ok, err := filepath.Match(checkpointPattern, e.Name()); err == nil && ok {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// VerifyCheckpoints verifies all chains and every checkpoint in path, which is one
// file or a folder ("audit-*.checkpoint"). publicKeys are the keys that may have signed
// them; get them from another source than the checkpoints.
//
// Each checkpoint must be signed. In a folder, its name must match its signed time, times
// must increase, and no chain may shrink, change or disappear from one checkpoint to the
// next. Each chain must still contain the entry with which it ended at each checkpoint, with
// the same hash. So the checkpoints and the public key are enough to detect a chain that was
// truncated or rewritten completely.
func VerifyCheckpoints(ctx context.Context, pool *postgres.Pool, path string, publicKeys []string, now time.Time, progress func(int64)) (Report, error) {
	for _, key := range publicKeys {
		if _, err := note.NewVerifier(key); err != nil {
			return Report{}, fmt.Errorf("audit: checkpoint key: %w", err)
		}
	}
	signed, problems, err := readPath(path, publicKeys, now)
	if err != nil {
		return Report{}, err
	}
	var report Report
	err = snapshot(ctx, pool, func(tx postgres.Querier) error {
		var err error
		if report, err = verify(ctx, tx, "", progress); err != nil {
			return err
		}
		differences, err := compareWithCheckpoints(ctx, tx, signed)
		report.Problems = append(report.Problems, append(problems, differences...)...)
		return err
	})
	report.Checkpoints = len(signed)
	return report, err
}

func readPath(path string, publicKeys []string, now time.Time) ([]Signed, []Problem, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("audit: checkpoints: %w", err)
	}
	if !info.IsDir() {
		file, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, fmt.Errorf("audit: checkpoint: %w", err)
		}
		s, err := ReadCheckpoint(file, publicKeys...)
		s.File = filepath.Base(path)
		return []Signed{s}, nil, err
	}
	names, err := checkpointNames(path)
	if err != nil {
		return nil, nil, err
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("audit: %s contains no checkpoint (%s)", path, checkpointPattern)
	}
	return readCheckpoints(path, names, publicKeys, now)
}

// readCheckpoints reads the checkpoints of a folder, oldest first, and returns the problems
// of each and of their order. The error is about reading files.
func readCheckpoints(dir string, names, publicKeys []string, now time.Time) ([]Signed, []Problem, error) {
	var all []Signed
	var problems []Problem
	for _, name := range names {
		bad := func(chain op.UUID, seq int64, format string, args ...any) {
			problems = append(problems, Problem{File: name, Chain: chain, Seq: seq, Message: fmt.Sprintf(format, args...)})
		}
		file, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			var path *fs.PathError
			if errors.As(err, &path) && !errors.Is(err, fs.ErrPermission) {
				bad("", 0, "it could not be read: %v", path.Err)
				continue
			}
			return nil, nil, fmt.Errorf("audit: checkpoint: %w", err)
		}
		s, err := ReadCheckpoint(file, publicKeys...)
		if err != nil {
			bad("", 0, "%v", err)
			continue
		}
		s.File = name
		if name != checkpointName(s.Time) {
			bad("", 0, "its name does not match its signed time, %s", s.Time.Format(time.RFC3339))
		}
		if s.Time.After(now) {
			bad("", 0, "its signed time is in the future: %s", s.Time.Format(time.RFC3339))
		}
		if len(all) > 0 {
			problems = append(problems, checkSuccession(all[len(all)-1], s)...)
		}
		all = append(all, s)
	}
	return all, problems, nil
}

// checkSuccession returns the reasons why a checkpoint cannot come after another.
func checkSuccession(before, after Signed) []Problem {
	var problems []Problem
	bad := func(chain op.UUID, seq int64, format string, args ...any) {
		problems = append(problems, Problem{File: after.File, Chain: chain, Seq: seq, Message: fmt.Sprintf(format, args...)})
	}
	if !after.Time.After(before.Time) {
		bad("", 0, "its signed time is not after that of %s", before.File)
	}
	now := make(map[op.UUID]SignedHead, len(after.Heads))
	for _, h := range after.Heads {
		now[h.Chain] = h
	}
	for _, h := range before.Heads {
		switch later, ok := now[h.Chain]; {
		case !ok:
			bad(h.Chain, h.Size, "the chain is missing, but %s has %d entries of it", before.File, h.Size)
		case later.Size < h.Size:
			bad(h.Chain, later.Size+1, "the chain has %d entries, fewer than the %d in %s", later.Size, h.Size, before.File)
		case later.Size == h.Size && !bytes.Equal(later.Hash, h.Hash):
			bad(h.Chain, h.Size, "the hash of the chain's last entry differs from %s", before.File)
		}
	}
	return problems
}

// hashesAtSQL reads the hashes at given positions of chains; a missing entry is NULL.
const hashesAtSQL = `
SELECT w.n::integer - 1 AS index, e.hash
FROM unnest(@chains::uuid[], @sizes::bigint[]) WITH ORDINALITY AS w (chain_id, seq, n)
LEFT JOIN audit.entries e ON e.chain_id = w.chain_id AND e.seq = w.seq`

// maxPositions limits how many hashes one statement reads.
const maxPositions = 10_000

// compareWithCheckpoints looks up the entry with which each chain ended at each checkpoint, oldest
// first. It returns at most one problem per chain: the first checkpoint that no longer
// matches.
func compareWithCheckpoints(ctx context.Context, tx postgres.Querier, checkpoints []Signed) ([]Problem, error) {
	type position struct {
		SignedHead
		from Signed
	}
	var wanted []position
	last := make(map[op.UUID]int64)
	for _, s := range checkpoints {
		for _, h := range s.Heads {
			// A chain without new entries has the same size in every checkpoint; follows has
			// compared the hashes.
			if h.Size > last[h.Chain] {
				wanted = append(wanted, position{h, s})
				last[h.Chain] = h.Size
			}
		}
	}
	var problems []Problem
	found := make(map[op.UUID]bool)
	for len(wanted) > 0 {
		n := min(len(wanted), maxPositions)
		chains, sizes := make([]op.UUID, n), make([]int64, n)
		for i, w := range wanted[:n] {
			chains[i], sizes[i] = w.Chain, w.Size
		}
		type stored struct {
			Index int
			Hash  []byte
		}
		rows, err := postgres.Collect[stored](ctx, tx, hashesAtSQL, postgres.Args{"chains": chains, "sizes": sizes})
		if err != nil {
			return nil, postgres.MapError(err)
		}
		hashes := make([][]byte, n)
		for _, r := range rows {
			hashes[r.Index] = r.Hash
		}
		for i, w := range wanted[:n] {
			at := w.from.Time.Format(time.RFC3339)
			switch {
			case found[w.Chain] || bytes.Equal(hashes[i], w.Hash):
				continue
			case hashes[i] == nil:
				problems = append(problems, Problem{File: w.from.File, Chain: w.Chain, Seq: w.Size,
					Message: fmt.Sprintf("missing: the checkpoint of %s recorded %d entries", at, w.Size)})
			default:
				problems = append(problems, Problem{File: w.from.File, Chain: w.Chain, Seq: w.Size,
					Message: fmt.Sprintf("it differs from the entry in the checkpoint of %s", at)})
			}
			found[w.Chain] = true
		}
		wanted = wanted[n:]
	}
	return problems, nil
}
