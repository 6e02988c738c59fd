package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"parapet/internal/audit"
	"parapet/internal/clock"
	"parapet/internal/postgres"
)

// CheckpointConfig says where signed checkpoints of the audit chains go; without
// both there are none.
type CheckpointConfig struct {
	// Key is the secret key (see audit.NewCheckpointKey).
	Key string
	// Dir is a folder that leaves the database's reach: checkpoints are worth as
	// much as they are out of the hands of whoever can change the database.
	Dir string
	// Observe, where it is set, is called with the result of each attempt:
	// CheckpointSigned, CheckpointRefused or CheckpointFailed.
	Observe func(result string)
}

// The results of an attempt to sign a checkpoint.
const (
	CheckpointSigned = "signed"
	// CheckpointRefused says that the chains are not what was written.
	CheckpointRefused = "refused"
	// CheckpointFailed says that the database or the folder could not be read or
	// written.
	CheckpointFailed = "failed"
)

// checkpointTimeout bounds one attempt, which reads every entry.
const checkpointTimeout = 50 * time.Minute

// loggedProblems bounds the log lines of one attempt.
const loggedProblems = 20

type checkpointArgs struct{}

// Kind is the job's name.
func (checkpointArgs) Kind() string { return "audit_checkpoint" }

type checkpointWorker struct {
	river.WorkerDefaults[checkpointArgs]
	pool  *postgres.Pool
	clock clock.Clock
	log   *slog.Logger
	cfg   CheckpointConfig
}

// Timeout is longer than that of other jobs, because the chains are long.
func (w *checkpointWorker) Timeout(*river.Job[checkpointArgs]) time.Duration {
	return checkpointTimeout
}

// Work verifies the chains and signs one checkpoint. Chains that are not what was
// written are not looked at again before the next hour: another attempt would find
// the same.
func (w *checkpointWorker) Work(ctx context.Context, _ *river.Job[checkpointArgs]) error {
	result := CheckpointSigned
	err := audit.Checkpoint(ctx, w.pool, w.cfg.Key, w.cfg.Dir, w.clock.Now())
	var broken *audit.BrokenError
	switch {
	case errors.As(err, &broken):
		result = CheckpointRefused
		for i, problem := range broken.Problems {
			if i == loggedProblems {
				w.log.ErrorContext(ctx, "audit log: there are more problems; run ptd audit verify", "problems", len(broken.Problems))
				break
			}
			w.log.ErrorContext(ctx, "audit log: no checkpoint was signed", "problem", problem.String(), "folder", w.cfg.Dir)
		}
		err = river.JobCancel(err)
	case err != nil:
		result = CheckpointFailed
	}
	if w.cfg.Observe != nil {
		w.cfg.Observe(result)
	}
	return err
}
