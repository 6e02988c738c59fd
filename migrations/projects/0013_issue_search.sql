-- The search of issues: what 0010_search.sql says of tasks, for issues, which are looked for in the whole tenant as well.

CREATE TABLE projects.issue_terms (
    tenant_id uuid     NOT NULL,
    issue_id  uuid     NOT NULL,
    terms     tsvector NOT NULL,
    PRIMARY KEY (tenant_id, issue_id),
    CONSTRAINT issue_terms_of_issue FOREIGN KEY (tenant_id, issue_id) REFERENCES projects.issues (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX issue_terms_by_term ON projects.issue_terms USING gin (terms) WITH (fastupdate = off);

-- The terms follow the texts, whoever writes them.
CREATE FUNCTION projects.index_issue() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    INSERT INTO projects.issue_terms (tenant_id, issue_id, terms)
    VALUES (NEW.tenant_id, NEW.id, projects.search_terms(NEW.tenant_id, NEW.project_id, NEW.title, NEW.description))
    ON CONFLICT (tenant_id, issue_id) DO UPDATE SET terms = excluded.terms;
    RETURN NULL;
END
$$;
CREATE TRIGGER issues_search_insert AFTER INSERT ON projects.issues FOR EACH ROW EXECUTE FUNCTION projects.index_issue();
CREATE TRIGGER issues_search_update AFTER UPDATE OF title, description ON projects.issues FOR EACH ROW
    WHEN (OLD.title IS DISTINCT FROM NEW.title OR OLD.description IS DISTINCT FROM NEW.description)
    EXECUTE FUNCTION projects.index_issue();

-- The issues that were there before.
ALTER TABLE projects.issues NO FORCE ROW LEVEL SECURITY;
INSERT INTO projects.issue_terms (tenant_id, issue_id, terms)
SELECT i.tenant_id, i.id, projects.search_terms(i.tenant_id, i.project_id, i.title, i.description) FROM projects.issues i;
ALTER TABLE projects.issues FORCE ROW LEVEL SECURITY;

-- The issues of a tenant, or of one project of it, whose terms answer a query. As projects.search_tasks; each term of a query
-- names the tenant, so that without a project the scan is bound to the tenant's own entries.
CREATE FUNCTION projects.search_issues(p_tenant uuid, p_project uuid, p_query tsquery)
    RETURNS SETOF uuid LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
    SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
    AS $$
DECLARE
    here constant uuid := nullif(current_setting('app.tenant_id', true), '')::uuid;
BEGIN
    IF here IS NULL OR p_tenant IS DISTINCT FROM here OR p_query IS NULL THEN
        RETURN;
    END IF;
    IF p_project IS NOT NULL THEN
        p_query := ('''p' || right(here::text, 8) || p_project::text || '''')::tsquery && p_query;
    END IF;
    RETURN QUERY
    SELECT found.issue_id
    FROM (SELECT s.tenant_id, s.issue_id FROM projects.issue_terms s WHERE s.terms @@ p_query OFFSET 0) found
    WHERE found.tenant_id = here;
END
$$;

-- Row-level security --------------------------------------------------------------------------------------------------

ALTER TABLE projects.issue_terms ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.issue_terms FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.issue_terms
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
CREATE POLICY search_read ON projects.issue_terms FOR SELECT TO parapet_search USING (true);

-- Grants --------------------------------------------------------------------------------------------------------------

GRANT SELECT, INSERT, UPDATE (terms) ON projects.issue_terms TO parapet_tracker;
GRANT SELECT ON projects.issue_terms TO parapet_search;
GRANT EXECUTE ON FUNCTION projects.search_issues(uuid, uuid, tsquery) TO parapet_tracker;

-- Last, for the reason that 0010_search.sql gives.
GRANT CREATE ON SCHEMA projects TO parapet_search;
ALTER FUNCTION projects.search_issues(uuid, uuid, tsquery) OWNER TO parapet_search;
REVOKE CREATE ON SCHEMA projects FROM parapet_search;
