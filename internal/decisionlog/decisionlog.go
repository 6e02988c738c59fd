// Package decisionlog owns the decision log: it takes the records of the policy
// engine, which are masked already, and keeps them in audit.decisions, where a
// tenant's auditors read them.
//
// It promises that a decision never waits for its record: Record puts it into a
// bounded buffer, and drops and counts it where there is no room. Records are
// written in batches, behind. A record that the database refuses costs no other.
package decisionlog

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"parapet/internal/authz"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
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
	waiting chan authz.DecisionRecord
	dropped atomic.Int64
	written atomic.Int64
}

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
	return &Log{cfg: cfg, waiting: make(chan authz.DecisionRecord, cfg.Buffer)}
}

// Record takes a record, or drops and counts it.
func (l *Log) Record(r authz.DecisionRecord) {
	select {
	case l.waiting <- r:
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
			for batch = l.take(batch); len(batch) > 0; batch = l.take(batch[:0]) {
				l.write(ctx, batch)
			}
			return
		case r := <-l.waiting:
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

// take fills a batch with what waits now.
func (l *Log) take(batch []authz.DecisionRecord) []authz.DecisionRecord {
	for len(batch) < l.cfg.Batch {
		select {
		case r := <-l.waiting:
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
		err = insert(bounded, l.cfg.Pool, batch)
		cancel()
		if err == nil {
			l.written.Add(int64(len(batch)))
			return
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

// Row-level security admits no COPY; one INSERT from arrays is nearly as quick.
const sqlInsert = `
INSERT INTO audit.decisions
	(tenant_id, id, decided_at, actor_id, rule, permission, module, input, allow, hidden, reasons, revision, request_id,
	 credential_id, credential_kind)
SELECT tenant_id, id, decided_at, actor_id, rule, permission, module, input::json, allow, hidden,
       ARRAY(SELECT json_array_elements_text(reasons::json)), revision, request_id,
       nullif(credential_id, '')::uuid, nullif(credential_kind, '')
FROM unnest(@tenants::uuid[], @ids::uuid[], @times::timestamptz[], @actors::text[], @rules::text[], @permissions::text[],
            @modules::text[], @inputs::text[], @allows::boolean[], @hiddens::boolean[], @reasons::text[], @revisions::text[],
            @requests::text[], @credentials::text[], @credential_kinds::text[])
     AS d (tenant_id, id, decided_at, actor_id, rule, permission, module, input, allow, hidden, reasons, revision, request_id,
           credential_id, credential_kind)`

func insert(ctx context.Context, q postgres.Querier, batch []authz.DecisionRecord) error {
	n := len(batch)
	var (
		tenants, ids           = make([]op.UUID, n), make([]op.UUID, n)
		times                  = make([]time.Time, n)
		allows, hiddens        = make([]bool, n), make([]bool, n)
		actors, rules, perms   = make([]string, n), make([]string, n), make([]string, n)
		modules, inputs        = make([]string, n), make([]string, n)
		reasons, revs, request = make([]string, n), make([]string, n), make([]string, n)
		credentials, kinds     = make([]string, n), make([]string, n)
	)
	for i := range batch {
		r := &batch[i]
		tenant, err := op.ParseUUID(r.Tenant)
		if err != nil {
			tenant = noTenant
		}
		input, err := json.Marshal(r.Input)
		if err != nil {
			return fmt.Errorf("decisionlog: input: %w", err)
		}
		why, err := json.Marshal(append([]string{}, r.Reasons...))
		if err != nil {
			return fmt.Errorf("decisionlog: reasons: %w", err)
		}
		tenants[i], ids[i], times[i], actors[i], rules[i], perms[i] = tenant, uid.New(), r.Time, r.Actor, r.Rule, r.Permission
		modules[i], inputs[i], allows[i], hiddens[i] = r.Module, string(input), r.Allow, r.Hidden
		reasons[i], revs[i], request[i] = string(why), r.Revision, r.RequestID
		credentials[i], kinds[i] = r.Credential.ID, r.Credential.Kind
	}
	_, err := q.Exec(ctx, sqlInsert, postgres.Args{
		"tenants": tenants, "ids": ids, "times": times, "actors": actors, "rules": rules, "permissions": perms, "modules": modules,
		"inputs": inputs, "allows": allows, "hiddens": hiddens, "reasons": reasons, "revisions": revs, "requests": request,
		"credentials": credentials, "credential_kinds": kinds,
	})
	return postgres.MapError(err)
}

const sqlPrune = `
DELETE FROM audit.decisions WHERE (tenant_id, id) IN (
	SELECT tenant_id, id FROM audit.decisions WHERE decided_at < @before LIMIT @batch)`

// Prune deletes the records of before the given moment, in small statements.
func Prune(ctx context.Context, q postgres.Querier, before time.Time) (int64, error) {
	const batch = 5000
	var total int64
	for {
		tag, err := q.Exec(ctx, sqlPrune, postgres.Args{"before": before, "batch": batch})
		if err != nil {
			return total, fmt.Errorf("decisionlog: prune: %w", err)
		}
		total += tag.RowsAffected()
		if tag.RowsAffected() < batch {
			return total, nil
		}
	}
}
