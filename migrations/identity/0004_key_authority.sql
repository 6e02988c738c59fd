-- What a key's token says: its roles with their scopes, and its clearance. A key keeps them while the assignments of its owner
-- change, so whoever reactivates the owner must hold them too. NULL roles are those of a key from before this migration: it
-- counts as if it had every STANDARD role of its tenant.

ALTER TABLE identity.api_keys
    -- An array of objects: role (its name), scope (tenant, organisation or project), id (of the scope; empty for the tenant).
    ADD COLUMN roles     json CHECK (json_typeof(roles) = 'array'),
    ADD COLUMN clearance text;
