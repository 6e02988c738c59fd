-- What projects are planned by: initiatives, the stage-gate pipeline, and the repository paths by which a project is found.

CREATE TABLE projects.initiatives (
    tenant_id       uuid        NOT NULL,
    id              uuid        NOT NULL,
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    -- The order of lists and the match of a hint, whatever the letters' case.
    sort_name       text COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(name)) STORED,
    description     text        NOT NULL DEFAULT '' CHECK (length(description) <= 20000),
    status          text        NOT NULL CHECK (status IN ('ACTIVE', 'ON_HOLD', 'COMPLETED', 'CANCELLED')),
    start_date      date        NOT NULL,
    end_date        date,
    classification  text        NOT NULL CHECK (classification IN ('UNCLASSIFIED', 'INTERNAL', 'RESTRICTED', 'CONFIDENTIAL', 'SECRET')),
    organisation_id uuid,
    -- Worked out anew after changes of tasks, so that a list need not count them.
    progress        smallint    NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 100),
    created_by      uuid        NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT initiatives_dates_in_order CHECK (end_date >= start_date)
);
CREATE INDEX initiatives_by_name ON projects.initiatives (tenant_id, sort_name, id);
CREATE INDEX initiatives_by_status ON projects.initiatives (tenant_id, status, sort_name, id);

-- Two memberships that have nothing to do with each other: a project's, and an epic's tag. Whoever deletes an initiative takes
-- both away itself, because each is a change that is told; nothing of it hangs on a cascade.
ALTER TABLE projects.projects ADD CONSTRAINT projects_initiative
    FOREIGN KEY (tenant_id, initiative_id) REFERENCES projects.initiatives (tenant_id, id);
ALTER TABLE projects.tasks ADD CONSTRAINT tasks_initiative
    FOREIGN KEY (tenant_id, initiative_id) REFERENCES projects.initiatives (tenant_id, id);
CREATE INDEX projects_by_initiative ON projects.projects (tenant_id, initiative_id, sort_name, id) WHERE initiative_id IS NOT NULL;
CREATE INDEX tasks_by_initiative ON projects.tasks (tenant_id, initiative_id, project_id, number) WHERE initiative_id IS NOT NULL;
-- What is under way in a project, the most pressing first.
CREATE INDEX tasks_in_progress ON projects.tasks (tenant_id, project_id, priority_rank, due_order, number)
    WHERE status_category = 'IN_PROGRESS';

-- Statuses are renamed in place; tasks follow by their foreign key.
GRANT UPDATE (name) ON projects.statuses TO parapet_tracker;

CREATE TABLE projects.stages (
    tenant_id    uuid        NOT NULL,
    id           uuid        NOT NULL,
    project_id   uuid        NOT NULL,
    -- The place in the pipeline, from 1. Whoever moves a stage holds the project, so that the places stay without gap or double.
    position     smallint    NOT NULL CHECK (position > 0),
    name         text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    description  text        NOT NULL DEFAULT '' CHECK (length(description) <= 20000),
    status       text        NOT NULL CHECK (status IN ('planned', 'in-progress', 'completed')),
    start_date   date,
    end_date     date,
    started_at   timestamptz,
    completed_at timestamptz,
    created_by   uuid        NOT NULL,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT stages_in_project UNIQUE (tenant_id, project_id, id),
    CONSTRAINT stages_of_project FOREIGN KEY (tenant_id, project_id) REFERENCES projects.projects (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT stages_dates_in_order CHECK (end_date >= start_date),
    CONSTRAINT stages_times_of_status CHECK ((started_at IS NULL) = (status = 'planned') AND (completed_at IS NULL) = (status <> 'completed'))
);
CREATE INDEX stages_pipeline ON projects.stages (tenant_id, project_id, position);

-- A gate comes after one stage, and a stage has one gate.
CREATE TABLE projects.gates (
    tenant_id  uuid        NOT NULL,
    id         uuid        NOT NULL,
    project_id uuid        NOT NULL,
    stage_id   uuid        NOT NULL,
    name       text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    criteria   text[]      NOT NULL DEFAULT '{}' CHECK (cardinality(criteria) <= 50 AND array_position(criteria, NULL) IS NULL),
    status     text        NOT NULL CHECK (status IN ('PENDING', 'PASSED', 'FAILED', 'HELD')),
    decided_at timestamptz,
    created_by uuid        NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT gates_stage_once UNIQUE (tenant_id, project_id, stage_id),
    CONSTRAINT gates_after_stage FOREIGN KEY (tenant_id, project_id, stage_id)
        REFERENCES projects.stages (tenant_id, project_id, id) ON DELETE CASCADE,
    CONSTRAINT gates_decided CHECK ((decided_at IS NULL) = (status = 'PENDING'))
);

-- The votes that count: a reviewer's later one replaces the former, which the audit log keeps.
CREATE TABLE projects.gate_reviews (
    tenant_id   uuid        NOT NULL,
    gate_id     uuid        NOT NULL,
    reviewer_id uuid        NOT NULL,
    id          uuid        NOT NULL,
    vote        text        NOT NULL CHECK (vote IN ('PASS', 'FAIL', 'WAIVE', 'HOLD')),
    reason      text        NOT NULL DEFAULT '' CHECK (length(reason) <= 5000),
    -- [{"criterion": text, "met": boolean}]: the texts as they were at the time.
    criteria    jsonb       NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(criteria) = 'array'),
    reviewed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, gate_id, reviewer_id),
    CONSTRAINT gate_reviews_of_gate FOREIGN KEY (tenant_id, gate_id) REFERENCES projects.gates (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT gate_reviews_waive_has_reason CHECK (vote <> 'WAIVE' OR reason <> '')
);

-- A path in its normal form belongs to one project of the tenant.
CREATE TABLE projects.repo_paths (
    tenant_id  uuid        NOT NULL,
    id         uuid        NOT NULL,
    project_id uuid        NOT NULL,
    path       text COLLATE "C" NOT NULL CHECK (octet_length(path) BETWEEN 2 AND 1000),
    created_by uuid        NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT repo_paths_once UNIQUE (tenant_id, path),
    CONSTRAINT repo_paths_of_project FOREIGN KEY (tenant_id, project_id) REFERENCES projects.projects (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX repo_paths_by_project ON projects.repo_paths (tenant_id, project_id, path);

-- Row-level security --------------------------------------------------------------------------------------------------

ALTER TABLE projects.initiatives ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.initiatives FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.initiatives
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE projects.stages ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.stages FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.stages
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE projects.gates ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.gates FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.gates
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE projects.gate_reviews ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.gate_reviews FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.gate_reviews
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE projects.repo_paths ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.repo_paths FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.repo_paths
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- Grants --------------------------------------------------------------------------------------------------------------

GRANT SELECT, INSERT, DELETE,
      UPDATE (name, description, status, start_date, end_date, classification, organisation_id, progress, updated_at)
    ON projects.initiatives TO parapet_tracker;
GRANT SELECT, INSERT, DELETE,
      UPDATE (position, name, description, status, start_date, end_date, started_at, completed_at, updated_at)
    ON projects.stages TO parapet_tracker;
GRANT SELECT, INSERT, DELETE, UPDATE (name, criteria, status, decided_at, updated_at) ON projects.gates TO parapet_tracker;
GRANT SELECT, INSERT, DELETE, UPDATE (vote, reason, criteria, reviewed_at) ON projects.gate_reviews TO parapet_tracker;
GRANT SELECT, INSERT, DELETE ON projects.repo_paths TO parapet_tracker;
