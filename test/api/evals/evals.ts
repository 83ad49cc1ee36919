import { expect } from "vitest";
import type { ApiTenant } from "../tenant.ts";
import type { Answer } from "../../support/client.ts";

export async function makeDataset(tenant: ApiTenant, body: Record<string, unknown> = {}): Promise<string> {
  const answer = await tenant.secret.post("/v2/evals/datasets", { name: "Questions", ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.dataset_id;
}

export const rowsPath = (datasetId: string): string => `/v2/evals/datasets/${datasetId}/rows`;

/** Imports and waits for the end. */
export async function importInto(tenant: ApiTenant, datasetId: string, body: unknown): Promise<Answer["body"]> {
  const path = `/v2/evals/datasets/${datasetId}/imports`;
  const answer = await tenant.secret.post(path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(202);
  return await importEnd(tenant, datasetId, answer.body.import_id);
}

export async function importEnd(tenant: ApiTenant, datasetId: string, importId: string): Promise<Answer["body"]> {
  const path = `/v2/evals/datasets/${datasetId}/imports/${importId}`;
  for (const deadline = Date.now() + 60_000; ;) {
    const { body } = await tenant.secret.get(path);
    if (body.status === "completed" || body.status === "failed" || Date.now() > deadline) return body;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** All rows of a version, oldest first, without what differs from run to run. */
export async function contentOf(tenant: ApiTenant, datasetId: string, version?: number): Promise<unknown[]> {
  const { body } = await tenant.secret.get(rowsPath(datasetId), { query: { version, order: "asc", page_size: 200 } });
  return body.data.map((row: Record<string, unknown>) => [row["external_id"], row["inputs"], row["expected_outputs"]]);
}
