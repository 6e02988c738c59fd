-- The taxonomy of a tenant: a tree of nodes that classify the entries of its catalog.

-- One row per tenant. Every statement that changes the structure of the tree locks it first, so two changes cannot together
-- create a cycle, a duplicate position or too many nodes.
CREATE TABLE catalog.taxonomies (
    tenant_id  uuid    NOT NULL,
    node_count integer NOT NULL,
    PRIMARY KEY (tenant_id),
    CONSTRAINT taxonomies_size CHECK (node_count BETWEEN 0 AND 10000)
);

CREATE TABLE catalog.taxonomy_nodes (
    tenant_id   uuid        NOT NULL,
    id          uuid        NOT NULL,
    parent_id   uuid,
    -- The node's part of the path. It does not change when the node is renamed.
    label       text        NOT NULL CHECK (label ~ '^[a-z0-9_]{1,63}$'),
    -- The labels of all nodes from the root to this one.
    path        ltree       NOT NULL,
    name        text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    sort_name   text COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(name)) STORED,
    description text        NOT NULL DEFAULT '' CHECK (length(description) <= 2000),
    -- The position among the siblings, from 1 and without gaps.
    position    integer     NOT NULL CHECK (position > 0),
    created_by  uuid        NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT taxonomy_nodes_path UNIQUE (tenant_id, path),
    CONSTRAINT taxonomy_nodes_parent FOREIGN KEY (tenant_id, parent_id) REFERENCES catalog.taxonomy_nodes (tenant_id, id),
    CONSTRAINT taxonomy_nodes_depth CHECK (nlevel(path) BETWEEN 1 AND 10),
    CONSTRAINT taxonomy_nodes_label CHECK (ltree2text(subpath(path, -1)) = label),
    CONSTRAINT taxonomy_nodes_root CHECK ((parent_id IS NULL) = (nlevel(path) = 1))
);
CREATE INDEX taxonomy_nodes_by_parent ON catalog.taxonomy_nodes (tenant_id, parent_id, position);
CREATE INDEX taxonomy_nodes_by_name ON catalog.taxonomy_nodes (tenant_id, sort_name);

-- Row-level security --------------------------------------------------------------------------------------------------

ALTER TABLE catalog.taxonomies ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog.taxonomies FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON catalog.taxonomies
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE catalog.taxonomy_nodes ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog.taxonomy_nodes FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON catalog.taxonomy_nodes
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- Grants --------------------------------------------------------------------------------------------------------------

GRANT SELECT, INSERT, UPDATE (node_count) ON catalog.taxonomies TO parapet_catalog;
GRANT SELECT, INSERT, DELETE, UPDATE (parent_id, path, name, description, position, updated_at) ON catalog.taxonomy_nodes TO parapet_catalog;
