-- The audit log: one hash chain per tenant, and one, under the zero uuid, for entries without a tenant.
--
-- hash = sha256(hash of the entry before || RFC 8785 canonical JSON of every other column); the first entry follows 32 zero
-- bytes. internal/audit writes and verifies it and describes the format.
--
-- Who may do what:
--   modules           append to the chain of the current tenant (app.tenant_id)
--   parapet_auth      also to the chain without a tenant: who fails to log in has none
--   parapet_identity  read the chain of the current tenant, for the audit route
--   parapet_jobs      read all chains, to verify and to sign checkpoints
--   nobody            update, delete or truncate

CREATE TABLE audit.entries (
    chain_id       uuid        NOT NULL,
    seq            bigint      NOT NULL CHECK (seq > 0),
    id             uuid        NOT NULL,
    tenant_id      uuid,
    actor_id       uuid,
    on_behalf_of   uuid,
    actor_type     text        NOT NULL DEFAULT 'user' CHECK (actor_type <> ''),
    action         text        NOT NULL CHECK (action <> ''),
    resource_type  text        NOT NULL CHECK (resource_type <> ''),
    resource_id    text        CHECK (resource_id <> ''),
    module         text        NOT NULL DEFAULT 'system' CHECK (module <> ''),
    -- json, not jsonb: what is hashed is the very text that is stored.
    changes        json,
    correlation_id uuid        NOT NULL DEFAULT gen_random_uuid(),
    created_at     timestamptz NOT NULL DEFAULT statement_timestamp(),
    classification text        CHECK (classification <> ''),
    version        integer     NOT NULL,
    hash           bytea       NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (chain_id, seq),
    CONSTRAINT entries_chain_is_the_tenants CHECK (chain_id = coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'))
);
CREATE INDEX entries_by_actor ON audit.entries (chain_id, actor_id, seq);
CREATE INDEX entries_by_resource ON audit.entries (chain_id, resource_type, resource_id, seq);

-- The end of each chain. Its row lock makes concurrent writers one line.
CREATE TABLE audit.heads (
    chain_id uuid   PRIMARY KEY,
    seq      bigint NOT NULL CHECK (seq >= 0),
    hash     bytea  NOT NULL CHECK (length(hash) = 32)
) WITH (fillfactor = 50);

-- Immutable -----------------------------------------------------------------------------------------------------------

CREATE FUNCTION audit.refuse_change() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    RAISE EXCEPTION 'audit entries are immutable' USING ERRCODE = 'restrict_violation';
END
$$;
-- For each statement, so that one which would touch no row fails too; ALWAYS, so that session_replication_role is no way round.
CREATE TRIGGER entries_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON audit.entries
    FOR EACH STATEMENT EXECUTE FUNCTION audit.refuse_change();
ALTER TABLE audit.entries ENABLE ALWAYS TRIGGER entries_immutable;

-- A statement appends at the end, without a gap, and leaves the head at its last entry.
CREATE FUNCTION audit.check_appended() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    IF EXISTS (
        SELECT 1
        FROM (SELECT chain_id, min(seq) AS lowest, max(seq) AS highest, count(*) AS n FROM added GROUP BY chain_id) a
        LEFT JOIN audit.heads h ON h.chain_id = a.chain_id
        LEFT JOIN added last ON last.chain_id = a.chain_id AND last.seq = a.highest
        WHERE h.seq IS DISTINCT FROM a.highest OR h.hash IS DISTINCT FROM last.hash OR a.highest - a.lowest + 1 <> a.n
    ) THEN
        RAISE EXCEPTION 'audit entries are appended at the head of their chain' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER entries_appended AFTER INSERT ON audit.entries
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION audit.check_appended();

-- Row-level security --------------------------------------------------------------------------------------------------

ALTER TABLE audit.entries ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit.entries FORCE ROW LEVEL SECURITY;
ALTER TABLE audit.heads ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit.heads FORCE ROW LEVEL SECURITY;

-- The time is the server's: a statement cannot claim another.
CREATE POLICY append ON audit.entries FOR INSERT
    TO parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki
    WITH CHECK (chain_id = nullif(current_setting('app.tenant_id', true), '')::uuid
        AND created_at BETWEEN now() - interval '1 minute' AND clock_timestamp() + interval '1 minute');
CREATE POLICY append_auth ON audit.entries FOR INSERT TO parapet_auth
    WITH CHECK (chain_id IN (nullif(current_setting('app.tenant_id', true), '')::uuid, '00000000-0000-0000-0000-000000000000')
        AND created_at BETWEEN now() - interval '1 minute' AND clock_timestamp() + interval '1 minute');
CREATE POLICY read ON audit.entries FOR SELECT TO parapet_identity
    USING (chain_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
CREATE POLICY read_all ON audit.entries FOR SELECT TO parapet_jobs USING (true);

CREATE POLICY tenant_isolation ON audit.heads
    TO parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki
    USING (chain_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (chain_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
CREATE POLICY auth ON audit.heads TO parapet_auth
    USING (chain_id IN (nullif(current_setting('app.tenant_id', true), '')::uuid, '00000000-0000-0000-0000-000000000000'))
    WITH CHECK (chain_id IN (nullif(current_setting('app.tenant_id', true), '')::uuid, '00000000-0000-0000-0000-000000000000'));
CREATE POLICY read_all ON audit.heads FOR SELECT TO parapet_jobs USING (true);

REVOKE ALL ON FUNCTION audit.refuse_change(), audit.check_appended() FROM PUBLIC;
GRANT INSERT ON audit.entries TO parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki, parapet_auth;
GRANT SELECT ON audit.entries TO parapet_identity, parapet_jobs;
GRANT SELECT, INSERT, UPDATE (seq, hash) ON audit.heads
    TO parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki, parapet_auth;
GRANT SELECT ON audit.heads TO parapet_jobs;
