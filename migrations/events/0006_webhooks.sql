-- Webhooks: addresses that receive the events of a tenant, and the log of the deliveries to them.
--
-- Who may do what:
--   parapet_identity  everything in the current tenant: it manages webhooks and sends the deliveries
--   parapet_jobs      for all tenants: adds the deliveries of new events, starts the jobs that send them, deletes old ones

CREATE TABLE events.webhooks (
    tenant_id             uuid        NOT NULL,
    id                    uuid        NOT NULL,
    -- Events are delivered with the authority of this user.
    owner_id              uuid        NOT NULL,
    url                   text        NOT NULL CHECK (length(url) BETWEEN 1 AND 2000),
    description           text        NOT NULL DEFAULT '' CHECK (length(description) <= 500),
    -- Exact types, and prefixes that end in .*
    event_types           text[]      NOT NULL CHECK (cardinality(event_types) BETWEEN 1 AND 100),
    -- Events with a higher classification are not delivered, even if the owner may read them.
    max_classification    text        NOT NULL CHECK (max_classification IN ('UNCLASSIFIED', 'INTERNAL', 'RESTRICTED', 'CONFIDENTIAL', 'SECRET')),
    enabled               boolean     NOT NULL,
    disabled_reason       text        CHECK (disabled_reason IN ('REQUESTED', 'FAILING', 'GONE', 'SECRET_UNREADABLE')),
    disabled_at           timestamptz,
    -- Encrypted; the key is not in the database. Until previous_secret_until, both secrets sign.
    secret                bytea       NOT NULL,
    previous_secret       bytea,
    previous_secret_until timestamptz,
    -- Failed attempts since the last success, and when the first of them was.
    failures              integer     NOT NULL DEFAULT 0,
    failing_since         timestamptz,
    paused_until          timestamptz,
    last_success_at       timestamptz,
    -- When the job that sends the deliveries runs: NULL if there is none, in the past if it waits or runs. A job with another
    -- number than this row was replaced and does nothing.
    run_at                timestamptz,
    run_number            bigint      NOT NULL DEFAULT 0,
    created_by            uuid        NOT NULL,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT webhooks_disabled CHECK (enabled = (disabled_at IS NULL) AND enabled = (disabled_reason IS NULL)),
    CONSTRAINT webhooks_previous CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL))
);

CREATE TABLE events.webhook_deliveries (
    tenant_id        uuid        NOT NULL,
    -- The header webhook-id.
    id               uuid        NOT NULL,
    webhook_id       uuid        NOT NULL,
    -- NULL for a test.
    event_id         uuid,
    event_type       text        NOT NULL,
    -- The classification of the event, which decides who may see the delivery.
    classification   text        NOT NULL,
    status           text        NOT NULL CHECK (status IN ('PENDING', 'DELIVERED', 'FAILED', 'SKIPPED')),
    attempts         integer     NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL,
    next_attempt_at  timestamptz,
    first_attempt_at timestamptz,
    last_attempt_at  timestamptz,
    finished_at      timestamptz,
    -- The result of the last attempt.
    outcome          text,
    message          text        CHECK (length(message) <= 500),
    response_status  integer,
    response_excerpt text        CHECK (length(response_excerpt) <= 4096),
    duration_ms      integer,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT webhook_deliveries_once UNIQUE (tenant_id, webhook_id, event_id),
    CONSTRAINT webhook_deliveries_webhook FOREIGN KEY (tenant_id, webhook_id) REFERENCES events.webhooks (tenant_id, id),
    CONSTRAINT webhook_deliveries_pending CHECK ((status = 'PENDING') = (next_attempt_at IS NOT NULL) AND (status = 'PENDING') = (finished_at IS NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX webhook_deliveries_due ON events.webhook_deliveries (tenant_id, webhook_id, next_attempt_at, id) WHERE status = 'PENDING';
CREATE INDEX webhook_deliveries_log ON events.webhook_deliveries (tenant_id, webhook_id, id DESC);
CREATE INDEX webhook_deliveries_age ON events.webhook_deliveries USING brin (created_at);

-- Row-level security --------------------------------------------------------------------------------------------------

ALTER TABLE events.webhooks ENABLE ROW LEVEL SECURITY;
ALTER TABLE events.webhooks FORCE ROW LEVEL SECURITY;
ALTER TABLE events.webhook_deliveries ENABLE ROW LEVEL SECURITY;
ALTER TABLE events.webhook_deliveries FORCE ROW LEVEL SECURITY;

CREATE POLICY tenant_isolation ON events.webhooks
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
CREATE POLICY tenant_isolation ON events.webhook_deliveries
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
CREATE POLICY dispatch ON events.webhooks TO parapet_jobs USING (true) WITH CHECK (true);
CREATE POLICY dispatch ON events.webhook_deliveries TO parapet_jobs USING (true) WITH CHECK (true);

-- Grants --------------------------------------------------------------------------------------------------------------

GRANT SELECT, INSERT, DELETE,
      UPDATE (owner_id, url, description, event_types, max_classification, enabled, disabled_reason, disabled_at, secret, previous_secret,
              previous_secret_until, failures, failing_since, paused_until, last_success_at, run_at, updated_at)
    ON events.webhooks TO parapet_identity;
GRANT SELECT, INSERT, DELETE,
      UPDATE (status, attempts, next_attempt_at, first_attempt_at, last_attempt_at, finished_at, outcome, message, response_status,
              response_excerpt, duration_ms)
    ON events.webhook_deliveries TO parapet_identity;
-- parapet_jobs sees neither the address nor the secrets.
GRANT SELECT (tenant_id, id, event_types, enabled, paused_until, run_at, run_number), UPDATE (run_at, run_number) ON events.webhooks TO parapet_jobs;
GRANT SELECT (tenant_id, id, webhook_id, event_id, status, created_at), INSERT, DELETE ON events.webhook_deliveries TO parapet_jobs;
