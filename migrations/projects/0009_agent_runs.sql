-- Agent runs: a task that was given to a synthetic agent, carried out by the operator's command, and how well that went.

CREATE TABLE projects.agent_runs (
    tenant_id        uuid        NOT NULL,
    id               uuid        NOT NULL,
    project_id       uuid        NOT NULL,
    task_id          uuid        NOT NULL,
    agent_id         uuid        NOT NULL,
    status           text        NOT NULL DEFAULT 'QUEUED' CHECK (status IN ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED')),
    attempts         smallint    NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- Until when the present attempt has the run for itself, whatever has become of its process.
    held_until       timestamptz,
    -- Who gave the agent the task.
    created_by       uuid        NOT NULL,
    created_at       timestamptz NOT NULL,
    started_at       timestamptz,
    finished_at      timestamptz,
    -- A code, never the command's own words.
    error            text        CHECK (error ~ '^[A-Z_]{1,50}$'),
    summary          text        CHECK (length(summary) BETWEEN 1 AND 2000),
    outcome          jsonb,
    scoring          text        CHECK (scoring IN ('SKIPPED', 'SCORED')),
    score            double precision CHECK (score BETWEEN 0 AND 1),
    score_components jsonb,
    scored_at        timestamptz,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT agent_runs_of_task FOREIGN KEY (tenant_id, project_id, task_id)
        REFERENCES projects.tasks (tenant_id, project_id, id) ON DELETE CASCADE,
    CONSTRAINT agent_runs_finished_at_their_end CHECK ((status IN ('QUEUED', 'RUNNING')) = (finished_at IS NULL)),
    CONSTRAINT agent_runs_held_while_they_run CHECK ((status = 'RUNNING') = (held_until IS NOT NULL)),
    CONSTRAINT agent_runs_scored_whole CHECK (
        (scoring IS NULL) = (scored_at IS NULL) AND (scoring IS NOT DISTINCT FROM 'SCORED') = (score IS NOT NULL)
        AND (score IS NULL) = (score_components IS NULL))
);
-- An agent has a task once at a time.
CREATE UNIQUE INDEX agent_runs_pending_once ON projects.agent_runs (tenant_id, task_id, agent_id) WHERE status IN ('QUEUED', 'RUNNING');
CREATE INDEX agent_runs_by_age ON projects.agent_runs (tenant_id, created_at, id);
CREATE INDEX agent_runs_by_project ON projects.agent_runs (tenant_id, project_id, created_at, id);
CREATE INDEX agent_runs_by_task ON projects.agent_runs (tenant_id, task_id, created_at, id);
CREATE INDEX agent_runs_by_agent ON projects.agent_runs (tenant_id, agent_id, created_at, id);
CREATE INDEX agent_runs_unscored ON projects.agent_runs (tenant_id, finished_at, id) WHERE scoring IS NULL AND status IN ('SUCCEEDED', 'FAILED');

ALTER TABLE projects.agent_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.agent_runs FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.agent_runs
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

GRANT SELECT, INSERT,
      UPDATE (status, attempts, held_until, started_at, finished_at, error, summary, outcome, scoring, score, score_components, scored_at)
    ON projects.agent_runs TO parapet_tracker;
