import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOrganisation } from "../../support/service.ts";
import { signedInUser } from "../accounts/accounts.ts";
import { echoFlow } from "../echo-flow.ts";
import { checkedClient } from "../http/conformance.ts";
import { startInProcess } from "../in-process.ts";
import type { InProcessApi } from "../in-process.ts";
import { openTenant } from "../tenant.ts";
import type { ApiTenant } from "../tenant.ts";

const QUEUES = [
  ["runs", "workflow"],
  ["nodes", "activity"],
  ["ingest", "workflow"],
  ["ingest", "activity"],
  ["background", "workflow"],
  ["background", "activity"],
  ["webhooks", "activity"],
];

interface Queue {
  readonly queue: string;
  readonly type: string;
  readonly workers: number;
  readonly backlog: number;
}

describe("the task queues", () => {
  let api: InProcessApi;
  let unpolled: InProcessApi;
  let silent: InProcessApi;
  let asked = 0;
  beforeAll(async () => {
    const describeQueues = async () => {
      asked += 1;
      throw Object.assign(new Error("no Temporal"), { code: 14 });
    };
    [api, unpolled, silent] = await Promise.all([
      startInProcess(),
      startInProcess({ env: { MILLRACE_TASK_QUEUE: "nobody-polls" } }),
      startInProcess({ describeQueues }),
    ]);
  });
  afterAll(() => Promise.all([api, unpolled, silent].map((each) => each.close())));

  it("are listed with the workers that poll them, the same to every organisation", async () => {
    const [mine, other] = await Promise.all([openTenant(), openTenant()]);
    const told = async (tenant: ApiTenant): Promise<Queue[]> => (await tenant.secret.get("/v2/queues")).body.queues;
    const names = (queues: readonly Queue[]) => queues.map(({ queue, type }) => [queue, type]);
    expect(names(await told(mine))).toEqual(QUEUES);
    expect(names(await told(other))).toEqual(QUEUES);
    await expect.poll(async () => (await told(mine)).every(({ workers }) => workers > 0)).toBe(true);
  });

  it("show what nobody takes", async () => {
    const mine = checkedClient(unpolled, (await createOrganisation(unpolled)).secretKey);
    const { body: project } = await mine.post("/v2/projects", { name: "Waits", flow: echoFlow() });
    expect((await mine.post("/v2/runs", { project_id: project.project_id, inputs: { "in-0": "x" } })).status).toBe(201);
    const runs = async (): Promise<Queue> => (await mine.get("/v2/queues")).body.queues[0];
    await expect.poll(async () => (await runs()).backlog).toBe(1);
    expect((await runs()).workers).toBe(0);
  });

  it("are for admins alone", async () => {
    const org = await createOrganisation(api);
    for (const [role, status] of [
      ["viewer", 403],
      ["editor", 403],
      ["admin", 200],
    ] as const) {
      const user = await signedInUser(api, org.org_id, role);
      expect((await checkedClient(api, user.access).get("/v2/queues")).status, role).toBe(status);
    }
    expect((await checkedClient(api).get("/v2/queues")).status).toBe(401);
    expect((await checkedClient(api, org.publicKey).get("/v2/queues")).status).toBe(403);
    expect((await checkedClient(api, org.secretKey).get("/v2/queues?queue=runs")).status).toBe(422);
  });

  it("are answered 503 while Temporal is silent, and asked for again afterwards", async () => {
    const mine = checkedClient(silent, (await createOrganisation(silent)).secretKey);
    expect(await mine.get("/v2/queues")).toMatchObject({ status: 503, body: { code: "service_unavailable" } });
    await mine.get("/v2/queues");
    expect(asked).toBe(2);
  });
});
