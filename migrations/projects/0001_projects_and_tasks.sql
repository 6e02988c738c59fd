-- Projects and their tasks, and what an import remembers.
--
-- Every table carries tenant_id first in its primary key, its unique constraints, its foreign keys and its indexes, so that
-- it can be distributed by tenant. Nothing here refers to another schema: users and organisations are the directory's ids.

CREATE TABLE projects.projects (
    tenant_id       uuid        NOT NULL,
    id              uuid        NOT NULL,
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    -- The order of lists and the match of a hint, whatever the letters' case.
    sort_name       text COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(name)) STORED,
    description     text        NOT NULL DEFAULT '' CHECK (length(description) <= 20000),
    status          text        NOT NULL DEFAULT 'ACTIVE' CHECK (status IN ('ACTIVE', 'ON_HOLD', 'COMPLETED', 'CANCELLED')),
    start_date      date        NOT NULL,
    end_date        date,
    prefix          text        NOT NULL CHECK (prefix ~ '^[A-Z][A-Z0-9]{1,9}$'),
    -- NULL is the default prefix of the tenant, ISS, which no project can claim for itself.
    issue_prefix    text        CHECK (issue_prefix ~ '^[A-Z][A-Z0-9]{1,9}$' AND issue_prefix <> 'ISS'),
    initiative_id   uuid,
    -- NULL is an unknown scale, for which no default is ever assumed.
    story_points    double precision[],
    organisation_id uuid,
    classification  text        NOT NULL CHECK (classification IN ('UNCLASSIFIED', 'INTERNAL', 'RESTRICTED', 'CONFIDENTIAL', 'SECRET')),
    owner_id        uuid,
    created_by      uuid        NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT projects_prefix_once UNIQUE (tenant_id, prefix),
    CONSTRAINT projects_issue_prefix_once UNIQUE (tenant_id, issue_prefix),
    CONSTRAINT projects_dates_in_order CHECK (end_date >= start_date),
    CONSTRAINT projects_story_points_not_empty CHECK (cardinality(story_points) BETWEEN 1 AND 50 AND array_ndims(story_points) = 1),
    CONSTRAINT projects_story_points_no_null CHECK (array_position(story_points, NULL) IS NULL)
);
CREATE INDEX projects_by_name ON projects.projects (tenant_id, sort_name, id);
CREATE INDEX projects_by_status ON projects.projects (tenant_id, status, sort_name, id);

-- The statuses that a project's tasks can have. Tasks repeat the category, and the foreign key keeps it true: lists, the
-- ready set and the review queue need no join for it.
CREATE TABLE projects.statuses (
    tenant_id  uuid     NOT NULL,
    project_id uuid     NOT NULL,
    name       text     NOT NULL CHECK (length(name) BETWEEN 1 AND 50 AND name = btrim(name)),
    category   text     NOT NULL CHECK (category IN ('TODO', 'IN_PROGRESS', 'REVIEW', 'DONE', 'CANCELLED')),
    position   smallint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, name),
    CONSTRAINT statuses_category_of_name UNIQUE (tenant_id, project_id, name, category),
    CONSTRAINT statuses_of_project FOREIGN KEY (tenant_id, project_id) REFERENCES projects.projects (tenant_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX statuses_name_once ON projects.statuses (tenant_id, project_id, lower(name));

-- The last task number of a project, in a row of its own: whoever takes a number holds this row until it commits, and nobody
-- who reads or changes the project waits for that. Updates stay on the page.
CREATE TABLE projects.counters (
    tenant_id   uuid   NOT NULL,
    project_id  uuid   NOT NULL,
    last_number bigint NOT NULL DEFAULT 0 CHECK (last_number >= 0),
    PRIMARY KEY (tenant_id, project_id),
    CONSTRAINT counters_of_project FOREIGN KEY (tenant_id, project_id) REFERENCES projects.projects (tenant_id, id) ON DELETE CASCADE
) WITH (fillfactor = 50);

CREATE TABLE projects.tasks (
    tenant_id       uuid        NOT NULL,
    id              uuid        NOT NULL,
    project_id      uuid        NOT NULL,
    -- The key is <prefix of the project>-<number>; the prefix is not repeated here.
    number          bigint      NOT NULL CHECK (number > 0),
    title           text        NOT NULL CHECK (length(title) BETWEEN 1 AND 500),
    description     text        NOT NULL DEFAULT '' CHECK (length(description) <= 100000),
    status          text        NOT NULL,
    status_category text        NOT NULL,
    issue_type      text        NOT NULL CHECK (issue_type IN ('TASK', 'EPIC', 'BUG', 'FEATURE', 'CHORE')),
    priority        text        NOT NULL CHECK (priority IN ('URGENT', 'HIGH', 'MEDIUM', 'LOW')),
    progress        smallint    NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 100),
    assignee_id     uuid,
    due_date        date,
    epic_id         uuid,
    -- Set exactly when the epic is in another project, so that only such an epic costs a look at whether it may be shown.
    epic_project_id uuid,
    parent_task_id  uuid,
    initiative_id   uuid,
    estimate_points double precision CHECK (estimate_points >= 0),
    labels          text[]      NOT NULL DEFAULT '{}' CHECK (cardinality(labels) <= 50 AND array_position(labels, NULL) IS NULL),
    created_by      uuid        NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    completed_at    timestamptz,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT tasks_number_once UNIQUE (tenant_id, project_id, number),
    CONSTRAINT tasks_in_project UNIQUE (tenant_id, project_id, id),
    CONSTRAINT tasks_of_project FOREIGN KEY (tenant_id, project_id) REFERENCES projects.projects (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT tasks_status_of_project FOREIGN KEY (tenant_id, project_id, status, status_category)
        REFERENCES projects.statuses (tenant_id, project_id, name, category) ON UPDATE CASCADE,
    CONSTRAINT tasks_epic FOREIGN KEY (tenant_id, epic_id) REFERENCES projects.tasks (tenant_id, id),
    CONSTRAINT tasks_parent_in_project FOREIGN KEY (tenant_id, project_id, parent_task_id)
        REFERENCES projects.tasks (tenant_id, project_id, id),
    CONSTRAINT tasks_done_is_whole CHECK (status_category <> 'DONE' OR progress = 100),
    CONSTRAINT tasks_epic_stands_alone CHECK (issue_type <> 'EPIC' OR (epic_id IS NULL AND parent_task_id IS NULL)),
    CONSTRAINT tasks_epic_project_is_another CHECK (epic_project_id IS NULL OR (epic_id IS NOT NULL AND epic_project_id <> project_id)),
    CONSTRAINT tasks_parent_is_another CHECK (parent_task_id <> id),
    CONSTRAINT tasks_initiative_is_for_epics CHECK (initiative_id IS NULL OR issue_type = 'EPIC')
);
-- The list of a project runs backwards over tasks_number_once.
CREATE INDEX tasks_by_status ON projects.tasks (tenant_id, project_id, status, number);
CREATE INDEX tasks_by_assignee ON projects.tasks (tenant_id, assignee_id, project_id, number) WHERE assignee_id IS NOT NULL;
CREATE INDEX tasks_by_epic ON projects.tasks (tenant_id, epic_id, project_id, number) WHERE epic_id IS NOT NULL;
CREATE INDEX tasks_by_epic_project ON projects.tasks (tenant_id, epic_project_id) WHERE epic_project_id IS NOT NULL;
CREATE INDEX tasks_by_parent ON projects.tasks (tenant_id, project_id, parent_task_id) WHERE parent_task_id IS NOT NULL;

-- Which task an item of another tracker became. The item is known again by its own id; the fingerprint tells whether it has
-- changed since. source keeps what a task has no field for, so that an export can write the item as it was.
CREATE TABLE projects.import_items (
    tenant_id   uuid        NOT NULL,
    project_id  uuid        NOT NULL,
    source_id   text        NOT NULL CHECK (length(source_id) BETWEEN 1 AND 200),
    task_id     uuid        NOT NULL,
    fingerprint text        NOT NULL,
    source      jsonb       NOT NULL,
    imported_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, project_id, source_id),
    CONSTRAINT import_items_task_once UNIQUE (tenant_id, project_id, task_id),
    CONSTRAINT import_items_task FOREIGN KEY (tenant_id, project_id, task_id)
        REFERENCES projects.tasks (tenant_id, project_id, id) ON DELETE CASCADE
);

-- The links of imported items, by the items' own ids: the other end may come later, or never. applied_at is set once a link
-- has become part of the tasks.
CREATE TABLE projects.import_links (
    tenant_id     uuid        NOT NULL,
    project_id    uuid        NOT NULL,
    source_id     text        NOT NULL,
    depends_on_id text        NOT NULL CHECK (length(depends_on_id) BETWEEN 1 AND 200),
    type          text        NOT NULL CHECK (length(type) BETWEEN 1 AND 50),
    position      smallint    NOT NULL,
    applied_at    timestamptz,
    PRIMARY KEY (tenant_id, project_id, source_id, depends_on_id, type),
    CONSTRAINT import_links_of_item FOREIGN KEY (tenant_id, project_id, source_id)
        REFERENCES projects.import_items (tenant_id, project_id, source_id) ON DELETE CASCADE
);
CREATE INDEX import_links_by_target ON projects.import_links (tenant_id, project_id, depends_on_id) WHERE applied_at IS NULL;

-- Row-level security --------------------------------------------------------------------------------------------------

ALTER TABLE projects.projects ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.projects FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.projects
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE projects.statuses ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.statuses FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.statuses
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE projects.counters ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.counters FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.counters
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE projects.tasks ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.tasks FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.tasks
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE projects.import_items ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.import_items FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.import_items
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE projects.import_links ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.import_links FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.import_links
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- Grants --------------------------------------------------------------------------------------------------------------
-- What never changes (whose a row is, who made it and when, its number) has no UPDATE privilege.

GRANT SELECT, INSERT, DELETE,
      UPDATE (name, description, status, start_date, end_date, prefix, issue_prefix, initiative_id, story_points,
              organisation_id, classification, owner_id, updated_at)
    ON projects.projects TO parapet_tracker;
GRANT SELECT, INSERT, DELETE, UPDATE (category, position) ON projects.statuses TO parapet_tracker;
GRANT SELECT, INSERT, UPDATE (last_number) ON projects.counters TO parapet_tracker;
GRANT SELECT, INSERT, DELETE,
      UPDATE (title, description, status, status_category, issue_type, priority, progress, assignee_id, due_date, epic_id,
              epic_project_id, parent_task_id, initiative_id, estimate_points, labels, updated_at, completed_at)
    ON projects.tasks TO parapet_tracker;
GRANT SELECT, INSERT, UPDATE (fingerprint, source, imported_at) ON projects.import_items TO parapet_tracker;
GRANT SELECT, INSERT, DELETE, UPDATE (applied_at) ON projects.import_links TO parapet_tracker;
