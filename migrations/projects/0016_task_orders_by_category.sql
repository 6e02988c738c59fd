-- The tasks of all projects of a tenant by priority and by due date, whatever their status.
--
-- Both indexes contain the status category before the order. A list of all tasks, or of the open ones, reads the first tasks of
-- each category and sorts those few. An index for each selection would cost every change of a task one entry more.
-- number > 0 has the reason that 0015_tasks_of_all_projects.sql gives.
DROP INDEX projects.tasks_by_urgency;
CREATE INDEX tasks_by_urgency ON projects.tasks (tenant_id, status_category, priority_rank, due_order, created_at, id) WHERE number > 0;
DROP INDEX projects.tasks_open_by_due;
CREATE INDEX tasks_by_due ON projects.tasks (tenant_id, status_category, due_order, priority_rank, created_at, id) WHERE number > 0;
