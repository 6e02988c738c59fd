-- The key by task names the task before the project. PostgreSQL checks the foreign key of each import link by (tenant, project,
-- source). Without statistics it chose the key by task for that, because it began with the tenant and the project, and read all
-- items of the project once for each link.

ALTER TABLE projects.import_items DROP CONSTRAINT import_items_task_once;
ALTER TABLE projects.import_items ADD CONSTRAINT import_items_task_once UNIQUE (tenant_id, task_id, project_id);
