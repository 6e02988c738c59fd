-- A lease is the right of one process to do what one process at a time should do, such as dispatching. The holder renews it; a
-- process that is paused or gone does not, and another takes it with the next epoch. Work that is done under a lease checks its
-- epoch in its own transaction, so a former holder that wakes does nothing. All leases lie under the zero uuid: they are no tenant's.

CREATE TABLE events.leases (
    tenant_id  uuid        NOT NULL CHECK (tenant_id = '00000000-0000-0000-0000-000000000000'),
    name       text        NOT NULL CHECK (name <> ''),
    holder     uuid        NOT NULL,
    epoch      bigint      NOT NULL CHECK (epoch > 0),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, name)
);

ALTER TABLE events.leases ENABLE ROW LEVEL SECURITY;
ALTER TABLE events.leases FORCE ROW LEVEL SECURITY;
CREATE POLICY dispatch ON events.leases TO parapet_jobs USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE (holder, epoch, expires_at) ON events.leases TO parapet_jobs;
