-- Decision requests: a question that a task's assignee puts to people, and the answer. The row is durable: the answer may
-- come days later, from anywhere.

CREATE TABLE projects.decision_requests (
    tenant_id     uuid        NOT NULL,
    id            uuid        NOT NULL,
    project_id    uuid        NOT NULL,
    task_id       uuid        NOT NULL,
    question      text        NOT NULL CHECK (length(question) BETWEEN 1 AND 4000),
    options       text[]      NOT NULL DEFAULT '{}' CHECK (cardinality(options) <= 10 AND array_position(options, NULL) IS NULL),
    status        text        NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'answered', 'cancelled')),
    -- The answer in words; where an option was chosen, that option's words and its place.
    answer        text        CHECK (length(answer) BETWEEN 1 AND 10000),
    chosen_option smallint,
    -- The identity that the request was raised as: the task's assignee of then.
    raised_by     uuid        NOT NULL,
    -- For attribution alone: it opens nothing.
    session_id    text        CHECK (length(session_id) BETWEEN 1 AND 200),
    created_at    timestamptz NOT NULL,
    resolved_at   timestamptz,
    resolved_by   uuid,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT decision_requests_of_task FOREIGN KEY (tenant_id, project_id, task_id)
        REFERENCES projects.tasks (tenant_id, project_id, id) ON DELETE CASCADE,
    CONSTRAINT decision_requests_resolved_by_somebody CHECK ((status = 'open') = (resolved_at IS NULL) AND (status = 'open') = (resolved_by IS NULL)),
    CONSTRAINT decision_requests_answered_in_words CHECK ((status = 'answered') = (answer IS NOT NULL)),
    CONSTRAINT decision_requests_chosen_is_an_option CHECK (
        chosen_option IS NULL OR (chosen_option >= 0 AND chosen_option < cardinality(options) AND answer IS NOT NULL))
);
-- A task waits for one decision at a time. The ready set asks this index whether a task waits.
CREATE UNIQUE INDEX decision_requests_open_once ON projects.decision_requests (tenant_id, task_id) WHERE status = 'open';
-- The oldest open request of a project comes first.
CREATE INDEX decision_requests_awaiting ON projects.decision_requests (tenant_id, project_id, created_at, id) WHERE status = 'open';
-- The requests of a task, backwards from the latest.
CREATE INDEX decision_requests_by_task ON projects.decision_requests (tenant_id, project_id, task_id, created_at, id);

-- Whoever waits for a decision is told at the commit that it is there, or that the request is gone: ids alone.
CREATE FUNCTION projects.notify_decision() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    PERFORM pg_notify('parapet_decisions', json_build_object('tenant', OLD.tenant_id, 'request', OLD.id)::text);
    RETURN NULL;
END
$$;
CREATE TRIGGER decision_requests_notify AFTER UPDATE OR DELETE ON projects.decision_requests
    FOR EACH ROW WHEN (OLD.status = 'open') EXECUTE FUNCTION projects.notify_decision();

ALTER TABLE projects.decision_requests ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.decision_requests FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.decision_requests
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

GRANT SELECT, INSERT, UPDATE (status, answer, chosen_option, resolved_at, resolved_by)
    ON projects.decision_requests TO parapet_tracker;
