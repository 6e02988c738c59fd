-- Catalog entries.

CREATE TABLE catalog.entries (
    tenant_id       uuid        NOT NULL,
    id              uuid        NOT NULL,
    title           text        NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
    -- The order of lists and the match of a name, in any case.
    sort_title      text COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(title)) STORED,
    summary         text        NOT NULL DEFAULT '' CHECK (length(summary) <= 1000),
    body            text        NOT NULL DEFAULT '' CHECK (length(body) <= 100000),
    node_id         uuid        NOT NULL,
    classification  text        NOT NULL CHECK (classification IN ('UNCLASSIFIED', 'INTERNAL', 'RESTRICTED', 'CONFIDENTIAL', 'SECRET')),
    organisation_id uuid,
    -- Normalized, sorted and without duplicates.
    tags            text[]      NOT NULL DEFAULT '{}' CHECK (cardinality(tags) <= 20 AND array_position(tags, NULL) IS NULL),
    status          text        NOT NULL CHECK (status IN ('draft', 'published', 'archived')),
    owner_id        uuid,
    created_by      uuid        NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    published_at    timestamptz,
    archived_at     timestamptz,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT entries_node FOREIGN KEY (tenant_id, node_id) REFERENCES catalog.taxonomy_nodes (tenant_id, id),
    CONSTRAINT entries_published CHECK ((published_at IS NULL) = (status = 'draft')),
    CONSTRAINT entries_archived CHECK ((archived_at IS NOT NULL) = (status = 'archived'))
);
CREATE INDEX entries_by_title ON catalog.entries (tenant_id, sort_title, id);
CREATE INDEX entries_by_creation ON catalog.entries (tenant_id, created_at, id);
CREATE INDEX entries_by_update ON catalog.entries (tenant_id, updated_at, id);
CREATE INDEX entries_by_node ON catalog.entries (tenant_id, node_id, sort_title, id);
CREATE INDEX entries_by_creator ON catalog.entries (tenant_id, created_by, sort_title, id);

-- The tags of entries again, one per row: operators of arrays are not leakproof, so no index of catalog.entries.tags would be
-- used under row-level security.
CREATE TABLE catalog.entry_tags (
    tenant_id uuid NOT NULL,
    tag       text NOT NULL,
    entry_id  uuid NOT NULL,
    PRIMARY KEY (tenant_id, tag, entry_id),
    CONSTRAINT entry_tags_entry FOREIGN KEY (tenant_id, entry_id) REFERENCES catalog.entries (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX entry_tags_by_entry ON catalog.entry_tags (tenant_id, entry_id);

-- The tags follow the entry.
CREATE FUNCTION catalog.index_tags() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    DELETE FROM catalog.entry_tags t WHERE t.tenant_id = NEW.tenant_id AND t.entry_id = NEW.id AND t.tag <> ALL (NEW.tags);
    INSERT INTO catalog.entry_tags (tenant_id, tag, entry_id) SELECT NEW.tenant_id, tag, NEW.id FROM unnest(NEW.tags) tag
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER entries_tags_insert AFTER INSERT ON catalog.entries FOR EACH ROW
    WHEN (NEW.tags <> '{}') EXECUTE FUNCTION catalog.index_tags();
CREATE TRIGGER entries_tags_update AFTER UPDATE OF tags ON catalog.entries FOR EACH ROW
    WHEN (OLD.tags IS DISTINCT FROM NEW.tags) EXECUTE FUNCTION catalog.index_tags();

-- Row-level security --------------------------------------------------------------------------------------------------

ALTER TABLE catalog.entries ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog.entries FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON catalog.entries
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE catalog.entry_tags ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog.entry_tags FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON catalog.entry_tags
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- Grants --------------------------------------------------------------------------------------------------------------

GRANT SELECT, INSERT, DELETE,
    UPDATE (title, summary, body, node_id, classification, organisation_id, tags, status, owner_id, updated_at, published_at, archived_at)
    ON catalog.entries TO parapet_catalog;
GRANT SELECT, INSERT, DELETE ON catalog.entry_tags TO parapet_catalog;
