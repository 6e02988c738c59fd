-- Delegations: one person acts on another's behalf. What one reaches is decided live from what its delegator holds; the row says
-- who, for whom, where, what and how long. Only its end changes.

CREATE TABLE projects.delegations (
    tenant_id     uuid        NOT NULL,
    id            uuid        NOT NULL,
    delegator_id  uuid        NOT NULL,
    delegate_id   uuid        NOT NULL,
    scope         text        NOT NULL CHECK (scope IN ('TENANT', 'PROJECT', 'INITIATIVE')),
    project_id    uuid,
    initiative_id uuid,
    permissions   text[]      NOT NULL CHECK (cardinality(permissions) BETWEEN 1 AND 200 AND array_ndims(permissions) = 1
                                              AND array_position(permissions, NULL) IS NULL),
    starts_at     timestamptz NOT NULL,
    ends_at       timestamptz NOT NULL,
    created_by    uuid        NOT NULL,
    created_at    timestamptz NOT NULL,
    revoked_at    timestamptz,
    revoked_by    uuid,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT delegations_not_to_oneself CHECK (delegate_id <> delegator_id),
    CONSTRAINT delegations_times_in_order CHECK (ends_at > starts_at),
    CONSTRAINT delegations_place CHECK ((project_id IS NOT NULL) = (scope = 'PROJECT') AND (initiative_id IS NOT NULL) = (scope = 'INITIATIVE')),
    CONSTRAINT delegations_revoked_whole CHECK ((revoked_at IS NULL) = (revoked_by IS NULL)),
    CONSTRAINT delegations_of_project FOREIGN KEY (tenant_id, project_id) REFERENCES projects.projects (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT delegations_of_initiative FOREIGN KEY (tenant_id, initiative_id) REFERENCES projects.initiatives (tenant_id, id) ON DELETE CASCADE
);
-- Every request of the tracker asks which delegations its caller has now: mostly none, in one look at this index.
CREATE INDEX delegations_by_delegate_now ON projects.delegations (tenant_id, delegate_id, ends_at) WHERE revoked_at IS NULL;
CREATE INDEX delegations_by_delegate ON projects.delegations (tenant_id, delegate_id, id);
CREATE INDEX delegations_by_delegator ON projects.delegations (tenant_id, delegator_id, id);
CREATE INDEX delegations_by_project ON projects.delegations (tenant_id, project_id, id) WHERE project_id IS NOT NULL;
CREATE INDEX delegations_by_initiative ON projects.delegations (tenant_id, initiative_id, id) WHERE initiative_id IS NOT NULL;

ALTER TABLE projects.delegations ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.delegations FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.delegations
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

GRANT SELECT, INSERT, UPDATE (revoked_at, revoked_by) ON projects.delegations TO parapet_tracker;
