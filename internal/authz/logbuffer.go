package authz

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

// LogWriter stores a batch of decision records, all or none.
type LogWriter func(ctx context.Context, records []DecisionRecord) error

// LogConfig is what a Log is made of.
type LogConfig struct {
	// Write stores batches; it is called by one goroutine at a time.
	Write LogWriter
	// Capacity bounds the records that wait; zero is 8192. What comes when it
	// is full is dropped and counted.
	Capacity int
	// Batch bounds the records of one write; zero is 500.
	Batch int
	// Interval bounds how long a record waits for company; zero is one second.
	Interval time.Duration
	// Attempts bounds the tries of one batch, which is dropped and counted
	// after the last; zero is 3.
	Attempts int
	// Logger hears of failed writes; nil is slog.Default.
	Logger *slog.Logger
}

// Log is the decision log's buffer: asynchronous and bounded. Record never
// waits; Run writes.
type Log struct {
	cfg     LogConfig
	queue   chan DecisionRecord
	dropped atomic.Uint64
	written atomic.Uint64
}

// NewLog makes a Log; without a writer it is an error.
func NewLog(cfg LogConfig) (*Log, error) {
	if cfg.Write == nil {
		return nil, errors.New("authz: a decision log needs a writer")
	}
	if cfg.Capacity <= 0 {
		cfg.Capacity = 8192
	}
	if cfg.Batch <= 0 {
		cfg.Batch = 500
	}
	if cfg.Interval <= 0 {
		cfg.Interval = time.Second
	}
	if cfg.Attempts <= 0 {
		cfg.Attempts = 3
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Log{cfg: cfg, queue: make(chan DecisionRecord, cfg.Capacity)}, nil
}

// Record takes a record, or drops and counts it.
func (l *Log) Record(r DecisionRecord) {
	select {
	case l.queue <- r:
	default:
		l.dropped.Add(1)
	}
}

// Dropped counts the records that were lost: taken by a full buffer, or by a
// writer that kept failing.
func (l *Log) Dropped() uint64 { return l.dropped.Load() }

// Written counts the records that were stored.
func (l *Log) Written() uint64 { return l.written.Load() }

// drainTime bounds how long Run goes on writing after its context ended.
const drainTime = 5 * time.Second

// Run writes until the context ends, then writes what waits and returns. Call
// it once.
func (l *Log) Run(ctx context.Context) {
	tick := time.NewTicker(l.cfg.Interval)
	defer tick.Stop()
	batch := make([]DecisionRecord, 0, l.cfg.Batch)
	for {
		select {
		case r := <-l.queue:
			if batch = append(batch, r); len(batch) < l.cfg.Batch {
				continue
			}
		case <-tick.C:
		case <-ctx.Done():
			l.drain(context.WithoutCancel(ctx), batch)
			return
		}
		l.flush(ctx, batch)
		batch = batch[:0]
	}
}

func (l *Log) drain(ctx context.Context, batch []DecisionRecord) {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	for {
		select {
		case r := <-l.queue:
			if batch = append(batch, r); len(batch) < l.cfg.Batch {
				continue
			}
			l.flush(ctx, batch)
			batch = batch[:0]
		default:
			l.flush(ctx, batch)
			return
		}
	}
}

// flush stores a batch, trying again with a growing pause.
func (l *Log) flush(ctx context.Context, batch []DecisionRecord) {
	if len(batch) == 0 {
		return
	}
	var err error
	for attempt := range l.cfg.Attempts {
		if attempt > 0 && !pause(ctx, time.Duration(attempt)*100*time.Millisecond) {
			break
		}
		if err = l.cfg.Write(context.WithoutCancel(ctx), batch); err == nil {
			l.written.Add(uint64(len(batch)))
			return
		}
	}
	l.dropped.Add(uint64(len(batch)))
	l.cfg.Logger.ErrorContext(ctx, "decision records lost", "records", len(batch), "error", err)
}

// pause waits, or tells that the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
