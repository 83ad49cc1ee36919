import { join } from "node:path";
import { Client } from "pg";
import { expect, inject, it, onTestFinished } from "vitest";
import { publicEventId } from "../../src/domain/webhooks/events.ts";
import { flow, openBench, type Run } from "../engine/support.ts";
import { install } from "../kill/installation.ts";
import { postConstantly } from "../kill/persistent-client.ts";
import { startReceiver } from "../services/webhooks/receiver.ts";
import { spawnMillrace } from "../cli/millrace.ts";
import { echo } from "../api/tenant.ts";
import { administer } from "../support/database.ts";
import { MASTER_KEY } from "../support/payloads.ts";
import { eventually, scratchDirectory } from "../support/scratch.ts";
import { client, startService } from "../support/service.ts";

const asking = flow(
  [
    { id: "in-0", type: "input" },
    { id: "approval-0", type: "approval", config: { message: "Go on?" } },
    { id: "out-0", type: "output" },
  ],
  ["in-0>approval-0", "approval-0:approve>out-0"],
);
const waiting = flow(
  [
    { id: "in-0", type: "input" },
    { id: "delay-0", type: "delay", config: { seconds: 60 } },
    { id: "out-0", type: "output" },
  ],
  ["in-0>delay-0", "delay-0>out-0"],
);
const SCHEDULE = { MILLRACE_WEBHOOK_SCHEDULE_MS: "0,500,1000,2000,2000,4000,4000,4000,8000,8000,8000,8000" };

it("an installation that is lost while it works can be restored from its backup with an empty Temporal", async () => {
  const old = await install({ env: SCHEDULE });
  onTestFinished(() => old.close());
  const bench = await openBench(old);
  const [echoing, approving, delaying] = [
    await bench.deploy(echo()),
    await bench.deploy(asking),
    await bench.deploy(waiting),
  ];
  const receiver = await startReceiver((close) => onTestFinished(close));
  // The receiver rejects half of its deliveries until the installation has been restored.
  let [accepts, calls] = [false, 0];
  const taken = new Map<string, number>();
  receiver.answer((request, response) => {
    const ok = accepts || (calls += 1) % 2 === 0;
    const id = request.headers["webhook-id"] ?? "";
    if (ok) taken.set(id, (taken.get(id) ?? 0) + 1);
    response.writeHead(ok ? 204 : 503).end();
  });
  await bench.api.post("/v2/webhooks/subscriptions", { url: receiver.url, events: ["run.*"] });
  const done = await bench.start(echoing, { "in-0": "before".repeat(20_000) });
  const finished = await bench.until(done.run_id);
  const asked = await bench.start(approving, { "in-0": "x" });
  const [pause] = (await bench.until(asked.run_id, "PAUSED")).pauses;
  const delayed = await bench.start(delaying, { "in-0": "x" });
  await bench.until(delayed.run_id, "RUNNING");

  const posting = postConstantly(
    bench.api,
    "/v2/runs",
    (n) => ({ project_id: echoing, inputs: { "in-0": `n${n}` } }),
    50,
  );
  await eventually("deliveries are under way", () => taken.size > 10);
  const place = join(scratchDirectory(), "backup");
  const backup = await spawnMillrace(["backup", place, "--json"], {
    DATABASE_URL: old.databaseUrl,
    MILLRACE_BLOB_URL: old.blobDir,
  });
  expect(backup).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(backup.stdout)).toMatchObject({ blobs: { missing: 0 } });
  await posting.stop();
  // Everything is lost: servers, blobs, and Temporal's data.
  await old.close();
  const before = new Map(taken);

  // A new server with an empty Temporal.
  const fresh = await install();
  onTestFinished(() => fresh.close());
  await Promise.all([...fresh.api, ...fresh.worker].map((each) => each.kill()));
  const restoredUrl = new URL(fresh.databaseUrl);
  restoredUrl.pathname = "/restored";
  await administer(fresh.databaseUrl, "create database restored");
  const blobs = scratchDirectory();
  const restored = await spawnMillrace(["restore", place, "--json"], {
    DATABASE_URL: restoredUrl.href,
    MILLRACE_BLOB_URL: blobs,
    MILLRACE_MASTER_KEY: MASTER_KEY,
  });
  expect(restored).toMatchObject({ code: 0, stderr: "" });
  const inBackup = await rowsOf<{ run_id: string; state: string }>(fresh, "restored", "select run_id, state from runs");
  const delivered = await rowsOf<{ event_id: string }>(
    fresh,
    "restored",
    "select event_id from webhook_deliveries where status = 'delivered'",
  );

  accepts = true;
  const service = await startService(
    { env: { ...SCHEDULE, MILLRACE_BLOB_URL: blobs } },
    {
      ...inject("millrace"),
      adminUrl: fresh.databaseUrl,
      template: "restored",
      temporalAddress: fresh.temporalAddress,
    },
  );
  onTestFinished(() => service.close());
  const api = client(service, bench.secretKey);
  const read = async (run_id: string): Promise<Run> =>
    (await api.get(`/v2/runs/${run_id}`, { query: { expand: "nodes" } })).body as Run;

  // The finished run is unchanged, including its long values.
  expect((await read(done.run_id)).outputs).toEqual(finished.outputs);
  // Unfinished runs continue: quick ones complete, and the approval and the delay wait as before.
  for (const { run_id } of inBackup)
    if (run_id !== asked.run_id && run_id !== delayed.run_id)
      await eventually(`${run_id} has ended`, async () => /COMPLETED|FAILED/.test((await read(run_id)).state), 120_000);
  const resumed = await api.post(`/v2/runs/${asked.run_id}/resume`, { pause_id: pause?.pause_id, action: "approve" });
  expect(resumed.status).toBe(202);
  for (const { run_id } of [asked, delayed])
    await eventually(`${run_id} has completed`, async () => (await read(run_id)).state === "COMPLETED", 240_000);
  // The installation accepts new work.
  const after = await api.post("/v2/runs", { project_id: echoing, inputs: { "in-0": "after" } });
  expect(after.status).toBe(201);

  await eventually(
    "every delivery has been made",
    async () => {
      const database = new URL(service.databaseUrl).pathname.slice(1);
      const [open] = await rowsOf<{ n: number }>(
        fresh,
        database,
        `select (select count(*) from outbox where relayed_at is null)::int
           + (select count(*) from webhook_deliveries where status not in ('delivered', 'failed'))::int as n`,
      );
      return open?.n === 0;
    },
    120_000,
  );
  // Deliveries that the backup records as delivered are not sent again.
  for (const { event_id } of delivered)
    expect([event_id, taken.get(publicEventId(event_id))]).toEqual([event_id, before.get(publicEventId(event_id))]);
  // The end of every run is delivered once, except those whose delivery was lost from the record, which arrive again with the same ID.
  const ends = await rowsOf<{ event_id: string }>(
    fresh,
    new URL(service.databaseUrl).pathname.slice(1),
    "select event_id from webhook_deliveries where status = 'delivered'",
  );
  expect(ends.length).toBeGreaterThan(inBackup.length);
  for (const { event_id } of ends) expect(taken.get(publicEventId(event_id)) ?? 0).toBeGreaterThanOrEqual(1);
  for (const [id, times] of taken) expect(times - (before.get(id) ?? 0)).toBeLessThanOrEqual(1);
});

async function rowsOf<Row>(
  { databaseUrl }: { readonly databaseUrl: string },
  database: string,
  statement: string,
): Promise<Row[]> {
  const url = new URL(databaseUrl);
  url.pathname = `/${database}`;
  const connection = new Client({ connectionString: url.href });
  await connection.connect();
  try {
    return (await connection.query(statement)).rows as Row[];
  } finally {
    await connection.end();
  }
}
