-- The search of pages by the words of their current version.

-- The terms of a page, as projects/0010_search.sql explains them: w and each word of title and text, t and each trigram of the
-- title. Each term contains a part of the tenant's id. Words keep their positions, for the rank; those of the title have the
-- weight A. Only the first 50,000 characters of the text are searchable, because a tsvector has at most 1 MB.
CREATE TABLE wiki.page_terms (
    tenant_id uuid     NOT NULL,
    page_id   uuid     NOT NULL,
    terms     tsvector NOT NULL,
    PRIMARY KEY (tenant_id, page_id),
    CONSTRAINT page_terms_of_page FOREIGN KEY (tenant_id, page_id) REFERENCES wiki.pages (tenant_id, id)
);
CREATE INDEX page_terms_by_term ON wiki.page_terms USING gin (terms) WITH (fastupdate = off);

CREATE FUNCTION wiki.search_terms(p_tenant uuid, p_title text, p_text text)
    RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    gap     constant text := '[\u0001-\u002f\u003a-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]+';
    scope   constant text := right(p_tenant::text, 8);
    title   constant text := btrim(regexp_replace(lower(p_title), gap, ' ', 'g'));
    padded  constant text := '  ' || replace(title, ' ', '   ') || ' ';
    trigram text;
    terms   text[] := '{}';
BEGIN
    FOR i IN 1 .. length(padded) - 2 LOOP
        trigram := substr(padded, i, 3);
        IF right(trigram, 2) <> '  ' THEN
            terms := terms || ('t' || scope || trigram);
        END IF;
    END LOOP;
    RETURN array_to_tsvector(terms)
        || setweight(to_tsvector('simple', replace(' ' || title, ' ', ' w' || scope)), 'A')
        || to_tsvector('simple', regexp_replace(' ' || lower(left(p_text, 50000)), gap, ' w' || scope, 'g'));
END
$$;

-- A new version is always the current one.
CREATE FUNCTION wiki.index_page() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    INSERT INTO wiki.page_terms (tenant_id, page_id, terms)
    VALUES (NEW.tenant_id, NEW.page_id, wiki.search_terms(NEW.tenant_id, NEW.title, NEW.markdown))
    ON CONFLICT (tenant_id, page_id) DO UPDATE SET terms = excluded.terms;
    RETURN NULL;
END
$$;
CREATE TRIGGER page_versions_search AFTER INSERT ON wiki.page_versions FOR EACH ROW EXECUTE FUNCTION wiki.index_page();

-- The pages that were there before.
ALTER TABLE wiki.pages NO FORCE ROW LEVEL SECURITY;
ALTER TABLE wiki.page_versions NO FORCE ROW LEVEL SECURITY;
INSERT INTO wiki.page_terms (tenant_id, page_id, terms)
SELECT v.tenant_id, v.page_id, wiki.search_terms(v.tenant_id, v.title, v.markdown)
FROM wiki.pages g JOIN wiki.page_versions v ON v.tenant_id = g.tenant_id AND v.page_id = g.id AND v.version = g.version;
ALTER TABLE wiki.page_versions FORCE ROW LEVEL SECURITY;
ALTER TABLE wiki.pages FORCE ROW LEVEL SECURITY;

-- The pages of a tenant whose terms match a query, with their rank. SECURITY DEFINER for the reason that
-- projects/0010_search.sql gives. For another tenant than that of the transaction, it finds nothing.
CREATE FUNCTION wiki.search_pages(p_tenant uuid, p_query tsquery)
    RETURNS TABLE (page_id uuid, rank real) LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
    SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
    AS $$
DECLARE
    current_tenant constant uuid := nullif(current_setting('app.tenant_id', true), '')::uuid;
BEGIN
    IF current_tenant IS NULL OR p_tenant IS DISTINCT FROM current_tenant OR p_query IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT found.page_id, ts_rank(found.terms, p_query)
    FROM (SELECT s.tenant_id, s.page_id, s.terms FROM wiki.page_terms s WHERE s.terms @@ p_query OFFSET 0) found
    WHERE found.tenant_id = current_tenant;
END
$$;

-- Row-level security --------------------------------------------------------------------------------------------------

ALTER TABLE wiki.page_terms ENABLE ROW LEVEL SECURITY;
ALTER TABLE wiki.page_terms FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON wiki.page_terms
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
CREATE POLICY search_read ON wiki.page_terms FOR SELECT TO parapet_search USING (true);

-- Grants --------------------------------------------------------------------------------------------------------------

GRANT SELECT, INSERT, UPDATE (terms) ON wiki.page_terms TO parapet_wiki;
GRANT EXECUTE ON FUNCTION wiki.search_terms(uuid, text, text), wiki.search_pages(uuid, tsquery) TO parapet_wiki;
GRANT USAGE ON SCHEMA wiki TO parapet_search;
GRANT SELECT ON wiki.page_terms TO parapet_search;

-- Last, for the reason that projects/0010_search.sql gives.
GRANT CREATE ON SCHEMA wiki TO parapet_search;
ALTER FUNCTION wiki.search_pages(uuid, tsquery) OWNER TO parapet_search;
REVOKE CREATE ON SCHEMA wiki FROM parapet_search;
