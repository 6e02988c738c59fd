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

// CheckpointConfig configures signed checkpoints of the audit chains. If Key or Dir is
// empty, no checkpoints are signed.
type CheckpointConfig struct {
	// Key is the secret key (see audit.NewCheckpointKey).
	Key string
	// Dir is the folder for checkpoints. It must be outside the database: a checkpoint proves
	// nothing to an attacker who can change both.
	Dir string
	// Observe, if set, is called with the result of each attempt:
	// CheckpointSigned, CheckpointRefused or CheckpointFailed.
	Observe func(result string)
}

// Results of an attempt to sign a checkpoint.
const (
	CheckpointSigned = "signed"
	// CheckpointRefused means that the chains failed verification.
	CheckpointRefused = "refused"
	// CheckpointFailed means that reading or writing the database or the folder failed.
	CheckpointFailed = "failed"
)

// checkpointTimeout limits one attempt, which reads every entry.
const checkpointTimeout = 50 * time.Minute

// loggedProblems limits the log lines of one attempt.
const loggedProblems = 20

type checkpointArgs struct{}

// Kind implements river.JobArgs.
func (checkpointArgs) Kind() string { return "audit_checkpoint" }

type checkpointWorker struct {
	river.WorkerDefaults[checkpointArgs]
	pool  *postgres.Pool
	clock clock.Clock
	log   *slog.Logger
	cfg   CheckpointConfig
}

// Timeout implements river.Worker. Reading the chains takes longer than other jobs.
func (w *checkpointWorker) Timeout(*river.Job[checkpointArgs]) time.Duration {
	return checkpointTimeout
}

// Work implements river.Worker. It verifies the chains and signs one checkpoint. If
// verification fails, the job is not retried before the next hour, because a retry would
// find the same problems.
func (w *checkpointWorker) Work(ctx context.Context, _ *river.Job[checkpointArgs]) error {
	result := CheckpointSigned
	err := audit.Checkpoint(ctx, w.pool, w.cfg.Key, w.cfg.Dir, w.clock.Now())
	var broken *audit.VerificationError
	switch {
	case errors.As(err, &broken):
		result = CheckpointRefused
		for i, problem := range broken.Problems {
			if i == loggedProblems {
				w.log.ErrorContext(ctx, "audit log: more problems were found; run ptd audit verify to list them", "problems", len(broken.Problems))
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
