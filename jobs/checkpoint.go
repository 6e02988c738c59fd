package jobs

import (
	"context"
	"path/filepath"

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
}

type checkpointArgs struct{}

// Kind is the job's name.
func (checkpointArgs) Kind() string { return "audit_checkpoint" }

type checkpointWorker struct {
	river.WorkerDefaults[checkpointArgs]
	pool  *postgres.Pool
	clock clock.Clock
	cfg   CheckpointConfig
}

// Work writes one checkpoint, named by its time.
func (w *checkpointWorker) Work(ctx context.Context, _ *river.Job[checkpointArgs]) error {
	now := w.clock.Now()
	path := filepath.Join(w.cfg.Dir, "audit-"+now.Format("20060102T150405Z")+".checkpoint")
	return audit.Checkpoint(ctx, w.pool, w.cfg.Key, path, now)
}
