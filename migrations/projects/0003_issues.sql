-- Issues, and the comments and time entries of tasks and issues.

-- The last issue number of a tenant under one prefix. It outlives the projects that used the prefix, so that a key is never
-- given twice.
CREATE TABLE projects.issue_counters (
    tenant_id   uuid   NOT NULL,
    prefix      text   NOT NULL CHECK (prefix ~ '^[A-Z][A-Z0-9]{1,9}$'),
    last_number bigint NOT NULL CHECK (last_number > 0),
    PRIMARY KEY (tenant_id, prefix)
) WITH (fillfactor = 50);

CREATE TABLE projects.issues (
    tenant_id             uuid        NOT NULL,
    id                    uuid        NOT NULL,
    project_id            uuid        NOT NULL,
    -- The key is <prefix>-<number>. The prefix is the project's at the creation: a key outlives a change of it.
    prefix                text        NOT NULL CHECK (prefix ~ '^[A-Z][A-Z0-9]{1,9}$'),
    number                bigint      NOT NULL CHECK (number > 0),
    title                 text        NOT NULL CHECK (length(title) BETWEEN 1 AND 500),
    description           text        NOT NULL DEFAULT '' CHECK (length(description) <= 100000),
    severity              text        NOT NULL CHECK (severity IN ('CRITICAL', 'HIGH', 'MEDIUM', 'LOW')),
    status                text        NOT NULL CHECK (status IN ('OPEN', 'IN_PROGRESS', 'CLOSED', 'RESOLVED', 'REOPENED')),
    resolution            text        CHECK (resolution IN ('FIXED', 'WONT_FIX', 'DUPLICATE', 'DEFERRED')),
    assignee_id           uuid,
    due_date              date,
    first_response_due_at timestamptz NOT NULL,
    resolution_due_at     timestamptz NOT NULL,
    first_responded_at    timestamptz,
    -- When it last became resolved or closed, NULL while it is open.
    resolved_at           timestamptz,
    promoted_task_id      uuid,
    created_by            uuid        NOT NULL,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT issues_key_once UNIQUE (tenant_id, prefix, number),
    CONSTRAINT issues_in_project UNIQUE (tenant_id, project_id, id),
    CONSTRAINT issues_of_project FOREIGN KEY (tenant_id, project_id) REFERENCES projects.projects (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT issues_promoted_task FOREIGN KEY (tenant_id, project_id, promoted_task_id)
        REFERENCES projects.tasks (tenant_id, project_id, id) ON DELETE SET NULL (promoted_task_id),
    CONSTRAINT issues_resolution_of_resolved CHECK (status <> 'RESOLVED' OR resolution IS NOT NULL),
    CONSTRAINT issues_resolution_ends CHECK (resolution IS NULL OR status IN ('RESOLVED', 'CLOSED')),
    CONSTRAINT issues_resolved_at CHECK ((resolved_at IS NOT NULL) = (status IN ('RESOLVED', 'CLOSED')))
);
-- Lists run backwards over these.
CREATE INDEX issues_by_creation ON projects.issues (tenant_id, created_at, id);
CREATE INDEX issues_by_project ON projects.issues (tenant_id, project_id, created_at, id);
CREATE INDEX issues_by_status ON projects.issues (tenant_id, project_id, status, created_at, id);
CREATE INDEX issues_by_severity ON projects.issues (tenant_id, severity, created_at, id);
CREATE INDEX issues_by_assignee ON projects.issues (tenant_id, assignee_id, created_at, id) WHERE assignee_id IS NOT NULL;
CREATE UNIQUE INDEX issues_task_once ON projects.issues (tenant_id, project_id, promoted_task_id) WHERE promoted_task_id IS NOT NULL;

CREATE TABLE projects.comments (
    tenant_id  uuid        NOT NULL,
    id         uuid        NOT NULL,
    project_id uuid        NOT NULL,
    task_id    uuid,
    issue_id   uuid,
    body       text        NOT NULL CHECK (length(body) BETWEEN 1 AND 20000),
    author_id  uuid        NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT comments_on_task FOREIGN KEY (tenant_id, project_id, task_id)
        REFERENCES projects.tasks (tenant_id, project_id, id) ON DELETE CASCADE,
    CONSTRAINT comments_on_issue FOREIGN KEY (tenant_id, project_id, issue_id)
        REFERENCES projects.issues (tenant_id, project_id, id) ON DELETE CASCADE,
    CONSTRAINT comments_on_one CHECK (num_nonnulls(task_id, issue_id) = 1)
);
CREATE INDEX comments_by_task ON projects.comments (tenant_id, task_id, created_at, id) WHERE task_id IS NOT NULL;
CREATE INDEX comments_by_issue ON projects.comments (tenant_id, issue_id, created_at, id) WHERE issue_id IS NOT NULL;

-- Time outlives the task or issue that it was spent on: it stays with the project.
CREATE TABLE projects.time_entries (
    tenant_id  uuid        NOT NULL,
    id         uuid        NOT NULL,
    project_id uuid        NOT NULL,
    task_id    uuid,
    issue_id   uuid,
    user_id    uuid        NOT NULL,
    spent_on   date        NOT NULL,
    minutes    smallint    NOT NULL CHECK (minutes BETWEEN 1 AND 1440),
    note       text        NOT NULL DEFAULT '' CHECK (length(note) <= 2000),
    billable   boolean     NOT NULL,
    created_by uuid        NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT time_entries_of_project FOREIGN KEY (tenant_id, project_id) REFERENCES projects.projects (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT time_entries_on_task FOREIGN KEY (tenant_id, project_id, task_id)
        REFERENCES projects.tasks (tenant_id, project_id, id) ON DELETE SET NULL (task_id),
    CONSTRAINT time_entries_on_issue FOREIGN KEY (tenant_id, project_id, issue_id)
        REFERENCES projects.issues (tenant_id, project_id, id) ON DELETE SET NULL (issue_id),
    CONSTRAINT time_entries_on_one CHECK (num_nonnulls(task_id, issue_id) <= 1)
);
CREATE INDEX time_entries_by_day ON projects.time_entries (tenant_id, spent_on, id);
CREATE INDEX time_entries_by_project ON projects.time_entries (tenant_id, project_id, spent_on, id);
CREATE INDEX time_entries_by_user ON projects.time_entries (tenant_id, user_id, spent_on, id);
CREATE INDEX time_entries_by_task ON projects.time_entries (tenant_id, task_id, spent_on, id) WHERE task_id IS NOT NULL;
CREATE INDEX time_entries_by_issue ON projects.time_entries (tenant_id, issue_id, spent_on, id) WHERE issue_id IS NOT NULL;

-- Row-level security --------------------------------------------------------------------------------------------------

ALTER TABLE projects.issue_counters ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.issue_counters FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.issue_counters
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE projects.issues ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.issues FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.issues
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE projects.comments ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.comments FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.comments
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE projects.time_entries ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.time_entries FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.time_entries
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- Grants --------------------------------------------------------------------------------------------------------------
-- What never changes (whose a row is, who made it and when, its key, what it is on) has no UPDATE privilege.

GRANT SELECT, INSERT, UPDATE (last_number) ON projects.issue_counters TO parapet_tracker;
GRANT SELECT, INSERT, DELETE,
      UPDATE (title, description, severity, status, resolution, assignee_id, due_date, first_response_due_at, resolution_due_at,
              first_responded_at, resolved_at, promoted_task_id, updated_at)
    ON projects.issues TO parapet_tracker;
GRANT SELECT, INSERT, DELETE, UPDATE (body, updated_at) ON projects.comments TO parapet_tracker;
GRANT SELECT, INSERT, DELETE, UPDATE (spent_on, minutes, note, billable, updated_at) ON projects.time_entries TO parapet_tracker;
