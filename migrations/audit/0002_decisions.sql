-- The decision log: what was asked of the policies and what they answered, masked. Written behind by parapet_jobs in batches,
-- read by a tenant's auditors through parapet_identity, kept for a limited time.

CREATE TABLE audit.decisions (
    -- The zero uuid where a decision was asked before a tenant was known.
    tenant_id  uuid        NOT NULL,
    -- Version 7: the order of ids is the order of time.
    id         uuid        NOT NULL,
    decided_at timestamptz NOT NULL,
    actor_id   text        NOT NULL,
    -- The entrypoint that answered.
    rule       text        NOT NULL,
    permission text        NOT NULL,
    module     text        NOT NULL,
    input      json        NOT NULL,
    allow      boolean     NOT NULL,
    hidden     boolean     NOT NULL,
    reasons    text[]      NOT NULL,
    revision   text        NOT NULL,
    request_id text        NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX decisions_by_actor ON audit.decisions (tenant_id, actor_id, id);
-- For the retention job alone, which goes by age through all tenants; a BRIN costs next to nothing to keep.
CREATE INDEX decisions_age ON audit.decisions USING brin (decided_at);

ALTER TABLE audit.decisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit.decisions FORCE ROW LEVEL SECURITY;
CREATE POLICY read ON audit.decisions FOR SELECT TO parapet_identity
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
CREATE POLICY jobs ON audit.decisions TO parapet_jobs USING (true) WITH CHECK (true);

GRANT SELECT ON audit.decisions TO parapet_identity;
GRANT INSERT, DELETE, SELECT (tenant_id, id, decided_at) ON audit.decisions TO parapet_jobs;
