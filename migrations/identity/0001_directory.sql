-- The directory: tenants, organisations, people and integrations, what they may do, and the credentials they hold.
--
-- Two tables are not tenant-scoped: identity.tenants and identity.users are the directory itself, which every tenant-scoped
-- table refers to. Every other table carries tenant_id first in its primary key, its unique constraints and its foreign keys.
--
-- Who may see what:
--   parapet_identity  its tenant only (app.tenant_id), and the tenants that its programme office administers
--   parapet_auth      all tenants, because a credential is checked before a tenant is known; it writes sessions and last_used_at only
--   parapet_jobs      all tenants, the columns that the key expiry watch needs, read only
--   other modules     nothing but the answer of identity.tenant_context for one user and one tenant

-- Clearance -----------------------------------------------------------------------------------------------------------

-- The rank of a tier; -1 for anything else, NULL included.
CREATE FUNCTION identity.clearance_rank(tier text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE tier
        WHEN 'UNCLASSIFIED' THEN 0
        WHEN 'INTERNAL' THEN 1
        WHEN 'RESTRICTED' THEN 2
        WHEN 'CONFIDENTIAL' THEN 3
        WHEN 'SECRET' THEN 4
        ELSE -1
    END
$$;

-- An unrecognised clearance reads nothing. An unrecognised classification is readable by whoever reads anything, which is why
-- stores refuse such values; a classification that is not there at all is readable by nobody.
CREATE FUNCTION identity.may_read(classification text, clearance text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT classification IS NOT NULL
       AND identity.clearance_rank(clearance) >= 0
       AND identity.clearance_rank(classification) <= identity.clearance_rank(clearance)
$$;

-- Directory -----------------------------------------------------------------------------------------------------------

CREATE TABLE identity.tenants (
    id              uuid PRIMARY KEY,
    office_id       uuid REFERENCES identity.tenants (id),
    slug            text NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
    name            text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    type            text NOT NULL DEFAULT 'STANDARD' CHECK (type IN ('STANDARD', 'PROGRAMME_OFFICE')),
    default_locale  text NOT NULL DEFAULT 'en-US',
    enabled_locales text[] NOT NULL DEFAULT ARRAY['en-US'],
    time_zone       text NOT NULL DEFAULT 'UTC' CHECK (length(time_zone) BETWEEN 1 AND 64),
    currency        text NOT NULL DEFAULT 'USD' CHECK (currency ~ '^[A-Z]{3}$'),
    disabled_at     timestamptz,
    -- Counts every change of roles, grants, assignments and memberships: cached authority is valid for one revision only.
    grants_revision bigint NOT NULL DEFAULT 1,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT tenants_office_is_another CHECK (office_id <> id),
    CONSTRAINT tenants_enabled_locales_not_empty CHECK (cardinality(enabled_locales) > 0 AND array_ndims(enabled_locales) = 1),
    CONSTRAINT tenants_enabled_locales_no_null CHECK (array_position(enabled_locales, NULL) IS NULL),
    CONSTRAINT tenants_enabled_locales_supported CHECK (enabled_locales <@ ARRAY['en-US', 'en-GB', 'it-IT', 'de-DE', 'fr-FR']),
    CONSTRAINT tenants_default_locale_enabled CHECK (default_locale = ANY (enabled_locales))
);
CREATE INDEX tenants_by_office ON identity.tenants (office_id) WHERE office_id IS NOT NULL;

CREATE TABLE identity.users (
    id              uuid PRIMARY KEY,
    home_tenant_id  uuid NOT NULL REFERENCES identity.tenants (id),
    principal_kind  text NOT NULL CHECK (principal_kind IN ('HUMAN', 'SERVICE', 'AGENT')),
    integration_key text CHECK (integration_key ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    email           text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
    display_name    text NOT NULL CHECK (length(display_name) BETWEEN 1 AND 200),
    password_hash   text,
    status          text NOT NULL DEFAULT 'ACTIVE' CHECK (status IN ('ACTIVE', 'SUSPENDED', 'DELETED')),
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT users_service_has_integration_key CHECK ((principal_kind = 'SERVICE') = (integration_key IS NOT NULL)),
    CONSTRAINT users_password_is_for_people CHECK (password_hash IS NULL OR principal_kind = 'HUMAN'),
    CONSTRAINT users_integration_key_once UNIQUE (home_tenant_id, integration_key)
);
CREATE UNIQUE INDEX users_email_once ON identity.users (home_tenant_id, lower(email));
CREATE INDEX users_by_email ON identity.users (lower(email));

-- Tenant-scoped -------------------------------------------------------------------------------------------------------

CREATE TABLE identity.organisations (
    tenant_id           uuid NOT NULL REFERENCES identity.tenants (id),
    id                  uuid NOT NULL,
    name                text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    type                text NOT NULL DEFAULT 'CUSTOMER' CHECK (type IN ('CUSTOMER', 'SUPPLIER', 'PARTNER', 'INTERNAL')),
    verification_status text NOT NULL DEFAULT 'UNVERIFIED' CHECK (verification_status IN ('UNVERIFIED', 'PENDING', 'VERIFIED', 'REJECTED')),
    created_at          timestamptz NOT NULL DEFAULT now(),
    updated_at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX organisations_name_once ON identity.organisations (tenant_id, lower(name));

CREATE TABLE identity.memberships (
    tenant_id       uuid NOT NULL REFERENCES identity.tenants (id),
    user_id         uuid NOT NULL REFERENCES identity.users (id),
    organisation_id uuid,
    status          text NOT NULL DEFAULT 'ACTIVE' CHECK (status IN ('ACTIVE', 'SUSPENDED', 'REMOVED')),
    clearance       text CHECK (clearance IN ('UNCLASSIFIED', 'INTERNAL', 'RESTRICTED', 'CONFIDENTIAL', 'SECRET')),
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, user_id),
    FOREIGN KEY (tenant_id, organisation_id) REFERENCES identity.organisations (tenant_id, id)
);
CREATE INDEX memberships_by_organisation ON identity.memberships (tenant_id, organisation_id);
-- The one index that does not begin with the tenant: a credential asks which tenants its user belongs to.
CREATE INDEX memberships_by_user ON identity.memberships (user_id, tenant_id);

CREATE TABLE identity.roles (
    tenant_id   uuid NOT NULL REFERENCES identity.tenants (id),
    id          uuid NOT NULL,
    name        text NOT NULL CHECK (length(name) BETWEEN 1 AND 100 AND name = btrim(name)),
    kind        text NOT NULL DEFAULT 'STANDARD' CHECK (kind IN ('STANDARD', 'GLOBAL')),
    description text NOT NULL DEFAULT '' CHECK (length(description) <= 500),
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name)
);

CREATE TABLE identity.role_grants (
    tenant_id  uuid NOT NULL,
    role_id    uuid NOT NULL,
    permission text NOT NULL CHECK (length(permission) BETWEEN 1 AND 100),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, role_id, permission),
    FOREIGN KEY (tenant_id, role_id) REFERENCES identity.roles (tenant_id, id) ON DELETE CASCADE
);

CREATE TABLE identity.role_assignments (
    tenant_id  uuid NOT NULL,
    id         uuid NOT NULL,
    user_id    uuid NOT NULL,
    role_id    uuid NOT NULL,
    scope      text NOT NULL CHECK (scope IN ('tenant', 'organisation', 'project')),
    scope_id   uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES identity.memberships (tenant_id, user_id),
    FOREIGN KEY (tenant_id, role_id) REFERENCES identity.roles (tenant_id, id),
    CONSTRAINT role_assignments_scope_id CHECK ((scope = 'tenant') = (scope_id IS NULL)),
    CONSTRAINT role_assignments_once UNIQUE NULLS NOT DISTINCT (tenant_id, user_id, role_id, scope, scope_id)
);
CREATE INDEX role_assignments_by_role ON identity.role_assignments (tenant_id, role_id);

CREATE TABLE identity.api_keys (
    tenant_id     uuid NOT NULL,
    jti           uuid NOT NULL,
    label         text NOT NULL CHECK (length(label) BETWEEN 1 AND 200),
    owner_id      uuid NOT NULL,
    kind          text NOT NULL CHECK (kind IN ('PERSONAL', 'SERVICE')),
    expires_at    timestamptz NOT NULL,
    created_by    uuid NOT NULL REFERENCES identity.users (id),
    created_at    timestamptz NOT NULL DEFAULT now(),
    revoked_at    timestamptz,
    revoked_by    uuid REFERENCES identity.users (id),
    revoke_reason text CHECK (length(revoke_reason) BETWEEN 1 AND 500),
    last_used_at  timestamptz,
    PRIMARY KEY (tenant_id, jti),
    FOREIGN KEY (tenant_id, owner_id) REFERENCES identity.memberships (tenant_id, user_id),
    CONSTRAINT api_keys_expire_after_creation CHECK (expires_at > created_at),
    CONSTRAINT api_keys_revocation_is_whole CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
);
CREATE INDEX api_keys_by_owner ON identity.api_keys (tenant_id, owner_id, created_at DESC, jti);
CREATE INDEX api_keys_by_expiry ON identity.api_keys (tenant_id, expires_at) WHERE revoked_at IS NULL;

CREATE TABLE identity.sessions (
    tenant_id  uuid NOT NULL,
    jti        uuid NOT NULL,
    user_id    uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    PRIMARY KEY (tenant_id, jti),
    FOREIGN KEY (tenant_id, user_id) REFERENCES identity.memberships (tenant_id, user_id),
    CONSTRAINT sessions_expire_after_creation CHECK (expires_at > created_at)
);
CREATE INDEX sessions_by_user ON identity.sessions (tenant_id, user_id);

-- Integrity -----------------------------------------------------------------------------------------------------------

-- Authorization keys on integration_key, so it is written once, by INSERT, and never again, whoever asks.
CREATE FUNCTION identity.refuse_integration_key_update() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    RAISE EXCEPTION 'integration_key is immutable' USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER users_integration_key_immutable BEFORE UPDATE OF integration_key ON identity.users
    FOR EACH ROW EXECUTE FUNCTION identity.refuse_integration_key_update();

-- Revisions and notices -----------------------------------------------------------------------------------------------
-- Notices are a courtesy that shortens a cache's life; correctness rests on the revision and on the caches' own bounds.

CREATE FUNCTION identity.bump_grants_revision() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    changed record;
    person  text;
BEGIN
    IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
    UPDATE identity.tenants SET grants_revision = grants_revision + 1 WHERE id = changed.tenant_id;
    IF TG_TABLE_NAME = 'memberships' THEN person := changed.user_id; END IF;
    PERFORM pg_notify('parapet_identity', json_strip_nulls(json_build_object(
        'kind', CASE WHEN person IS NULL THEN 'grants' ELSE 'membership' END,
        'tenant', changed.tenant_id,
        'user', person))::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER memberships_bump AFTER INSERT OR UPDATE OR DELETE ON identity.memberships
    FOR EACH ROW EXECUTE FUNCTION identity.bump_grants_revision();
CREATE TRIGGER roles_bump AFTER INSERT OR UPDATE OR DELETE ON identity.roles
    FOR EACH ROW EXECUTE FUNCTION identity.bump_grants_revision();
CREATE TRIGGER role_grants_bump AFTER INSERT OR UPDATE OR DELETE ON identity.role_grants
    FOR EACH ROW EXECUTE FUNCTION identity.bump_grants_revision();
CREATE TRIGGER role_assignments_bump AFTER INSERT OR UPDATE OR DELETE ON identity.role_assignments
    FOR EACH ROW EXECUTE FUNCTION identity.bump_grants_revision();

CREATE FUNCTION identity.notify_tenant() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    PERFORM pg_notify('parapet_identity', json_build_object('kind', 'tenant', 'tenant', NEW.id)::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER tenants_notify AFTER UPDATE ON identity.tenants
    FOR EACH ROW WHEN (OLD.disabled_at IS DISTINCT FROM NEW.disabled_at OR OLD.type <> NEW.type)
    EXECUTE FUNCTION identity.notify_tenant();

CREATE FUNCTION identity.notify_user() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    PERFORM pg_notify('parapet_identity', json_build_object('kind', 'user', 'user', NEW.id)::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER users_notify AFTER UPDATE ON identity.users
    FOR EACH ROW WHEN (OLD.status <> NEW.status OR OLD.principal_kind <> NEW.principal_kind)
    EXECUTE FUNCTION identity.notify_user();

CREATE FUNCTION identity.notify_credential() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    changed record;
BEGIN
    IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
    PERFORM pg_notify('parapet_identity', json_build_object(
        'kind', CASE TG_TABLE_NAME WHEN 'sessions' THEN 'session' ELSE 'api_key' END,
        'tenant', changed.tenant_id,
        'jti', changed.jti)::text);
    RETURN NULL;
END
$$;
-- Not on INSERT (nobody holds a cached success for it) and not on last_used_at (written with every use).
CREATE TRIGGER api_keys_notify AFTER UPDATE ON identity.api_keys
    FOR EACH ROW WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at OR OLD.expires_at <> NEW.expires_at OR OLD.owner_id <> NEW.owner_id)
    EXECUTE FUNCTION identity.notify_credential();
CREATE TRIGGER api_keys_notify_deleted AFTER DELETE ON identity.api_keys
    FOR EACH ROW EXECUTE FUNCTION identity.notify_credential();
CREATE TRIGGER sessions_notify AFTER UPDATE ON identity.sessions
    FOR EACH ROW WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at OR OLD.expires_at <> NEW.expires_at)
    EXECUTE FUNCTION identity.notify_credential();
CREATE TRIGGER sessions_notify_deleted AFTER DELETE ON identity.sessions
    FOR EACH ROW EXECUTE FUNCTION identity.notify_credential();

-- Row-level security --------------------------------------------------------------------------------------------------

-- Whether a user belongs, or belonged, to the current tenant. A function, and not a sub-select in the policy, because a
-- distributed table admits no sub-select there. It runs with the caller's own rights.
CREATE FUNCTION identity.is_member(person uuid) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
    AS $$
    SELECT EXISTS (
        SELECT 1 FROM identity.memberships m
        WHERE m.tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid AND m.user_id = person
    )
$$;

ALTER TABLE identity.tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity.tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON identity.tenants
    USING (id = nullif(current_setting('app.tenant_id', true), '')::uuid
        OR office_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (id = nullif(current_setting('app.tenant_id', true), '')::uuid
        OR office_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- A user record is administered by its home tenant; a tenant in which the user is a member may read it.
ALTER TABLE identity.users ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity.users FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON identity.users
    USING (home_tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (home_tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
CREATE POLICY member_read ON identity.users FOR SELECT TO parapet_identity USING (identity.is_member(id));

ALTER TABLE identity.organisations ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity.organisations FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON identity.organisations
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE identity.memberships ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity.memberships FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON identity.memberships
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE identity.roles ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity.roles FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON identity.roles
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE identity.role_grants ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity.role_grants FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON identity.role_grants
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE identity.role_assignments ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity.role_assignments FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON identity.role_assignments
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE identity.api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity.api_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON identity.api_keys
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE identity.sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity.sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON identity.sessions
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- A credential names its tenant itself, and login looks for an account in all of them.
CREATE POLICY auth_read ON identity.tenants FOR SELECT TO parapet_auth USING (true);
CREATE POLICY auth_read ON identity.users FOR SELECT TO parapet_auth USING (true);
CREATE POLICY auth_read ON identity.organisations FOR SELECT TO parapet_auth USING (true);
CREATE POLICY auth_read ON identity.memberships FOR SELECT TO parapet_auth USING (true);
CREATE POLICY auth_read ON identity.roles FOR SELECT TO parapet_auth USING (true);
CREATE POLICY auth_read ON identity.role_grants FOR SELECT TO parapet_auth USING (true);
CREATE POLICY auth_read ON identity.role_assignments FOR SELECT TO parapet_auth USING (true);
CREATE POLICY auth_read ON identity.api_keys FOR SELECT TO parapet_auth USING (true);
CREATE POLICY auth_use ON identity.api_keys FOR UPDATE TO parapet_auth USING (true) WITH CHECK (true);
CREATE POLICY auth_sessions ON identity.sessions TO parapet_auth USING (true) WITH CHECK (true);

-- The expiry watch runs once for all tenants.
CREATE POLICY jobs_read ON identity.tenants FOR SELECT TO parapet_jobs USING (true);
CREATE POLICY jobs_read ON identity.users FOR SELECT TO parapet_jobs USING (true);
CREATE POLICY jobs_read ON identity.memberships FOR SELECT TO parapet_jobs USING (true);
CREATE POLICY jobs_read ON identity.roles FOR SELECT TO parapet_jobs USING (true);
CREATE POLICY jobs_read ON identity.role_grants FOR SELECT TO parapet_jobs USING (true);
CREATE POLICY jobs_read ON identity.role_assignments FOR SELECT TO parapet_jobs USING (true);
CREATE POLICY jobs_read ON identity.api_keys FOR SELECT TO parapet_jobs USING (true);

CREATE POLICY context_read ON identity.tenants FOR SELECT TO parapet_context USING (true);
CREATE POLICY context_read ON identity.memberships FOR SELECT TO parapet_context USING (true);

-- Tenant context ------------------------------------------------------------------------------------------------------

-- The live state of one user in one tenant, or no row. SECURITY DEFINER because a module must validate every request's
-- tenant without being able to read the directory; its owner can read six columns and nothing else, and cannot log in.
-- In plpgsql, because a session keeps its plan: a function in sql that is not inlined is planned anew by every request.
CREATE FUNCTION identity.tenant_context(p_user uuid, p_tenant uuid)
    RETURNS TABLE (membership_status text, tenant_enabled boolean, tenant_type text, grants_revision bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1 SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    RETURN QUERY
    SELECT m.status, t.disabled_at IS NULL, t.type, t.grants_revision
    FROM identity.memberships m
    JOIN identity.tenants t ON t.id = m.tenant_id
    WHERE m.tenant_id = p_tenant AND m.user_id = p_user;
END
$$;

-- Grants --------------------------------------------------------------------------------------------------------------

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA identity FROM PUBLIC;

GRANT USAGE ON SCHEMA identity TO parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki, parapet_auth, parapet_jobs, parapet_context;
GRANT EXECUTE ON FUNCTION identity.tenant_context(uuid, uuid) TO parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki;

GRANT SELECT (id, type, disabled_at, grants_revision) ON identity.tenants TO parapet_context;
GRANT SELECT (tenant_id, user_id, status) ON identity.memberships TO parapet_context;

GRANT EXECUTE ON FUNCTION identity.clearance_rank(text), identity.may_read(text, text), identity.is_member(uuid) TO parapet_identity;
GRANT SELECT, INSERT,
      UPDATE (name, default_locale, enabled_locales, time_zone, currency, disabled_at, grants_revision, updated_at)
    ON identity.tenants TO parapet_identity;
-- No SELECT of password_hash and no privilege at all to write integration_key.
GRANT SELECT (id, home_tenant_id, principal_kind, integration_key, email, display_name, status, created_at, updated_at),
      INSERT (id, home_tenant_id, principal_kind, email, display_name, password_hash, status, created_at, updated_at),
      UPDATE (email, display_name, password_hash, status, updated_at)
    ON identity.users TO parapet_identity;
GRANT SELECT, INSERT, UPDATE (name, type, verification_status, updated_at) ON identity.organisations TO parapet_identity;
GRANT SELECT, INSERT, UPDATE (organisation_id, status, clearance, updated_at) ON identity.memberships TO parapet_identity;
GRANT SELECT, INSERT, DELETE, UPDATE (name, description, updated_at) ON identity.roles TO parapet_identity;
GRANT SELECT, INSERT, DELETE ON identity.role_grants TO parapet_identity;
GRANT SELECT, INSERT, DELETE ON identity.role_assignments TO parapet_identity;
GRANT SELECT, INSERT, UPDATE (revoked_at, revoked_by, revoke_reason) ON identity.api_keys TO parapet_identity;
GRANT SELECT, INSERT, UPDATE (revoked_at) ON identity.sessions TO parapet_identity;

GRANT SELECT ON identity.tenants, identity.users, identity.organisations, identity.memberships, identity.roles,
                identity.role_grants, identity.role_assignments, identity.api_keys, identity.sessions TO parapet_auth;
GRANT UPDATE (last_used_at) ON identity.api_keys TO parapet_auth;
GRANT INSERT, UPDATE (revoked_at) ON identity.sessions TO parapet_auth;

GRANT SELECT (id, slug, name, type, disabled_at) ON identity.tenants TO parapet_jobs;
GRANT SELECT (id, home_tenant_id, principal_kind, integration_key, email, display_name, status) ON identity.users TO parapet_jobs;
GRANT SELECT (tenant_id, user_id, status) ON identity.memberships TO parapet_jobs;
GRANT SELECT (tenant_id, id, name, kind) ON identity.roles TO parapet_jobs;
GRANT SELECT ON identity.role_grants, identity.role_assignments TO parapet_jobs;
GRANT SELECT (tenant_id, jti, label, owner_id, kind, expires_at, created_at, revoked_at, last_used_at) ON identity.api_keys TO parapet_jobs;

-- Last, because the function's owner is no longer the migrating role afterwards. A role that is to own a function must be
-- able to create one in its schema at that moment, and only then.
GRANT CREATE ON SCHEMA identity TO parapet_context;
ALTER FUNCTION identity.tenant_context(uuid, uuid) OWNER TO parapet_context;
REVOKE CREATE ON SCHEMA identity FROM parapet_context;
