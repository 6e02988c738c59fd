-- The ground that every schema stands on. The roles exist already: they belong
-- to the cluster and not to this database, so the program makes them first.

-- All four are trusted extensions: the owner of the database may create them.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS ltree;
CREATE EXTENSION IF NOT EXISTS pgcrypto;
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- From here on a function is nobody's but its owner's until it is granted.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

-- Extensions stay in public, which is on every search_path, so that their
-- operators need no qualification; nobody creates anything else there.
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO
    parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki, parapet_auth, parapet_jobs, parapet_context;

CREATE SCHEMA IF NOT EXISTS audit;
CREATE SCHEMA IF NOT EXISTS events;
CREATE SCHEMA IF NOT EXISTS identity;
CREATE SCHEMA IF NOT EXISTS projects;
CREATE SCHEMA IF NOT EXISTS catalog;
CREATE SCHEMA IF NOT EXISTS wiki;
CREATE SCHEMA IF NOT EXISTS river;

-- A module enters its own schema, and the two that all write to in the same
-- transaction as their change. identity is open to all for one function,
-- identity.tenant_context; its tables are granted to their owners alone.
GRANT USAGE ON SCHEMA audit, events TO
    parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki, parapet_auth, parapet_jobs;
GRANT USAGE ON SCHEMA identity TO
    parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki, parapet_auth, parapet_jobs, parapet_context;
GRANT USAGE ON SCHEMA projects TO parapet_tracker;
GRANT USAGE ON SCHEMA catalog TO parapet_catalog;
GRANT USAGE ON SCHEMA wiki TO parapet_wiki;
GRANT USAGE ON SCHEMA river TO parapet_jobs;
