import { afterAll, beforeAll, expect, it } from "vitest";
import { echo, openTenant, type ApiTenant } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { eventually } from "../support/scratch.ts";
import { startService, type OwnService } from "../support/service.ts";

let own: OwnService;
beforeAll(async () => {
  // With this interval, runs are purged every ten seconds.
  own = await startService({ env: { MILLRACE_RUN_RETENTION_DAYS: "30", MILLRACE_SWEEP_INTERVAL_MS: "50" } });
});
afterAll(() => own?.close());

const asking = flow(
  [
    { id: "approval-0", type: "approval", config: { message: "?" } },
    { id: "out-0", type: "output" },
  ],
  ["approval-0:approve>out-0"],
);

/** A run in this state that seems to have started, or finished, this many days ago. */
async function aged(tenant: ApiTenant, project_id: string, days: number, state = "COMPLETED"): Promise<string> {
  const inputs = state === "COMPLETED" ? { "in-0": "x" } : {};
  const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs });
  await tenant.until(body.run_id, state);
  const column = state === "COMPLETED" ? "finished_at" : "started_at";
  await tenant.withDatabase((database) =>
    database.system((db) =>
      db.query(`update runs set ${column} = now() - $2::float8 * interval '1 day' where run_id = $1::uuid`, [
        body.run_id,
        days,
      ]),
    ),
  );
  return body.run_id;
}

it("workers delete runs after the days set for the installation, the organisation or the project", async () => {
  const [tenant, other] = [await openTenant(own), await openTenant(own)];
  const [short, long, theirs, open] = [
    await tenant.deploy(echo()),
    await tenant.deploy(echo()),
    await other.deploy(echo()),
    await tenant.deploy(asking),
  ];
  const gone = [
    [tenant, await aged(tenant, short, 3)],
    [tenant, await aged(tenant, long, 5)],
    [other, await aged(other, theirs, 31)],
  ] as const;
  const kept = [
    [tenant, await aged(tenant, short, 1)],
    [tenant, await aged(tenant, long, 3)],
    [other, await aged(other, theirs, 29)],
    [tenant, await aged(tenant, open, 90, "PAUSED")],
  ] as const;
  expect((await tenant.secret.patch("/v2/retention", { run_days: 4 })).status).toBe(200);
  expect((await tenant.secret.patch(`/v2/projects/${short}/retention`, { run_days: 2 })).status).toBe(200);
  const statusOf = async ([by, run_id]: readonly [ApiTenant, string], more = ""): Promise<number> =>
    (await by.secret.get(`/v2/runs/${run_id}${more}`)).status;
  for (const each of gone) await eventually("it is removed", async () => (await statusOf(each)) === 404);
  for (const each of gone) expect(await statusOf(each, "/events")).toBe(404);
  for (const each of kept) expect(await statusOf(each)).toBe(200);
});
