-- The answers of writes that named an idempotency key. A row is claimed and filled in the transaction of the change itself;
-- it is visible to the database role that wrote it and to nobody else, so that no module reads another's answers.
-- Kept for a day; the housekeeping job deletes older ones.

CREATE TABLE events.idempotency_keys (
    tenant_id    uuid        NOT NULL,
    actor_id     uuid        NOT NULL,
    operation    text        NOT NULL,
    key          text        NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    request_hash text        NOT NULL,
    response     bytea,
    created_at   timestamptz NOT NULL,
    writer       text        NOT NULL DEFAULT current_user,
    PRIMARY KEY (tenant_id, actor_id, operation, key)
);

CREATE INDEX idempotency_keys_age ON events.idempotency_keys (tenant_id, created_at);

ALTER TABLE events.idempotency_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE events.idempotency_keys FORCE ROW LEVEL SECURITY;

CREATE POLICY idempotency_keys_tenant ON events.idempotency_keys
    TO parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid AND writer = current_user)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid AND writer = current_user);

CREATE POLICY idempotency_keys_housekeeping ON events.idempotency_keys
    FOR ALL TO parapet_jobs USING (true) WITH CHECK (false);

GRANT SELECT, INSERT, UPDATE (response) ON events.idempotency_keys TO parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki;
GRANT SELECT (tenant_id, created_at), DELETE ON events.idempotency_keys TO parapet_jobs;
