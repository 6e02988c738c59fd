// Package decisionlog stores the decision log: it receives the records of the policy
// engine, which are already masked, and writes them to audit.decisions, where a tenant's
// auditors read them.
//
// A decision never waits for its record: Record puts it into a bounded buffer, or drops and
// counts it if the buffer is full. Records are written in batches in the background. If the
// database rejects a record, the others are still written.
//
// A record refers to the subject of its decision by digest. The subject itself is in
// audit.decision_subjects, once per tenant and digest: it is written with the first
// record that refers to it and deleted after the last.
package decisionlog

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"parapet/internal/authz"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// noTenant is stored as the tenant of a decision that was made before the tenant was
// known.
const noTenant op.UUID = "00000000-0000-0000-0000-000000000000"

// Config configures a Log.
type Config struct {
	// Pool is a pool of parapet_jobs.
	Pool *postgres.Pool
	Log  *slog.Logger
	// Buffer is the maximum number of waiting records; 8,192 if zero.
	Buffer int
	// Batch is the maximum number of records per statement; 1,000 if zero.
	Batch int
	// Every is the interval between writes; 500 ms if zero.
	Every time.Duration
}

// Log is an authz.DecisionSink that writes records to the database. It is safe for
// concurrent use.
type Log struct {
	cfg     Config
	queued  chan authz.DecisionRecord
	dropped atomic.Int64
	written atomic.Int64
	// stored has the subjects that were written, unless retention has deleted them since.
	// Only Run uses it.
	stored map[subjectKey]struct{}
}

// subjectKey identifies a snapshot of a subject.
type subjectKey struct {
	tenant op.UUID
	digest authz.Digest
}

// maxStoredBytes limits how many subjects stored remembers.
const maxStoredBytes = 16384

var _ authz.DecisionSink = (*Log)(nil)

// New returns a Log. It writes nothing until Run is called.
func New(cfg Config) *Log {
	if cfg.Buffer <= 0 {
		cfg.Buffer = 8192
	}
	if cfg.Batch <= 0 {
		cfg.Batch = 1000
	}
	if cfg.Every <= 0 {
		cfg.Every = 500 * time.Millisecond
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Log{cfg: cfg, queued: make(chan authz.DecisionRecord, cfg.Buffer), stored: map[subjectKey]struct{}{}}
}

// Record queues a record, or drops and counts it if the buffer is full.
func (l *Log) Record(r authz.DecisionRecord) {
	select {
	case l.queued <- r:
	default:
		l.dropped.Add(1)
	}
}

// Dropped returns the number of records lost since the start.
func (l *Log) Dropped() int64 { return l.dropped.Load() }

// Written returns the number of records written since the start.
func (l *Log) Written() int64 { return l.written.Load() }

// writeTimeout limits the statement of a batch, and so how long a stop takes.
const writeTimeout = 5 * time.Second

// Run writes records until ctx ends, and then the remaining ones. A batch that is being
// written when ctx ends is completed.
func (l *Log) Run(ctx context.Context) {
	batch := make([]authz.DecisionRecord, 0, l.cfg.Batch)
	timer := time.NewTicker(l.cfg.Every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			for batch = l.nextBatch(batch); len(batch) > 0; batch = l.nextBatch(batch[:0]) {
				l.write(ctx, batch)
			}
			return
		case r := <-l.queued:
			if batch = append(batch, r); len(batch) < l.cfg.Batch {
				continue
			}
		case <-timer.C:
		}
		if len(batch) > 0 {
			l.write(ctx, batch)
			batch = batch[:0]
		}
	}
}

// nextBatch fills a batch with the waiting records.
func (l *Log) nextBatch(batch []authz.DecisionRecord) []authz.DecisionRecord {
	for len(batch) < l.cfg.Batch {
		select {
		case r := <-l.queued:
			batch = append(batch, r)
		default:
			return batch
		}
	}
	return batch
}

// write retries a batch a few times while the database is unreachable, and writes the
// records one by one if the database rejects the batch.
func (l *Log) write(ctx context.Context, batch []authz.DecisionRecord) {
	const tries = 3
	var err error
	for try := range tries {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		err = l.insert(bounded, l.cfg.Pool, batch)
		cancel()
		if err == nil {
			l.written.Add(int64(len(batch)))
			return
		}
		if isSubjectMissing(err) {
			continue
		}
		if !fault.HasCode(err, fault.CodeUnavailable) {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(try+1) * 200 * time.Millisecond):
		}
	}
	if len(batch) > 1 && !fault.HasCode(err, fault.CodeUnavailable) {
		for i := range batch {
			l.write(ctx, batch[i:i+1])
		}
		return
	}
	l.dropped.Add(int64(len(batch)))
	l.cfg.Log.ErrorContext(ctx, "decision log: records could not be written", "records", len(batch), "error", err)
}
