-- The search of entries by words, by similar titles and by embeddings.

-- The terms of an entry, as projects/0010_search.sql explains them: w and each word of its texts and tags, t and each trigram
-- of its title. Each term contains a part of the tenant's id.
CREATE TABLE catalog.entry_terms (
    tenant_id uuid     NOT NULL,
    entry_id  uuid     NOT NULL,
    terms     tsvector NOT NULL,
    PRIMARY KEY (tenant_id, entry_id),
    CONSTRAINT entry_terms_entry FOREIGN KEY (tenant_id, entry_id) REFERENCES catalog.entries (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX entry_terms_by_term ON catalog.entry_terms USING gin (terms) WITH (fastupdate = off);

CREATE FUNCTION catalog.search_terms(p_tenant uuid, p_title text, p_text text)
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
    RETURN array_to_tsvector(terms) || strip(to_tsvector('simple',
        replace(' ' || title, ' ', ' w' || scope) || regexp_replace(' ' || lower(p_text), gap, ' w' || scope, 'g')));
END
$$;

-- The terms follow the texts. Only the first 50,000 characters of the body are searchable, because a tsvector has at most 1 MB.
CREATE FUNCTION catalog.index_entry() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    INSERT INTO catalog.entry_terms (tenant_id, entry_id, terms)
    VALUES (NEW.tenant_id, NEW.id, catalog.search_terms(NEW.tenant_id, NEW.title,
            NEW.summary || ' ' || array_to_string(NEW.tags, ' ') || ' ' || left(NEW.body, 50000)))
    ON CONFLICT (tenant_id, entry_id) DO UPDATE SET terms = excluded.terms;
    RETURN NULL;
END
$$;
CREATE TRIGGER entries_search_insert AFTER INSERT ON catalog.entries FOR EACH ROW EXECUTE FUNCTION catalog.index_entry();
CREATE TRIGGER entries_search_update AFTER UPDATE OF title, summary, body, tags ON catalog.entries FOR EACH ROW
    WHEN (OLD.title IS DISTINCT FROM NEW.title OR OLD.summary IS DISTINCT FROM NEW.summary OR OLD.body IS DISTINCT FROM NEW.body
          OR OLD.tags IS DISTINCT FROM NEW.tags)
    EXECUTE FUNCTION catalog.index_entry();

-- The entries that were there before.
ALTER TABLE catalog.entries NO FORCE ROW LEVEL SECURITY;
INSERT INTO catalog.entry_terms (tenant_id, entry_id, terms)
SELECT e.tenant_id, e.id, catalog.search_terms(e.tenant_id, e.title, e.summary || ' ' || array_to_string(e.tags, ' ') || ' ' || left(e.body, 50000))
FROM catalog.entries e;
ALTER TABLE catalog.entries FORCE ROW LEVEL SECURITY;

-- The ids of the entries of a tenant whose terms match a query. SECURITY DEFINER for the reason that projects/0010_search.sql
-- gives. For another tenant than that of the transaction, it finds nothing.
CREATE FUNCTION catalog.search_entries(p_tenant uuid, p_query tsquery)
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
    SELECT found.entry_id
    FROM (SELECT s.tenant_id, s.entry_id FROM catalog.entry_terms s WHERE s.terms @@ p_query OFFSET 0) found
    WHERE found.tenant_id = current_tenant;
END
$$;

-- The embeddings of entries. All embeddings of one model in a tenant have the same number of dimensions.
CREATE TABLE catalog.embedding_models (
    tenant_id uuid     NOT NULL,
    model     text     NOT NULL CHECK (length(model) BETWEEN 1 AND 100),
    dimension smallint NOT NULL CHECK (dimension BETWEEN 2 AND 2048),
    PRIMARY KEY (tenant_id, model)
);

CREATE TABLE catalog.entry_embeddings (
    tenant_id  uuid        NOT NULL,
    model      text        NOT NULL,
    entry_id   uuid        NOT NULL,
    vector     real[]      NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, model, entry_id),
    CONSTRAINT entry_embeddings_entry FOREIGN KEY (tenant_id, entry_id) REFERENCES catalog.entries (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT entry_embeddings_model FOREIGN KEY (tenant_id, model) REFERENCES catalog.embedding_models (tenant_id, model)
);
CREATE INDEX entry_embeddings_by_entry ON catalog.entry_embeddings (tenant_id, entry_id);

-- The index of the embeddings (locality-sensitive hashing): the hash of each embedding in each band. The program computes it.
-- Plain columns need no extension, and their operators are leakproof, so this index also works under row-level security.
CREATE TABLE catalog.embedding_bands (
    tenant_id uuid     NOT NULL,
    model     text     NOT NULL,
    band      smallint NOT NULL,
    hash      integer  NOT NULL,
    entry_id  uuid     NOT NULL,
    PRIMARY KEY (tenant_id, model, band, hash, entry_id),
    CONSTRAINT embedding_bands_embedding FOREIGN KEY (tenant_id, model, entry_id)
        REFERENCES catalog.entry_embeddings (tenant_id, model, entry_id) ON DELETE CASCADE
);
CREATE INDEX embedding_bands_by_entry ON catalog.embedding_bands (tenant_id, model, entry_id);

-- Row-level security --------------------------------------------------------------------------------------------------

ALTER TABLE catalog.entry_terms ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog.entry_terms FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON catalog.entry_terms
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
CREATE POLICY search_read ON catalog.entry_terms FOR SELECT TO parapet_search USING (true);

ALTER TABLE catalog.embedding_models ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog.embedding_models FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON catalog.embedding_models
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE catalog.entry_embeddings ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog.entry_embeddings FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON catalog.entry_embeddings
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

ALTER TABLE catalog.embedding_bands ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog.embedding_bands FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_isolation ON catalog.embedding_bands
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- Grants --------------------------------------------------------------------------------------------------------------

GRANT SELECT, INSERT, UPDATE (terms) ON catalog.entry_terms TO parapet_catalog;
GRANT SELECT, INSERT, UPDATE (dimension) ON catalog.embedding_models TO parapet_catalog;
GRANT SELECT, INSERT, UPDATE (vector, updated_at) ON catalog.entry_embeddings TO parapet_catalog;
GRANT SELECT, INSERT, DELETE ON catalog.embedding_bands TO parapet_catalog;
GRANT EXECUTE ON FUNCTION catalog.search_terms(uuid, text, text), catalog.search_entries(uuid, tsquery) TO parapet_catalog;
GRANT USAGE ON SCHEMA catalog TO parapet_search;
GRANT SELECT ON catalog.entry_terms TO parapet_search;

-- Last, for the reason that projects/0010_search.sql gives.
GRANT CREATE ON SCHEMA catalog TO parapet_search;
ALTER FUNCTION catalog.search_entries(uuid, tsquery) OWNER TO parapet_search;
REVOKE CREATE ON SCHEMA catalog FROM parapet_search;
