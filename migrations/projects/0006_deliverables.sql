-- Deliverables with their acceptance criteria, and the custom fields of a project's tasks.

CREATE TABLE projects.deliverables (
    tenant_id     uuid        NOT NULL,
    id            uuid        NOT NULL,
    project_id    uuid        NOT NULL,
    task_id       uuid,
    title         text        NOT NULL CHECK (length(title) BETWEEN 1 AND 500),
    description   text        NOT NULL DEFAULT '' CHECK (length(description) <= 100000),
    status        text        NOT NULL DEFAULT 'DRAFT'
        CHECK (status IN ('DRAFT', 'SUBMITTED', 'UNDER_REVIEW', 'ACCEPTED', 'REJECTED', 'REVISED')),
    owner_id      uuid,
    due_date      date,
    review_reason text        NOT NULL DEFAULT '' CHECK (length(review_reason) <= 5000),
    created_by    uuid        NOT NULL,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    submitted_by  uuid,
    submitted_at  timestamptz,
    reviewed_by   uuid,
    reviewed_at   timestamptz,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT deliverables_in_project UNIQUE (tenant_id, project_id, id),
    CONSTRAINT deliverables_of_project FOREIGN KEY (tenant_id, project_id) REFERENCES projects.projects (tenant_id, id) ON DELETE CASCADE,
    -- A deliverable outlives its task, and is then the whole project's.
    CONSTRAINT deliverables_task_in_project FOREIGN KEY (tenant_id, project_id, task_id)
        REFERENCES projects.tasks (tenant_id, project_id, id) ON DELETE SET NULL (task_id)
);
-- Ids grow with time: the newest of a project come first by walking backwards over deliverables_in_project.
CREATE INDEX deliverables_by_status ON projects.deliverables (tenant_id, project_id, status, id);
CREATE INDEX deliverables_by_task ON projects.deliverables (tenant_id, project_id, task_id, id) WHERE task_id IS NOT NULL;

CREATE TABLE projects.criteria (
    tenant_id      uuid        NOT NULL,
    id             uuid        NOT NULL,
    project_id     uuid        NOT NULL,
    deliverable_id uuid,
    task_id        uuid,
    text           text        NOT NULL CHECK (length(text) BETWEEN 1 AND 2000),
    met            boolean     NOT NULL DEFAULT false,
    met_by         uuid,
    met_at         timestamptz,
    -- Cited by the rejection of the deliverable.
    failed         boolean     NOT NULL DEFAULT false,
    created_by     uuid        NOT NULL,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT criteria_of_one CHECK ((deliverable_id IS NULL) <> (task_id IS NULL)),
    CONSTRAINT criteria_of_deliverable FOREIGN KEY (tenant_id, project_id, deliverable_id)
        REFERENCES projects.deliverables (tenant_id, project_id, id) ON DELETE CASCADE,
    CONSTRAINT criteria_of_task FOREIGN KEY (tenant_id, project_id, task_id)
        REFERENCES projects.tasks (tenant_id, project_id, id) ON DELETE CASCADE,
    CONSTRAINT criteria_failed_is_not_met CHECK (NOT (failed AND met))
);
CREATE INDEX criteria_by_project ON projects.criteria (tenant_id, project_id, id);
CREATE INDEX criteria_by_deliverable ON projects.criteria (tenant_id, project_id, deliverable_id, id) WHERE deliverable_id IS NOT NULL;
CREATE INDEX criteria_by_task ON projects.criteria (tenant_id, project_id, task_id, id) WHERE task_id IS NOT NULL;

CREATE TABLE projects.custom_fields (
    tenant_id  uuid        NOT NULL,
    id         uuid        NOT NULL,
    project_id uuid        NOT NULL,
    name       text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100 AND name = btrim(name)),
    -- The order of lists, whatever the letters' case.
    sort_name  text COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(name)) STORED,
    type       text        NOT NULL CHECK (type IN ('TEXT', 'NUMBER', 'DATE', 'BOOLEAN', 'CHOICE')),
    options    text[]      NOT NULL DEFAULT '{}' CHECK (cardinality(options) <= 100 AND array_position(options, NULL) IS NULL),
    created_by uuid        NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT custom_fields_name_once UNIQUE (tenant_id, project_id, sort_name),
    CONSTRAINT custom_fields_in_project UNIQUE (tenant_id, project_id, id),
    CONSTRAINT custom_fields_of_project FOREIGN KEY (tenant_id, project_id) REFERENCES projects.projects (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT custom_fields_options_of_choice CHECK ((type = 'CHOICE') = (cardinality(options) > 0))
);

-- A value is kept as the text that shows, in one form for each type: two equal values are equal texts.
CREATE TABLE projects.custom_field_values (
    tenant_id  uuid NOT NULL,
    project_id uuid NOT NULL,
    task_id    uuid NOT NULL,
    field_id   uuid NOT NULL,
    value      text NOT NULL CHECK (length(value) BETWEEN 1 AND 5000),
    PRIMARY KEY (tenant_id, project_id, task_id, field_id),
    CONSTRAINT custom_field_values_of_task FOREIGN KEY (tenant_id, project_id, task_id)
        REFERENCES projects.tasks (tenant_id, project_id, id) ON DELETE CASCADE,
    CONSTRAINT custom_field_values_of_field FOREIGN KEY (tenant_id, project_id, field_id)
        REFERENCES projects.custom_fields (tenant_id, project_id, id) ON DELETE CASCADE
);
CREATE INDEX custom_field_values_by_field ON projects.custom_field_values (tenant_id, project_id, field_id);

-- Row-level security --------------------------------------------------------------------------------------------------

ALTER TABLE projects.deliverables ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.deliverables FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.deliverables
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE projects.criteria ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.criteria FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.criteria
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE projects.custom_fields ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.custom_fields FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.custom_fields
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE projects.custom_field_values ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.custom_field_values FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.custom_field_values
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- Grants --------------------------------------------------------------------------------------------------------------

GRANT SELECT, INSERT, DELETE,
      UPDATE (task_id, title, description, status, owner_id, due_date, review_reason, updated_at,
              submitted_by, submitted_at, reviewed_by, reviewed_at)
    ON projects.deliverables TO parapet_tracker;
GRANT SELECT, INSERT, DELETE, UPDATE (text, met, met_by, met_at, failed, updated_at) ON projects.criteria TO parapet_tracker;
GRANT SELECT, INSERT, DELETE, UPDATE (name, options, updated_at) ON projects.custom_fields TO parapet_tracker;
GRANT SELECT, INSERT, DELETE, UPDATE (value) ON projects.custom_field_values TO parapet_tracker;
