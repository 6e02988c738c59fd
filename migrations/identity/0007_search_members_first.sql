-- identity.find_members reads the members of a tenant before their names, unless the tenant is large.
--
-- The index of trigrams contains the users of all tenants. In a small tenant, a search for a common text would cost as much
-- as all tenants together have matches. A text without three letters or digits in a row has no trigram: with it, the index is
-- read from end to end.

-- Only the owner of a function can replace it, and the migrating role may not inherit the owner's privileges.
GRANT CREATE ON SCHEMA identity TO parapet_context;
SET LOCAL ROLE parapet_context;

CREATE OR REPLACE FUNCTION identity.find_members(p_tenant uuid, p_text text)
    RETURNS SETOF uuid LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
    AS $$
DECLARE
    current_tenant constant uuid := nullif(current_setting('app.tenant_id', true), '')::uuid;
    pattern        constant text := '%' || replace(replace(replace(lower(p_text), '\', '\\'), '%', '\%'), '_', '\_') || '%';
    small_tenant   constant integer := 1000;
BEGIN
    IF current_tenant IS NULL OR p_tenant IS DISTINCT FROM current_tenant OR p_text IS NULL THEN
        RETURN;
    END IF;
    IF p_text !~ '[[:alnum:]]{3}'
       OR (SELECT count(*) FROM (SELECT FROM identity.memberships m WHERE m.tenant_id = current_tenant LIMIT small_tenant + 1) first_members) <= small_tenant
    THEN
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

RESET ROLE;
REVOKE CREATE ON SCHEMA identity FROM parapet_context;
