-- Whether an address identifies its user wherever people are identified by name. An address that its user has set says
-- nothing about the mailbox: a member could take the address of a colleague and receive what is meant for that person.

-- True for an address that an administrator has set, and from when the user opens a link that was sent to the address.
ALTER TABLE identity.users ADD COLUMN address_verified boolean NOT NULL DEFAULT true;

-- Every change of an address leaves it neither confirmed nor verified. A later statement sets what applies.
CREATE OR REPLACE FUNCTION identity.unconfirm_address() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    NEW.address_confirmed := false;
    NEW.address_verified := false;
    RETURN NEW;
END
$$;

GRANT SELECT (address_verified), UPDATE (address_verified) ON identity.users TO parapet_identity;

-- Existing addresses that their users have set, according to the audit log, and that neither an administrator nor a link has
-- verified since. The owner of the tables is bound by their policies too, and here has no tenant.
ALTER TABLE audit.entries NO FORCE ROW LEVEL SECURITY;
ALTER TABLE identity.users NO FORCE ROW LEVEL SECURITY;
WITH changes AS (
    SELECT e.chain_id, e.seq, e.resource_id,
           e.action = 'user.address_changed' OR e.action = 'user.updated' AND e.actor_id::text = e.resource_id AS by_user
    FROM audit.entries e
    WHERE e.resource_type = 'user'
      AND (e.action IN ('user.address_changed', 'user.password_reset')
        OR e.action = 'user.updated' AND (e.changes -> 'fields')::jsonb ? 'email')
), latest AS (
    SELECT DISTINCT ON (chain_id, resource_id) chain_id, resource_id, by_user
    FROM changes
    ORDER BY chain_id, resource_id, seq DESC
)
UPDATE identity.users u SET address_verified = false
FROM latest l
WHERE l.by_user AND l.chain_id = u.home_tenant_id AND l.resource_id = u.id::text;
ALTER TABLE identity.users FORCE ROW LEVEL SECURITY;
ALTER TABLE audit.entries FORCE ROW LEVEL SECURITY;
