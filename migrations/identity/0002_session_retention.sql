-- Sessions that ended long ago are deleted by the role that begins them. A session that has not ended can't be: the policy
-- shows parapet_auth no other row to delete.

GRANT DELETE ON identity.sessions TO parapet_auth;

CREATE POLICY ended_sessions ON identity.sessions AS RESTRICTIVE
    FOR DELETE TO parapet_auth USING (expires_at < now());

CREATE INDEX sessions_by_end ON identity.sessions (tenant_id, expires_at);
