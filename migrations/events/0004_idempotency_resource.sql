-- What the operation's permission was decided about when an answer was kept: ids and codes. Where the record has gone since,
-- as after a deletion, a repeat is decided about this.
ALTER TABLE events.idempotency_keys ADD COLUMN resource json;
GRANT UPDATE (resource) ON events.idempotency_keys TO parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki;
