import { expect } from "vitest";
import { flow } from "../../engine/support.ts";
import type { ApiTenant } from "../tenant.ts";
import type { Answer } from "../../support/client.ts";
import { aMoment } from "../../support/scratch.ts";

export async function makeDataset(tenant: ApiTenant, body: Record<string, unknown> = {}): Promise<string> {
  const answer = await tenant.secret.post("/v2/evals/datasets", { name: "Questions", ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.dataset_id;
}

export const rowsPath = (datasetId: string): string => `/v2/evals/datasets/${datasetId}/rows`;

/** Starts an import and waits until it finishes. */
export async function importInto(tenant: ApiTenant, datasetId: string, body: unknown): Promise<Answer["body"]> {
  const path = `/v2/evals/datasets/${datasetId}/imports`;
  const answer = await tenant.secret.post(path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(202);
  return await importEnd(tenant, datasetId, answer.body.import_id);
}

export async function importEnd(tenant: ApiTenant, datasetId: string, importId: string): Promise<Answer["body"]> {
  const path = `/v2/evals/datasets/${datasetId}/imports/${importId}`;
  for (const since = Date.now(); ;) {
    const { body } = await tenant.secret.get(path);
    if (body.status === "completed" || body.status === "failed" || Date.now() - since > 60_000) return body;
    await aMoment(since);
  }
}

/** All rows of a version, oldest first, without fields that differ from test to test. */
export async function contentOf(tenant: ApiTenant, datasetId: string, version?: number): Promise<unknown[]> {
  const { body } = await tenant.secret.get(rowsPath(datasetId), { query: { version, order: "asc", page_size: 200 } });
  return body.data.map((row: Record<string, unknown>) => [row["external_id"], row["inputs"], row["expected_outputs"]]);
}

/** A flow that outputs its input in capitals, fails for "fail", pauses for "pause", and counts the characters in a second output. */
export const shouting = () =>
  flow(
    [
      { id: "in-0", type: "input" },
      { id: "guard-0", type: "guard", config: { check: 'nodes["in-0"] != "fail"', message: "It is not allowed" } },
      {
        id: "if-0",
        type: "condition",
        config: { cases: [{ id: "ask", when: 'nodes["in-0"] == "pause"' }] },
      },
      { id: "approval-0", type: "approval", config: { message: "Go on?" } },
      { id: "tpl-0", type: "template", config: { template: "{{ in-0 | upcase }}" } },
      { id: "out-0", type: "output" },
    ],
    [
      "in-0>guard-0",
      "guard-0>if-0",
      "if-0:case:ask>approval-0",
      "if-0:else>tpl-0",
      "approval-0:approve>tpl-0",
      "tpl-0>out-0",
    ],
  );

export async function makeEvaluator(tenant: ApiTenant, body: Record<string, unknown>): Promise<string> {
  const answer = await tenant.secret.post("/v2/evals/evaluators", { name: "E", ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.evaluator_id;
}

export async function makeExperiment(tenant: ApiTenant, body: Record<string, unknown>): Promise<string> {
  const answer = await tenant.secret.post("/v2/evals/experiments", { name: "X", ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.experiment_id;
}

export const experimentPath = (experimentId: string): string => `/v2/evals/experiments/${experimentId}`;

/** Starts a job and waits until it finishes. */
export async function doJob(
  tenant: ApiTenant,
  experimentId: string,
  job: Record<string, unknown>,
): Promise<Answer["body"]> {
  return await jobEnd(tenant, experimentId, await startJob(tenant, experimentId, job));
}

/** Starts a job; returns its ID. */
export async function startJob(tenant: ApiTenant, experimentId: string, job: Record<string, unknown>): Promise<string> {
  const answer = await tenant.secret.post(`${experimentPath(experimentId)}/jobs`, job);
  expect(answer.status, JSON.stringify(answer.body)).toBe(202);
  return answer.body.job_id;
}

export async function jobEnd(tenant: ApiTenant, experimentId: string, jobId: string): Promise<Answer["body"]> {
  for (const since = Date.now(); ;) {
    const { body } = await tenant.secret.get(`${experimentPath(experimentId)}/jobs/${jobId}`);
    if (!["PENDING", "RUNNING"].includes(body.state) || Date.now() - since > 80_000) return body;
    await aMoment(since);
  }
}
