import { Client } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { loadConfig } from "../../src/config.ts";
import { house } from "../../src/services/system/checks/house.ts";
import { openDatabase } from "../../src/stores/db.ts";
import { flow, openBench } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { eventually } from "../support/scratch.ts";
import { startService, type OwnService } from "../support/service.ts";

let service: OwnService;
let target: HttpTarget;
beforeAll(async () => {
  // With this interval, a round of purges starts every ten seconds.
  const env = { MILLRACE_SHUTDOWN_GRACE_MS: "20000", MILLRACE_SWEEP_INTERVAL_MS: "50", MILLRACE_API_WORKER: "false" };
  [service, target] = await Promise.all([startService({ env }), startHttpTarget()]);
});
afterAll(async () => {
  await target?.close();
  await service?.close();
});

it("a worker that stops during a purge accepts no more work, and another worker does it", async () => {
  const bench = await openBench(service);
  const flowId = await bench.deploy(
    flow(
      [
        { id: "http-0", type: "http", config: { url: `${target.url}/asked` } },
        { id: "out-0", type: "output" },
      ],
      ["http-0>out-0"],
    ),
  );
  const [worker] = service.worker;
  if (worker === undefined) throw new Error("there is a worker");
  // Two connections, because a transaction sees the activity as of its first query.
  const [holder, observer] = [service, service].map(
    ({ databaseUrl }) => new Client({ connectionString: databaseUrl }),
  ) as [Client, Client];
  await Promise.all([holder.connect(), observer.connect()]);
  try {
    await holder.query("begin");
    await holder.query("lock table oauth_tokens in access exclusive mode");
    await eventually("a purge waits", async () => {
      const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'delete from oauth_tokens%'`;
      return (await observer.query(waiting)).rows.length > 0;
    });
    const ended = worker.terminate(60_000);
    await eventually("the worker stops", () => worker.logs().includes('"stopping"'));
    const { run_id } = await bench.start(flowId, {});
    // Without the lock, the request would have been made long before.
    await new Promise((resolve) => setTimeout(resolve, 2000));
    expect([worker.running(), target.hits("/asked")]).toEqual([true, 0]);
    await holder.query("commit");
    expect(await ended).toBe("exit code 0");
    await worker.restart();
    await bench.until(run_id, "COMPLETED");
    expect(target.hits("/asked")).toBe(1);
  } finally {
    await Promise.all([holder.end(), observer.end()]);
  }
});

it("a purge that fails stops no other one, and doctor names it", async () => {
  const options = { url: service.databaseUrl, poolSize: 2, applicationName: "test", onError: () => undefined };
  const database = openDatabase(options);
  const system = (sql: string) => database.system((db) => db.query(sql));
  // Without doctor's other parts, which take seconds.
  const found = () => house(loadConfig({ ...service.env }), database);
  try {
    await system("alter table provider_sign_ins rename to away");
    await system(
      `insert into node_places (place_id, org_id, task, expires_at)
        select gen_random_uuid(), org_id, 'ended', now() - interval '1 day' from organisations limit 1`,
    );
    const places = async () => (await system("table node_places")).length;
    await eventually("a later purge has run", async () => (await places()) === 0, 90_000);
    const failed = { state: "warning", text: expect.stringContaining("failed: sign-ins (every five-minutes)") };
    await expect.poll(found, { timeout: 60_000, interval: 500 }).toMatchObject(failed);
    await system("alter table away rename to provider_sign_ins");
    await expect.poll(found, { timeout: 60_000, interval: 500 }).toMatchObject({ state: "ok" });
  } finally {
    await database.close();
  }
}, 240_000);
