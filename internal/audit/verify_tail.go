package audit

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// CheckpointFolder is a folder of checkpoints with the secret key that signed them. The zero
// value means that there are no checkpoints.
type CheckpointFolder struct{ Dir, Key string }

// TailReport is the result of VerifyTail.
type TailReport struct {
	Report
	// Unverified is the number of chains that the time limit left out.
	Unverified int
}

// tailSQL reads the entries of a chain from a position on, in order.
const tailSQL = `
SELECT chain_id, seq, id, tenant_id, actor_id, on_behalf_of, actor_type, action, resource_type, resource_id, module,
       changes::text, correlation_id, created_at, classification, credential_id, credential_kind, version, hash
FROM audit.entries
WHERE chain_id = @chain AND seq >= @from
ORDER BY seq`

// VerifyTail verifies the newest entries of each chain, at most entries of them, and stops
// between two chains after limit. It detects a change or removal of these entries, but not of
// older ones: VerifyAll reads everything. It also compares all chains with the newest
// checkpoint of the folder. pool must use parapet_jobs.
func VerifyTail(ctx context.Context, pool *postgres.Pool, entries int64, limit time.Duration, folder CheckpointFolder, now time.Time) (TailReport, error) {
	var report TailReport
	last, problems, err := folder.last(now)
	if err != nil {
		return report, err
	}
	report.Checkpoints, report.Problems = len(last), problems
	inTime, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = snapshot(ctx, pool, func(tx postgres.Querier) error {
		differences, err := compareWithCheckpoints(ctx, tx, last)
		if err != nil {
			return err
		}
		report.Problems = append(report.Problems, differences...)
		heads, err := postgres.Collect[head](ctx, tx, headsSQL, postgres.Args{"chain": (*op.UUID)(nil)})
		if err != nil {
			return postgres.MapError(err)
		}
		slices.SortFunc(heads, func(a, b head) int { return strings.Compare(string(a.Chain), string(b.Chain)) })
		for i, h := range heads {
			if inTime.Err() != nil {
				report.Unverified = len(heads) - i
				break
			}
			if err := verifyTail(ctx, tx, h, entries, &report); err != nil {
				return err
			}
		}
		return nil
	})
	return report, err
}

// verifyTail verifies the newest entries of one chain. The entry before them is not verified;
// its stored hash is the start.
func verifyTail(ctx context.Context, tx postgres.Querier, h head, entries int64, report *TailReport) error {
	from := max(h.Seq-entries, 0)
	line := &verifier{chain: h.Chain, seq: max(from-1, 0), previous: make([]byte, sha256.Size)}
	rows, err := tx.Query(ctx, tailSQL, postgres.Args{"chain": h.Chain, "from": from})
	if err != nil {
		return postgres.MapError(err)
	}
	defer rows.Close()
	var row storedRow
	for rows.Next() {
		if err := row.scan(rows); err != nil {
			return fmt.Errorf("audit: read: %w", err)
		}
		r := row.record()
		if r.Seq == from && from > 0 {
			line.seq, line.previous = r.Seq, append(line.previous[:0], r.Hash...)
			continue
		}
		line.next(r)
		report.Entries++
	}
	if err := rows.Err(); err != nil {
		return postgres.MapError(err)
	}
	line.finish(map[op.UUID]head{h.Chain: h})
	report.Chains++
	if line.problem != nil {
		report.Problems = append(report.Problems, *line.problem)
	}
	return nil
}

// VerifyAll verifies every entry of every chain and compares the chains with every checkpoint
// of the folder. pool must use parapet_jobs.
func VerifyAll(ctx context.Context, pool *postgres.Pool, folder CheckpointFolder, now time.Time) (Report, error) {
	public, names, err := folder.list()
	switch {
	case err != nil:
		return Report{}, err
	case len(names) == 0:
		return Verify(ctx, pool, "", nil)
	default:
		return VerifyCheckpoints(ctx, pool, folder.Dir, []string{public}, now, nil)
	}
}

// list returns the public key and the names of the checkpoints, oldest first.
func (f CheckpointFolder) list() (public string, names []string, err error) {
	if f.Dir == "" {
		return "", nil, nil
	}
	if public, err = publicKey(f.Key); err != nil {
		return "", nil, fmt.Errorf("audit: checkpoint key: %w", err)
	}
	names, err = checkpointNames(f.Dir)
	return public, names, err
}

// last returns the newest checkpoint, if there is one, and its problems.
func (f CheckpointFolder) last(now time.Time) ([]Signed, []Problem, error) {
	public, names, err := f.list()
	if err != nil || len(names) == 0 {
		return nil, nil, err
	}
	return readCheckpoints(f.Dir, names[len(names)-1:], []string{public}, now)
}
