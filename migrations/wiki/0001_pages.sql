-- Pages and their versions.
--
-- tenant_id is the first column of every key and every index, and no constraint is without it: the tables can be
-- distributed by tenant. Nothing refers to another schema. Users are the ids of the directory.

CREATE TABLE wiki.pages (
    tenant_id      uuid        NOT NULL,
    id             uuid        NOT NULL,
    path           text        COLLATE "C" NOT NULL CHECK (octet_length(path) BETWEEN 1 AND 512),
    -- The order of lists: a page comes directly before the pages below it. No path contains the character U+0001.
    sort_path      text        COLLATE "C" NOT NULL GENERATED ALWAYS AS (replace(path, '/', E'\x01')) STORED,
    title          text        NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
    classification text        NOT NULL CHECK (classification IN ('UNCLASSIFIED', 'INTERNAL', 'RESTRICTED', 'CONFIDENTIAL', 'SECRET')),
    -- The number of the current version.
    version        integer     NOT NULL CHECK (version > 0),
    source_commit  text        CHECK (source_commit ~ '^[0-9a-f]{7,64}$'),
    created_by     uuid        NOT NULL,
    created_at     timestamptz NOT NULL,
    updated_by     uuid        NOT NULL,
    updated_at     timestamptz NOT NULL,
    -- A deleted page keeps its path and its versions, so it can be restored.
    deleted_by     uuid,
    deleted_at     timestamptz,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT pages_path_once UNIQUE (tenant_id, path),
    CONSTRAINT pages_deleted_by_somebody CHECK ((deleted_by IS NULL) = (deleted_at IS NULL))
);
CREATE INDEX pages_in_order ON wiki.pages (tenant_id, sort_path);

-- A version never changes: the role of the module can only read and add versions. Each version keeps the classification
-- that it was written with. To read a version, a user needs clearance for it and for the current version.
CREATE TABLE wiki.page_versions (
    tenant_id      uuid        NOT NULL,
    page_id        uuid        NOT NULL,
    version        integer     NOT NULL CHECK (version > 0),
    title          text        NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
    markdown       text        NOT NULL CHECK (length(markdown) <= 500000),
    classification text        NOT NULL CHECK (classification IN ('UNCLASSIFIED', 'INTERNAL', 'RESTRICTED', 'CONFIDENTIAL', 'SECRET')),
    source_commit  text        CHECK (source_commit ~ '^[0-9a-f]{7,64}$'),
    created_by     uuid        NOT NULL,
    created_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, page_id, version),
    CONSTRAINT page_versions_of_page FOREIGN KEY (tenant_id, page_id) REFERENCES wiki.pages (tenant_id, id)
);

-- Row-level security --------------------------------------------------------------------------------------------------

ALTER TABLE wiki.pages ENABLE ROW LEVEL SECURITY;
ALTER TABLE wiki.pages FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON wiki.pages
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE wiki.page_versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE wiki.page_versions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON wiki.page_versions
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- Grants --------------------------------------------------------------------------------------------------------------

GRANT SELECT, INSERT ON wiki.pages, wiki.page_versions TO parapet_wiki;
GRANT UPDATE (path, title, classification, version, source_commit, updated_by, updated_at, deleted_by, deleted_at)
    ON wiki.pages TO parapet_wiki;
