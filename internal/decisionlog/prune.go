package decisionlog

import (
	"context"
	"fmt"
	"time"

	"parapet/internal/postgres"
)

const pruneSQL = `
DELETE FROM audit.decisions WHERE (tenant_id, id) IN (
	SELECT tenant_id, id FROM audit.decisions WHERE decided_at < @before LIMIT @batch)`

// pruneSubjectsSQL deletes only old subjects, because a recent one may have been written
// before its records. If a record arrives while its subject is deleted, the foreign key
// rejects it and it is written again with the subject.
const pruneSubjectsSQL = `
DELETE FROM audit.decision_subjects WHERE (tenant_id, digest) IN (
	SELECT s.tenant_id, s.digest FROM audit.decision_subjects s
	WHERE s.stored_at < @before
	  AND NOT EXISTS (SELECT FROM audit.decisions d WHERE d.tenant_id = s.tenant_id AND d.subject_digest = s.digest)
	LIMIT @batch)`

// Prune deletes the records that are older than before, and then the subjects older than
// before to which no record refers, in small statements. It returns the number of deleted
// rows.
func Prune(ctx context.Context, q postgres.Querier, before time.Time) (int64, error) {
	records, err := prune(ctx, q, pruneSQL, before)
	if err != nil {
		return records, err
	}
	subjects, err := prune(ctx, q, pruneSubjectsSQL, before)
	return records + subjects, err
}

func prune(ctx context.Context, q postgres.Querier, sql string, before time.Time) (int64, error) {
	const batch = 5000
	n, err := postgres.DeleteInBatches(ctx, q, batch, sql, postgres.Args{"before": before, "batch": batch})
	if err != nil {
		return n, fmt.Errorf("decisionlog: prune: %w", err)
	}
	return n, nil
}
