-- What it takes to evaluate a decision again. Each record names the credential of its request, as audit entries do, and the
-- digest of the subject that the policies saw. A subject is stored once for a tenant and digest, however many records name it.

CREATE TABLE audit.decision_subjects (
    tenant_id uuid        NOT NULL,
    -- SHA-256 of the document, which is RFC 8785 canonical JSON.
    digest    bytea       NOT NULL CHECK (length(digest) = 32),
    -- json, not jsonb: the digest covers the very text that is stored.
    document  json        NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    PRIMARY KEY (tenant_id, digest),
    CONSTRAINT decision_subjects_digest_is_the_documents CHECK (digest = sha256(convert_to(document::text, 'UTF8')))
);

ALTER TABLE audit.decision_subjects ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit.decision_subjects FORCE ROW LEVEL SECURITY;
CREATE POLICY read ON audit.decision_subjects FOR SELECT TO parapet_identity
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
CREATE POLICY jobs ON audit.decision_subjects TO parapet_jobs USING (true) WITH CHECK (true);

-- parapet_jobs writes and, when no record names a subject any more, deletes. Nobody updates.
GRANT SELECT ON audit.decision_subjects TO parapet_identity;
GRANT INSERT, DELETE, SELECT (tenant_id, digest, stored_at) ON audit.decision_subjects TO parapet_jobs;

ALTER TABLE audit.decisions
    ADD COLUMN credential_id   uuid,
    ADD COLUMN credential_kind text CHECK (credential_kind IN ('session', 'api_key')),
    ADD COLUMN subject_digest  bytea,
    ADD CONSTRAINT decisions_credential_has_a_kind CHECK ((credential_id IS NULL) = (credential_kind IS NULL)),
    ADD CONSTRAINT decisions_subject_is_stored FOREIGN KEY (tenant_id, subject_digest) REFERENCES audit.decision_subjects;

-- What was decided for one credential: the question after a key has leaked.
CREATE INDEX decisions_by_credential ON audit.decisions (tenant_id, credential_id, id) WHERE credential_id IS NOT NULL;
-- For the foreign key and for retention, which asks whether a subject is still named.
CREATE INDEX decisions_by_subject ON audit.decisions (tenant_id, subject_digest) WHERE subject_digest IS NOT NULL;
GRANT SELECT (subject_digest) ON audit.decisions TO parapet_jobs;
