-- Shortlists: curated, ordered lists of catalog entries.

CREATE TABLE catalog.shortlists (
    tenant_id       uuid        NOT NULL,
    id              uuid        NOT NULL,
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    sort_name       text COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(name)) STORED,
    description     text        NOT NULL DEFAULT '' CHECK (length(description) <= 20000),
    status          text        NOT NULL CHECK (status IN ('ACTIVE', 'ARCHIVED')),
    classification  text        NOT NULL CHECK (classification IN ('UNCLASSIFIED', 'INTERNAL', 'RESTRICTED', 'CONFIDENTIAL', 'SECRET')),
    organisation_id uuid,
    created_by      uuid        NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    archived_at     timestamptz,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT shortlists_archived CHECK ((archived_at IS NOT NULL) = (status = 'ARCHIVED'))
);
CREATE INDEX shortlists_by_name ON catalog.shortlists (tenant_id, sort_name, id);

CREATE TABLE catalog.shortlist_entries (
    tenant_id    uuid        NOT NULL,
    shortlist_id uuid        NOT NULL,
    entry_id     uuid        NOT NULL,
    -- The order in the list. It has gaps after an entry was removed, and is never shown: a gap would reveal an entry that the
    -- reader may not see.
    position     integer     NOT NULL CHECK (position > 0),
    note         text        NOT NULL DEFAULT '' CHECK (length(note) <= 2000),
    added_by     uuid        NOT NULL,
    added_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, shortlist_id, entry_id),
    CONSTRAINT shortlist_entries_list FOREIGN KEY (tenant_id, shortlist_id) REFERENCES catalog.shortlists (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT shortlist_entries_entry FOREIGN KEY (tenant_id, entry_id) REFERENCES catalog.entries (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX shortlist_entries_by_entry ON catalog.shortlist_entries (tenant_id, entry_id);

-- Row-level security --------------------------------------------------------------------------------------------------

ALTER TABLE catalog.shortlists ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog.shortlists FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON catalog.shortlists
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE catalog.shortlist_entries ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog.shortlist_entries FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON catalog.shortlist_entries
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- Grants --------------------------------------------------------------------------------------------------------------

GRANT SELECT, INSERT, DELETE, UPDATE (name, description, status, classification, organisation_id, updated_at, archived_at)
    ON catalog.shortlists TO parapet_catalog;
GRANT SELECT, INSERT, DELETE, UPDATE (position, note) ON catalog.shortlist_entries TO parapet_catalog;
