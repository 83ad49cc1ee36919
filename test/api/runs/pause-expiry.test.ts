import { afterAll, beforeAll, expect, it } from "vitest";
import { startService, type OwnService } from "../../support/service.ts";
import { asking, openTenant } from "../tenant.ts";

let own: OwnService;
beforeAll(async () => {
  own = await startService({ env: { MILLRACE_API_WORKER: "false" } });
});
afterAll(() => own.close());

it("an expired pause accepts no answer, even while no worker can close it", async () => {
  const tenant = await openTenant(own);
  const project_id = await tenant.deploy(asking({ expires_in_seconds: 4 }));
  const { body: run } = await tenant.secret.post("/v2/runs", { project_id, inputs: {}, mode: "sync" });
  expect(run.state).toBe("PAUSED");
  await Promise.all(own.worker.map((worker) => worker.kill()));
  const [{ pause_id, expires_at }] = run.pauses;
  await expect.poll(() => Date.now() > Date.parse(expires_at), { timeout: 10_000 }).toBe(true);
  const late = await tenant.secret.post(`/v2/runs/${run.run_id}/resume`, { pause_id, action: "approve" });
  expect([late.status, late.body.code]).toEqual([410, "pause_expired"]);
  // The pause is still open, so the API itself refused the decision, not a worker that had closed the pause.
  const { body } = await tenant.secret.get(`/v2/runs/${run.run_id}`);
  expect([body.state, body.pauses[0].status]).toEqual(["PAUSED", "waiting"]);
});
