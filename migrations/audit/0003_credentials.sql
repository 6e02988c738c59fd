-- Each entry names the credential of its request: the session's id or the API key's jti, and which of the two it is. The
-- hash covers both from version 2 of the hashed form on; the entries that are there already are of version 1, have no
-- credential and keep their hashes.

ALTER TABLE audit.entries
    ADD COLUMN credential_id   uuid,
    ADD COLUMN credential_kind text CHECK (credential_kind IN ('session', 'api_key')),
    ADD CONSTRAINT entries_credential_has_a_kind CHECK ((credential_id IS NULL) = (credential_kind IS NULL)),
    ADD CONSTRAINT entries_credential_is_hashed CHECK (credential_id IS NULL OR version >= 2);

-- What was done with one credential: the question after a key has leaked.
CREATE INDEX entries_by_credential ON audit.entries (chain_id, credential_id, seq) WHERE credential_id IS NOT NULL;
