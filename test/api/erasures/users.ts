import { expect } from "vitest";
import type { Answer } from "../../support/client.ts";
import { eventually } from "../../support/scratch.ts";
import type { ApiTenant } from "../tenant.ts";

/** Runs a flow for a user with the given text as input; returns the ID of the finished run. */
export async function runOfUser(
  { secret }: ApiTenant,
  project_id: string,
  user_id: string,
  text: string,
): Promise<string> {
  const body = { project_id, user_id, inputs: { "in-0": text }, mode: "sync" };
  const { status, body: run } = await secret.post("/v2/runs", body);
  expect([status, run.state]).toEqual([201, "COMPLETED"]);
  return run.run_id;
}

/** Erases a user; returns the report. */
export async function eraseUser({ secret }: ApiTenant, user_id: string): Promise<Answer["body"]> {
  const { body: asked } = await secret.post("/v2/erasures", { user_id });
  return eventually(
    "the erasure is done",
    async () => {
      const { body } = await secret.get(`/v2/erasures/${asked.erasure_id}`);
      return body.state === "COMPLETED" ? body : undefined;
    },
    90_000,
  );
}
