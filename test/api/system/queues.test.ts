import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { taskQueues } from "../../../src/temporal/ids.ts";
import { describeQueues, withPollers } from "../../../src/temporal/queues.ts";
import { withTemporal } from "../../support/histories.ts";
import { createOrganisation } from "../../support/service.ts";
import { signedInUser } from "../accounts/accounts.ts";
import { echoFlow } from "../echo-flow.ts";
import { checkedClient } from "../http/conformance.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";

const QUEUES = [
  ["runs", "workflow"],
  ["nodes", "activity"],
  ["ingest", "workflow"],
  ["ingest", "activity"],
  ["background", "workflow"],
  ["background", "activity"],
  ["webhooks", "activity"],
  ["house", "activity"],
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

  it("are listed with their workers, and look the same to every organisation", async () => {
    const [mine, other] = await Promise.all([openTenant(), openTenant()]);
    const told = async (tenant: ApiTenant): Promise<Queue[]> => (await tenant.secret.get("/v2/queues")).body.queues;
    const names = (queues: readonly Queue[]) => queues.map(({ queue, type }) => [queue, type]);
    expect(names(await told(mine))).toEqual(QUEUES);
    expect(names(await told(other))).toEqual(QUEUES);
    await expect.poll(async () => (await told(mine)).every(({ workers }) => workers > 0)).toBe(true);
  });

  it("show tasks that no worker takes", async () => {
    const mine = checkedClient(unpolled, (await createOrganisation(unpolled)).secretKey);
    const { body: project } = await mine.post("/v2/projects", { name: "Waits", flow: echoFlow() });
    expect((await mine.post("/v2/runs", { project_id: project.project_id, inputs: { "in-0": "x" } })).status).toBe(201);
    const runs = async (): Promise<Queue> => (await mine.get("/v2/queues")).body.queues[0];
    await expect.poll(async () => (await runs()).backlog).toBe(1);
    expect((await runs()).workers).toBe(0);
  });

  it("have no workers once the last one has been silent for longer than a poll lasts", async () => {
    const prefix = `left-${randomBytes(4).toString("hex")}`;
    await withTemporal(inject("millrace").temporalAddress, async (client) => {
      const stops = new AbortController();
      const polling = client.connection.withAbortSignal(stops.signal, () =>
        client.connection.withDeadline(Date.now() + 60_000, () =>
          client.workflowService.pollActivityTaskQueue({
            namespace: "default",
            taskQueue: { name: taskQueues(prefix).nodes },
            identity: "a worker that stops",
          }),
        ),
      );
      const nodes = async (later: number) =>
        (await describeQueues(client, "default", prefix, () => Date.now() + later)).find(
          ({ queue }) => queue === "nodes",
        );
      await expect.poll(async () => (await nodes(0))?.pollers).toBe(1);
      stops.abort();
      await polling.catch(() => undefined);
      expect(Math.abs(((await nodes(0))?.polled_at ?? 0) - Date.now())).toBeLessThan(5000);
      // Temporal still lists the poller.
      expect(await nodes(80_000)).toMatchObject({ pollers: 0, polled_at: null });
    });
  });

  it("count workers without a free slot, and workers whose build has other pollers", () => {
    const [now, build] = [Date.now(), { deployment: "d", build_id: "new" }];
    const plain = { deployment: null, build_id: null };
    const rest = { type: "activity", name: "", backlog: null, backlog_age_seconds: null } as const;
    const [runs, nodes] = withPollers(
      [
        { ...rest, queue: "runs", polls: [{ process: "full", at: now - 1000, ...plain }] },
        {
          ...rest,
          queue: "nodes",
          polls: [
            { process: "full", at: now - 200_000, ...plain },
            { process: "seldom", at: now - 100_000, ...build },
            { process: "often", at: now - 5000, ...build },
            { process: "gone", at: now - 100_000, deployment: "d", build_id: "old" },
          ],
        },
      ],
      now,
    );
    expect(runs).toMatchObject({ pollers: 1, polled_at: now - 1000, versions: [] });
    expect(nodes).toMatchObject({
      pollers: 3,
      versions: [
        { process: "seldom", build_id: "new" },
        { process: "often", build_id: "new" },
      ],
    });
  });

  it("are visible to admins only", async () => {
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

  it("return 503 while Temporal does not respond, and are read again on the next request", async () => {
    const mine = checkedClient(silent, (await createOrganisation(silent)).secretKey);
    expect(await mine.get("/v2/queues")).toMatchObject({ status: 503, body: { code: "service_unavailable" } });
    await mine.get("/v2/queues");
    expect(asked).toBe(2);
  });
});
