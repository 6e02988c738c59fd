-- The search of tasks.
--
-- Under row-level security only leakproof operators become index conditions, and those of trigrams and full text are not: to
-- parapet_tracker an index of them is of no use. So the terms of a task's texts are in a table of their own, and a function
-- that runs as a role which can read that table and nothing else looks them up. It answers with ids alone; the caller's own
-- statement then reads the tasks, under its own policies.
--
-- Every term begins with a part of the tenant's id, so that a look-up touches the entries of that tenant and of (almost) no
-- other, however many there are: with terms that all tenants share, a prefix or a common trigram costs as much as the whole
-- installation has of it. The part need not be unique, because every row that is found is held against the tenant as well.

CREATE TABLE projects.search_terms (
    tenant_id  uuid     NOT NULL,
    project_id uuid     NOT NULL,
    task_id    uuid     NOT NULL,
    terms      tsvector NOT NULL,
    PRIMARY KEY (tenant_id, project_id, task_id),
    CONSTRAINT search_terms_of_task FOREIGN KEY (tenant_id, project_id, task_id)
        REFERENCES projects.tasks (tenant_id, project_id, id) ON DELETE CASCADE
);
-- No list of pending entries: each search would have to read it from end to end.
CREATE INDEX search_terms_by_term ON projects.search_terms USING gin (terms) WITH (fastupdate = off);

-- The terms of a task: t and each trigram of the title's words, as pg_trgm pads them; w and each word of title and
-- description; p and the project. Words are runs of letters and digits in lower case; beyond ASCII everything but
-- punctuation counts as a letter, whatever the database's locale says.
CREATE FUNCTION projects.search_terms(p_tenant uuid, p_project uuid, p_title text, p_description text)
    RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    gap     constant text := '[\u0001-\u002f\u003a-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]+';
    scope   constant text := right(p_tenant::text, 8);
    title   constant text := btrim(regexp_replace(lower(p_title), gap, ' ', 'g'));
    padded  constant text := '  ' || replace(title, ' ', '   ') || ' ';
    trigram text;
    terms   text[] := ARRAY['p' || scope || p_project::text];
BEGIN
    FOR i IN 1 .. length(padded) - 2 LOOP
        trigram := substr(padded, i, 3);
        IF right(trigram, 2) <> '  ' THEN
            terms := terms || ('t' || scope || trigram);
        END IF;
    END LOOP;
    RETURN array_to_tsvector(terms) || strip(to_tsvector('simple',
        replace(' ' || title, ' ', ' w' || scope) || regexp_replace(' ' || lower(p_description), gap, ' w' || scope, 'g')));
END
$$;

-- The terms follow the texts, whoever writes them.
CREATE FUNCTION projects.index_task() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    INSERT INTO projects.search_terms (tenant_id, project_id, task_id, terms)
    VALUES (NEW.tenant_id, NEW.project_id, NEW.id,
            projects.search_terms(NEW.tenant_id, NEW.project_id, NEW.title, NEW.description))
    ON CONFLICT (tenant_id, project_id, task_id) DO UPDATE SET terms = excluded.terms;
    RETURN NULL;
END
$$;
CREATE TRIGGER tasks_search_insert AFTER INSERT ON projects.tasks FOR EACH ROW EXECUTE FUNCTION projects.index_task();
CREATE TRIGGER tasks_search_update AFTER UPDATE OF title, description ON projects.tasks FOR EACH ROW
    WHEN (OLD.title IS DISTINCT FROM NEW.title OR OLD.description IS DISTINCT FROM NEW.description)
    EXECUTE FUNCTION projects.index_task();

-- The tasks that were there before. The owner of the tables is bound by their policies too, and here has no tenant.
ALTER TABLE projects.tasks NO FORCE ROW LEVEL SECURITY;
INSERT INTO projects.search_terms (tenant_id, project_id, task_id, terms)
SELECT t.tenant_id, t.project_id, t.id, projects.search_terms(t.tenant_id, t.project_id, t.title, t.description)
FROM projects.tasks t;
ALTER TABLE projects.tasks FORCE ROW LEVEL SECURITY;

-- The tasks of a project whose terms answer a query. SECURITY DEFINER because of what the head of this file says; its owner
-- can read one table and cannot log in. The tenant of the arguments must be the one that the transaction works in: for any
-- other, or without one, nothing is found. The project's own term bounds the scan whatever the query is. The table is read
-- behind a fence, so that the index of terms is the only way to it.
CREATE FUNCTION projects.search_tasks(p_tenant uuid, p_project uuid, p_query tsquery)
    RETURNS SETOF uuid LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
    SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
    AS $$
DECLARE
    here constant uuid := nullif(current_setting('app.tenant_id', true), '')::uuid;
BEGIN
    IF here IS NULL OR p_tenant IS DISTINCT FROM here OR p_project IS NULL OR p_query IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT found.task_id
    FROM (SELECT s.tenant_id, s.project_id, s.task_id
          FROM projects.search_terms s
          WHERE s.terms @@ (('''p' || right(here::text, 8) || p_project::text || '''')::tsquery && p_query)
          OFFSET 0) found
    WHERE found.tenant_id = here AND found.project_id = p_project;
END
$$;

-- Row-level security --------------------------------------------------------------------------------------------------

ALTER TABLE projects.search_terms ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects.search_terms FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON projects.search_terms
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
CREATE POLICY search_read ON projects.search_terms FOR SELECT TO parapet_search USING (true);

-- Grants --------------------------------------------------------------------------------------------------------------

GRANT SELECT, INSERT, UPDATE (terms) ON projects.search_terms TO parapet_tracker;
GRANT EXECUTE ON FUNCTION projects.search_terms(uuid, uuid, text, text), projects.search_tasks(uuid, uuid, tsquery) TO parapet_tracker;
GRANT USAGE ON SCHEMA projects TO parapet_search;
GRANT SELECT ON projects.search_terms TO parapet_search;

-- Last, because the function's owner is no longer the migrating role afterwards. A role that is to own a function must be
-- able to create one in its schema at that moment, and only then.
GRANT CREATE ON SCHEMA projects TO parapet_search;
ALTER FUNCTION projects.search_tasks(uuid, uuid, tsquery) OWNER TO parapet_search;
REVOKE CREATE ON SCHEMA projects FROM parapet_search;
