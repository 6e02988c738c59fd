-- What is past its day, for the counts of a project.
CREATE INDEX tasks_overdue ON projects.tasks (tenant_id, project_id, due_date)
    WHERE due_date IS NOT NULL AND status_category <> 'DONE' AND status_category <> 'CANCELLED';
