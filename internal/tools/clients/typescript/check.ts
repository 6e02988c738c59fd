// Compiles only if the generated types have a Task with a key, and if a request with them type-checks.
import createClient from "openapi-fetch";
import type { paths, Task } from "./parapet.js";

export function keyOf(task: Task): string {
  return task.key;
}

export async function createTask(projectId: string, title: string): Promise<string> {
  const client = createClient<paths>({ baseUrl: "http://localhost:3000" });
  const { data, error } = await client.POST("/api/projects/{projectId}/tasks", {
    params: { path: { projectId } },
    body: { title, priority: "HIGH" },
  });
  if (error !== undefined) {
    throw new Error(error.error.message);
  }
  return keyOf(data);
}
