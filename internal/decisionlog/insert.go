package decisionlog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"parapet/internal/authz"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

// insertSQL writes a batch of records and the subjects that they refer to. COPY does not work
// with row-level security; an INSERT from arrays is nearly as fast.
const insertSQL = `
WITH stored AS (
	INSERT INTO audit.decision_subjects (tenant_id, digest, document)
	SELECT tenant_id, digest, document::json
	FROM unnest(@subject_tenants::uuid[], @subject_digests::bytea[], @subject_documents::text[]) AS s (tenant_id, digest, document)
	ON CONFLICT (tenant_id, digest) DO NOTHING)
INSERT INTO audit.decisions
	(tenant_id, id, decided_at, actor_id, rule, permission, module, input, allow, hidden, reasons, revision, request_id,
	 credential_id, credential_kind, subject_digest)
SELECT tenant_id, id, decided_at, actor_id, rule, permission, module, input::json, allow, hidden,
       ARRAY(SELECT json_array_elements_text(reasons::json)), revision, request_id,
       nullif(credential_id, '')::uuid, nullif(credential_kind, ''), subject_digest
FROM unnest(@tenants::uuid[], @ids::uuid[], @times::timestamptz[], @actors::text[], @rules::text[], @permissions::text[],
            @modules::text[], @inputs::text[], @allows::boolean[], @hiddens::boolean[], @reasons::text[], @revisions::text[],
            @requests::text[], @credentials::text[], @credential_kinds::text[], @subjects::bytea[])
     AS d (tenant_id, id, decided_at, actor_id, rule, permission, module, input, allow, hidden, reasons, revision, request_id,
           credential_id, credential_kind, subject_digest)`

// insert writes a batch, with the subjects that are not known to be stored.
func (l *Log) insert(ctx context.Context, q postgres.Querier, batch []authz.DecisionRecord) error {
	n := len(batch)
	var (
		tenants, ids           = make([]op.UUID, n), make([]op.UUID, n)
		times                  = make([]time.Time, n)
		allows, hiddens        = make([]bool, n), make([]bool, n)
		actors, rules, perms   = make([]string, n), make([]string, n), make([]string, n)
		modules, inputs        = make([]string, n), make([]string, n)
		reasons, revs, request = make([]string, n), make([]string, n), make([]string, n)
		credentials, kinds     = make([]string, n), make([]string, n)
		named                  = make([][]byte, n)
	)
	missing := subjects{}
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
		if r.Subject != nil {
			named[i] = r.Subject.Digest[:]
			key := subjectKey{tenant, r.Subject.Digest}
			if _, ok := l.stored[key]; !ok {
				missing[key] = string(r.Subject.Document)
			}
		}
	}
	subjectTenants, digests, documents := missing.rows()
	_, err := q.Exec(ctx, insertSQL, postgres.Args{
		"tenants": tenants, "ids": ids, "times": times, "actors": actors, "rules": rules, "permissions": perms, "modules": modules,
		"inputs": inputs, "allows": allows, "hiddens": hiddens, "reasons": reasons, "revisions": revs, "requests": request,
		"credentials": credentials, "credential_kinds": kinds, "subjects": named,
		"subject_tenants": subjectTenants, "subject_digests": digests, "subject_documents": documents,
	})
	switch {
	case err == nil:
		l.rememberStored(missing)
	case isSubjectMissing(err):
		// Retention has deleted subjects that were remembered as stored.
		clear(l.stored)
		return err
	}
	return postgres.MapError(err)
}

// isSubjectMissing reports whether a record refers to a subject that is not stored.
func isSubjectMissing(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23503" && pg.ConstraintName == "decisions_subject_is_stored"
}

func (l *Log) rememberStored(s subjects) {
	if len(l.stored)+len(s) > maxStoredBytes {
		clear(l.stored)
	}
	for key := range s {
		l.stored[key] = struct{}{}
	}
}

// subjects are snapshots to store.
type subjects map[subjectKey]string

// rows returns the subjects in an order that all processes share, so that two batches
// cannot deadlock.
func (s subjects) rows() (tenants []op.UUID, digests [][]byte, documents []string) {
	keys := slices.SortedFunc(maps.Keys(s), func(a, b subjectKey) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), bytes.Compare(a.digest[:], b.digest[:]))
	})
	tenants, digests, documents = make([]op.UUID, len(keys)), make([][]byte, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		tenants[i], digests[i], documents[i] = key.tenant, key.digest[:], s[key]
	}
	return tenants, digests, documents
}
