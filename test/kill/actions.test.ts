import { afterAll, beforeAll, expect, it } from "vitest";
import { openTenant } from "../api/tenant.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { eventually } from "../support/scratch.ts";
import { startService, type OwnService } from "../support/service.ts";

let own: OwnService;
let upstream: HttpTarget;
beforeAll(async () => {
  [own, upstream] = await Promise.all([startService(), startHttpTarget()]);
});
afterAll(async () => {
  await own?.close();
  await upstream?.close();
});

it("an action that must not be repeated runs only once, even if its worker is killed while it runs", async () => {
  const { secret } = await openTenant(own);
  const release = upstream.hold("/effect");
  const run = async (action: string, inputs: object): Promise<string> => {
    const headers = { prefer: "wait=0" };
    const { status, body } = await secret.post(`/v2/providers/http/actions/${action}/run`, { inputs }, { headers });
    expect(status, JSON.stringify(body)).toBe(202);
    return body.action_run_id;
  };
  const effect = await run("request", { method: "POST", url: `${upstream.url}/effect` });
  const read = await run("get", { url: `${upstream.url}/effect?read` });
  await eventually("both are under way", () => upstream.hits("/effect") === 2);
  await own.worker[0]?.kill();
  release();
  await own.worker[0]?.restart();
  const ended = (id: string) =>
    eventually(
      "the action ends",
      async () => {
        const { body } = await secret.get(`/v2/action-runs/${id}`);
        return body.successful === null ? undefined : body;
      },
      60_000,
    );
  expect((await ended(effect)).error).toMatchObject({ code: "outcome_unknown", retryable: false });
  expect(await ended(read)).toMatchObject({ successful: true });
  expect(upstream.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
});
