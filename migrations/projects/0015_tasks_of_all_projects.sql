-- Lists of the tasks of all projects of a tenant.
--
-- Each index of tasks has the condition number > 0, which is true for every task and which only statements for all projects
-- contain. The planner therefore does not use these indexes for the tasks of one project: it would read the tasks of the
-- other projects as well.

-- The latest change first.
CREATE INDEX tasks_by_update ON projects.tasks (tenant_id, updated_at, id) WHERE number > 0;
-- The ready set and the review queue; tasks_by_pressure has those of one project.
CREATE INDEX tasks_by_urgency ON projects.tasks (tenant_id, status_category, priority_rank, due_order, created_at, id)
    WHERE status_category IN ('TODO', 'REVIEW') AND number > 0;
-- Open tasks by due date.
CREATE INDEX tasks_open_by_due ON projects.tasks (tenant_id, due_order, priority_rank, created_at, id)
    WHERE status_category IN ('TODO', 'IN_PROGRESS', 'REVIEW') AND number > 0;
-- The oldest open decision request of the tenant comes first.
CREATE INDEX decision_requests_awaiting_any ON projects.decision_requests (tenant_id, created_at, id) WHERE status = 'open';

-- The ids of the tasks of a tenant whose terms match a query, as projects.search_tasks for one project (0010_search.sql). Each
-- term contains a part of the tenant's id, so the scan reads only entries of the tenant.
CREATE FUNCTION projects.search_tenant_tasks(p_tenant uuid, p_query tsquery)
    RETURNS SETOF uuid LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
    SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
    AS $$
DECLARE
    current_tenant constant uuid := nullif(current_setting('app.tenant_id', true), '')::uuid;
BEGIN
    IF current_tenant IS NULL OR p_tenant IS DISTINCT FROM current_tenant OR p_query IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT found.task_id
    FROM (SELECT s.tenant_id, s.task_id FROM projects.search_terms s WHERE s.terms @@ p_query OFFSET 0) found
    WHERE found.tenant_id = current_tenant;
END
$$;
GRANT EXECUTE ON FUNCTION projects.search_tenant_tasks(uuid, tsquery) TO parapet_tracker;

-- Last, for the reason that 0010_search.sql gives.
GRANT CREATE ON SCHEMA projects TO parapet_search;
ALTER FUNCTION projects.search_tenant_tasks(uuid, tsquery) OWNER TO parapet_search;
REVOKE CREATE ON SCHEMA projects FROM parapet_search;
