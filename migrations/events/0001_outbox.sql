-- The outbox: a domain event is a row, written in the transaction of its change. The dispatcher (parapet_jobs) hands each row
-- to the queues of the subscribers that want it; each subscriber works through its own queue at its own pace.
--
-- Who may do what:
--   modules           write events of the current tenant (app.tenant_id)
--   parapet_auth      also events without a tenant, under the zero uuid
--   parapet_identity  read the current tenant's events and notifications, mark notifications read
--   parapet_jobs      everything that dispatching and retention need, for all tenants

CREATE TABLE events.outbox (
    tenant_id      uuid        NOT NULL,
    id             uuid        NOT NULL,
    -- The envelope's sequence: rises with each event of an aggregate, because whoever changes an aggregate holds its lock from
    -- before the insert until the commit. Gaps mean nothing.
    position       bigint      GENERATED ALWAYS AS IDENTITY,
    type           text        NOT NULL CHECK (type ~ '^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$'),
    aggregate_type text        NOT NULL CHECK (aggregate_type <> ''),
    aggregate_id   text        NOT NULL CHECK (aggregate_id <> ''),
    occurred_at    timestamptz NOT NULL,
    actor_id       uuid,
    correlation_id uuid        NOT NULL,
    payload        jsonb       NOT NULL,
    dispatched_at  timestamptz,
    PRIMARY KEY (tenant_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
-- The dispatcher's queue goes through all tenants in one order, so these two begin with no tenant.
CREATE INDEX outbox_undispatched ON events.outbox (position) WHERE dispatched_at IS NULL;
CREATE INDEX outbox_dispatched ON events.outbox USING brin (dispatched_at);

-- One row for an event that a subscriber has still to take. Taken, it is deleted; parked, it stays for a person to look at.
CREATE TABLE events.deliveries (
    tenant_id       uuid        NOT NULL,
    subscriber      text        NOT NULL,
    event_id        uuid        NOT NULL,
    position        bigint      NOT NULL,
    aggregate_type  text        NOT NULL,
    aggregate_id    text        NOT NULL,
    attempts        integer     NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    parked_at       timestamptz,
    last_error      text,
    PRIMARY KEY (tenant_id, subscriber, event_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX deliveries_queue ON events.deliveries (subscriber, position) WHERE parked_at IS NULL;
-- What has failed and will be tried again holds up later events of its aggregate, and nothing else.
CREATE INDEX deliveries_failing ON events.deliveries (subscriber, tenant_id, aggregate_type, aggregate_id, position)
    WHERE attempts > 0 AND parked_at IS NULL;

-- What a subscriber has taken, written with its effect: an event that comes again finds its id here.
CREATE TABLE events.processed (
    tenant_id    uuid        NOT NULL,
    subscriber   text        NOT NULL,
    event_id     uuid        NOT NULL,
    processed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, subscriber, event_id)
);
CREATE INDEX processed_age ON events.processed USING brin (processed_at);

-- What people should know of: the first subscriber's rows. A notification is for one user, or for the tenant's administrators.
CREATE TABLE events.notifications (
    tenant_id  uuid        NOT NULL,
    id         uuid        NOT NULL,
    event_id   uuid        NOT NULL,
    audience   text        NOT NULL CHECK (audience IN ('USER', 'ADMINISTRATORS')),
    user_id    uuid,
    type       text        NOT NULL,
    subject    text        NOT NULL,
    payload    jsonb       NOT NULL,
    created_at timestamptz NOT NULL,
    read_at    timestamptz,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT notifications_once UNIQUE NULLS NOT DISTINCT (tenant_id, event_id, audience, user_id),
    CONSTRAINT notifications_user CHECK ((audience = 'USER') = (user_id IS NOT NULL))
);
CREATE INDEX notifications_feed ON events.notifications (tenant_id, user_id, id DESC);
CREATE INDEX notifications_age ON events.notifications USING brin (created_at);

-- Row-level security --------------------------------------------------------------------------------------------------

ALTER TABLE events.outbox ENABLE ROW LEVEL SECURITY;
ALTER TABLE events.outbox FORCE ROW LEVEL SECURITY;
ALTER TABLE events.deliveries ENABLE ROW LEVEL SECURITY;
ALTER TABLE events.deliveries FORCE ROW LEVEL SECURITY;
ALTER TABLE events.processed ENABLE ROW LEVEL SECURITY;
ALTER TABLE events.processed FORCE ROW LEVEL SECURITY;
ALTER TABLE events.notifications ENABLE ROW LEVEL SECURITY;
ALTER TABLE events.notifications FORCE ROW LEVEL SECURITY;

CREATE POLICY publish ON events.outbox FOR INSERT
    TO parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid AND dispatched_at IS NULL);
CREATE POLICY publish_auth ON events.outbox FOR INSERT TO parapet_auth
    WITH CHECK (tenant_id IN (nullif(current_setting('app.tenant_id', true), '')::uuid, '00000000-0000-0000-0000-000000000000')
        AND dispatched_at IS NULL);
CREATE POLICY read ON events.outbox FOR SELECT TO parapet_identity
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
CREATE POLICY dispatch ON events.outbox TO parapet_jobs USING (true) WITH CHECK (true);
CREATE POLICY dispatch ON events.deliveries TO parapet_jobs USING (true) WITH CHECK (true);
CREATE POLICY dispatch ON events.processed TO parapet_jobs USING (true) WITH CHECK (true);
CREATE POLICY dispatch ON events.notifications TO parapet_jobs USING (true) WITH CHECK (true);
CREATE POLICY read ON events.notifications FOR SELECT TO parapet_identity
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
CREATE POLICY mark_read ON events.notifications FOR UPDATE TO parapet_identity
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

GRANT INSERT ON events.outbox TO parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki, parapet_auth;
GRANT SELECT ON events.outbox TO parapet_identity;
GRANT SELECT, INSERT, DELETE, UPDATE (dispatched_at) ON events.outbox TO parapet_jobs;
GRANT SELECT, INSERT, DELETE, UPDATE (attempts, next_attempt_at, parked_at, last_error) ON events.deliveries TO parapet_jobs;
GRANT SELECT, INSERT, DELETE ON events.processed TO parapet_jobs;
GRANT SELECT, INSERT, DELETE ON events.notifications TO parapet_jobs;
GRANT SELECT, UPDATE (read_at) ON events.notifications TO parapet_identity;
