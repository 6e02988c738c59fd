-- Dependencies have an id of their own, in the order in which they were made: a list of them goes on behind one without naming
-- the task at its other end, which its reader may not know of.

ALTER TABLE projects.dependencies ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE projects.dependencies ALTER COLUMN id DROP DEFAULT;
CREATE UNIQUE INDEX dependencies_of_task ON projects.dependencies (tenant_id, task_id, id);
DROP INDEX projects.dependencies_by_target;
CREATE UNIQUE INDEX dependencies_by_target ON projects.dependencies (tenant_id, depends_on_id, id);
