// Package decisionlog owns the decision log: it takes the records of the policy
// engine, which are masked already, and keeps them in audit.decisions, where a
// tenant's auditors read them.
//
// It promises that a decision never waits for its record: Record puts it into a
// bounded buffer, and drops and counts it where there is no room. Records are
// written in batches, behind. A record that the database refuses costs no other.
//
// A record names the subject of its decision by digest. The subject itself is in
// audit.decision_subjects, once for a tenant and digest: it is written with the first
// record that names it and deleted when the last one has been.
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

// noTenant stands for the tenant of a decision that was asked before one was
// known.
const noTenant op.UUID = "00000000-0000-0000-0000-000000000000"

// Config is what a Log is made from.
type Config struct {
	// Pool is parapet_jobs'.
	Pool *postgres.Pool
	Log  *slog.Logger
	// Buffer is how many records may wait; 8,192 if zero.
	Buffer int
	// Batch is how many are written at a time; 1,000 if zero.
	Batch int
	// Every is how long a record waits for company; 500 ms if zero.
	Every time.Duration
}

// Log is a sink of decision records. It is safe for concurrent use.
type Log struct {
	cfg     Config
	queued  chan authz.DecisionRecord
	dropped atomic.Int64
	written atomic.Int64
	// stored are subjects that the table has, unless retention has deleted them since.
	// Run alone uses it.
	stored map[subjectKey]struct{}
}

// subjectKey names a snapshot of a subject.
type subjectKey struct {
	tenant op.UUID
	digest authz.Digest
}

// maxStoredBytes bounds how many subjects a Log remembers as stored.
const maxStoredBytes = 16384

var _ authz.DecisionSink = (*Log)(nil)

// New makes a Log. Nothing is written before Run runs.
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

// Record takes a record, or drops and counts it.
func (l *Log) Record(r authz.DecisionRecord) {
	select {
	case l.queued <- r:
	default:
		l.dropped.Add(1)
	}
}

// Dropped is how many records were lost since the start.
func (l *Log) Dropped() int64 { return l.dropped.Load() }

// Written is how many records were written since the start.
func (l *Log) Written() int64 { return l.written.Load() }

// writeTimeout bounds a batch's statement, and so what a stop waits for.
const writeTimeout = 5 * time.Second

// Run writes until ctx ends, and then what still waits. A batch that is being
// written when ctx ends is written to its end.
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

// nextBatch fills a batch with what waits now.
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

// write tries a batch a few times while the database cannot be reached, and
// record by record when it refuses the batch.
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
		if subjectIsMissing(err) {
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
	l.cfg.Log.ErrorContext(ctx, "decision log: records were not written", "records", len(batch), "error", err)
}
