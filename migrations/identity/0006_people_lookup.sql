-- The lookup of people by address, integration key, name and a part of either, in a tenant with many members.
--
-- Under row-level security only leakproof operators become index conditions. Equality of text is leakproof, lower() is not.
-- So the lower-case forms are columns of their own.

ALTER TABLE identity.users
    ADD COLUMN email_key text NOT NULL GENERATED ALWAYS AS (lower(email)) STORED,
    ADD COLUMN name_key  text NOT NULL GENERATED ALWAYS AS (lower(display_name)) STORED;
DROP INDEX identity.users_email_once;
DROP INDEX identity.users_by_email;
CREATE UNIQUE INDEX users_email_once ON identity.users (home_tenant_id, email_key);
CREATE INDEX users_by_email ON identity.users (email_key);
CREATE INDEX users_by_name ON identity.users (name_key);
-- No list of pending entries: each search would have to read it from end to end.
CREATE INDEX users_by_trigram ON identity.users USING gin (email_key gin_trgm_ops, name_key gin_trgm_ops) WITH (fastupdate = off);

GRANT SELECT (email_key, name_key) ON identity.users TO parapet_identity;

-- In plpgsql, because a session keeps its plan: a function in sql that is not inlined is planned anew for each row.
CREATE OR REPLACE FUNCTION identity.is_member(person uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM identity.memberships m
        WHERE m.tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid AND m.user_id = person
    );
END
$$;

-- The ids of the members of a tenant with a text in the address or the name. SECURITY DEFINER because LIKE is not leakproof.
-- The tenant of the arguments must be the one that the transaction works in. The caller's own statement then reads the users,
-- under its own policies. A text of one or two characters has no trigram, so it is compared with every member.
CREATE FUNCTION identity.find_members(p_tenant uuid, p_text text)
    RETURNS SETOF uuid LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
    AS $$
DECLARE
    current_tenant constant uuid := nullif(current_setting('app.tenant_id', true), '')::uuid;
    pattern        constant text := '%' || replace(replace(replace(lower(p_text), '\', '\\'), '%', '\%'), '_', '\_') || '%';
BEGIN
    IF current_tenant IS NULL OR p_tenant IS DISTINCT FROM current_tenant OR p_text IS NULL THEN
        RETURN;
    END IF;
    IF length(p_text) < 3 THEN
        RETURN QUERY
        SELECT m.user_id
        FROM (SELECT member.user_id FROM identity.memberships member WHERE member.tenant_id = current_tenant OFFSET 0) m
        JOIN identity.users u ON u.id = m.user_id
        WHERE u.email_key LIKE pattern OR u.name_key LIKE pattern;
    ELSE
        RETURN QUERY
        SELECT m.user_id
        FROM (SELECT u.id FROM identity.users u WHERE u.email_key LIKE pattern OR u.name_key LIKE pattern OFFSET 0) found
        JOIN identity.memberships m ON m.tenant_id = current_tenant AND m.user_id = found.id;
    END IF;
END
$$;
REVOKE ALL ON FUNCTION identity.find_members(uuid, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION identity.find_members(uuid, text) TO parapet_identity;

CREATE POLICY context_read ON identity.users FOR SELECT TO parapet_context USING (true);
GRANT SELECT (id, email_key, name_key) ON identity.users TO parapet_context;

-- Last, because the function's owner is no longer the migrating role afterwards. A role that is to own a function must be
-- able to create one in its schema at that moment, and only then.
GRANT CREATE ON SCHEMA identity TO parapet_context;
ALTER FUNCTION identity.find_members(uuid, text) OWNER TO parapet_context;
REVOKE CREATE ON SCHEMA identity FROM parapet_context;
