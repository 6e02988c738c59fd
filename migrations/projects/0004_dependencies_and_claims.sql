-- Dependencies between tasks, the order in which work is pressing, and claims with a lease.

-- A task that waits, and the one that it waits for. The program keeps circles out; whoever adds dependencies of a tenant does
-- so one after the other.
CREATE TABLE projects.dependencies (
    tenant_id     uuid        NOT NULL,
    task_id       uuid        NOT NULL,
    depends_on_id uuid        NOT NULL,
    created_by    uuid        NOT NULL,
    created_at    timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, task_id, depends_on_id),
    CONSTRAINT dependencies_task FOREIGN KEY (tenant_id, task_id) REFERENCES projects.tasks (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT dependencies_depends_on FOREIGN KEY (tenant_id, depends_on_id) REFERENCES projects.tasks (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT dependencies_of_another CHECK (task_id <> depends_on_id)
);
CREATE INDEX dependencies_by_target ON projects.dependencies (tenant_id, depends_on_id, task_id);

-- The order of the ready set and of the review queue, as numbers and days that compare: the most pressing priority is 0, and a
-- task without a due date comes last.
ALTER TABLE projects.tasks
    ADD COLUMN priority_rank smallint NOT NULL GENERATED ALWAYS AS (
        CASE priority WHEN 'URGENT' THEN 0 WHEN 'HIGH' THEN 1 WHEN 'MEDIUM' THEN 2 ELSE 3 END) STORED,
    ADD COLUMN due_order date NOT NULL GENERATED ALWAYS AS (coalesce(due_date, 'infinity'::date)) STORED;
CREATE INDEX tasks_by_pressure ON projects.tasks (tenant_id, project_id, status_category, priority_rank, due_order, created_at, id)
    WHERE status_category IN ('TODO', 'REVIEW');

-- A task that somebody took for a limited time. The row is there as long as the claim is: the task is in progress and in the
-- hands of the holder.
CREATE TABLE projects.claims (
    tenant_id     uuid        NOT NULL,
    -- The lease's id.
    id            uuid        NOT NULL,
    project_id    uuid        NOT NULL,
    task_id       uuid        NOT NULL,
    holder_id     uuid        NOT NULL,
    -- What the task goes back to.
    former_status text        NOT NULL,
    seconds       integer     NOT NULL CHECK (seconds BETWEEN 1 AND 86400),
    claimed_by    uuid        NOT NULL,
    claimed_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT claims_task_once UNIQUE (tenant_id, task_id),
    CONSTRAINT claims_task FOREIGN KEY (tenant_id, project_id, task_id)
        REFERENCES projects.tasks (tenant_id, project_id, id) ON DELETE CASCADE
);
CREATE INDEX claims_by_project ON projects.claims (tenant_id, project_id, expires_at);
CREATE INDEX claims_lapsing ON projects.claims (expires_at, tenant_id);

-- Whatever takes a task out of progress or out of its holder's hands ends the claim, a change of the project's statuses too.
CREATE FUNCTION projects.end_claim() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    DELETE FROM projects.claims c WHERE c.tenant_id = NEW.tenant_id AND c.task_id = NEW.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER tasks_end_claim AFTER UPDATE OF status_category, assignee_id ON projects.tasks
    FOR EACH ROW
    WHEN (OLD.status_category = 'IN_PROGRESS'
          AND (NEW.status_category <> 'IN_PROGRESS' OR NEW.assignee_id IS DISTINCT FROM OLD.assignee_id))
    EXECUTE FUNCTION projects.end_claim();

-- Row-level security --------------------------------------------------------------------------------------------------

ALTER TABLE projects.dependencies ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.dependencies FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.dependencies
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE projects.claims ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.claims FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.claims
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
-- In which tenants leases have lapsed: a pass through all of them, after which the module works in each.
CREATE POLICY jobs_read ON projects.claims FOR SELECT TO parapet_jobs USING (true);

-- Grants --------------------------------------------------------------------------------------------------------------

GRANT SELECT, INSERT, DELETE ON projects.dependencies TO parapet_tracker;
GRANT SELECT, INSERT, DELETE, UPDATE (seconds, expires_at) ON projects.claims TO parapet_tracker;
GRANT USAGE ON SCHEMA projects TO parapet_jobs;
GRANT SELECT (tenant_id, expires_at) ON projects.claims TO parapet_jobs;
