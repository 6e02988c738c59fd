-- Password resets. Only the holder of an account sets or learns its password: an administrator starts a reset, and the link goes
-- to the account's own address.

-- parapet_identity may know that there is a password, and not its hash.
ALTER TABLE identity.users ADD COLUMN has_password boolean NOT NULL GENERATED ALWAYS AS (password_hash IS NOT NULL) STORED;

-- False from when an administrator sets the address until the holder, who knows the password, has set or confirmed it.
ALTER TABLE identity.users ADD COLUMN address_confirmed boolean NOT NULL DEFAULT true;

-- Whoever changes an address leaves it unconfirmed; the holder's own change confirms it in a statement of its own.
CREATE FUNCTION identity.unconfirm_address() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    NEW.address_confirmed := false;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION identity.unconfirm_address() FROM PUBLIC;
CREATE TRIGGER users_unconfirm_address BEFORE UPDATE OF email ON identity.users
    FOR EACH ROW WHEN (OLD.email IS DISTINCT FROM NEW.email) EXECUTE FUNCTION identity.unconfirm_address();

GRANT SELECT (has_password, address_confirmed), UPDATE (address_confirmed) ON identity.users TO parapet_identity;

CREATE TABLE identity.password_resets (
    -- The account's home tenant.
    tenant_id        uuid NOT NULL,
    id               uuid NOT NULL,
    user_id          uuid NOT NULL,
    -- The administrator who started it; NULL where the holder asked.
    requested_by     uuid REFERENCES identity.users (id),
    -- A digest of what the account held when it was started, in all tenants.
    authority_digest bytea NOT NULL CHECK (length(authority_digest) = 32),
    -- SHA-256 of the secret in the link; NULL until a link is made.
    secret_hash      bytea CHECK (length(secret_hash) = 32),
    created_at       timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL,
    sent_at          timestamptz,
    -- When it was used, or cancelled.
    ended_at         timestamptz,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES identity.memberships (tenant_id, user_id),
    CONSTRAINT password_resets_expire_after_creation CHECK (expires_at > created_at)
);
CREATE INDEX password_resets_by_user ON identity.password_resets (tenant_id, user_id, created_at);
CREATE INDEX password_resets_by_end ON identity.password_resets (tenant_id, expires_at);

ALTER TABLE identity.password_resets ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity.password_resets FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON identity.password_resets
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
-- parapet_auth deletes what has expired, and sees neither a hash nor what is still good.
CREATE POLICY expired ON identity.password_resets TO parapet_auth USING (expires_at < now());

GRANT SELECT, INSERT, UPDATE (secret_hash, expires_at, sent_at, ended_at) ON identity.password_resets TO parapet_identity;
GRANT SELECT (tenant_id, id, expires_at), DELETE ON identity.password_resets TO parapet_auth;
