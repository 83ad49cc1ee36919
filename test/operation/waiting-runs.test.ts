import { afterAll, beforeAll, expect, it } from "vitest";
import { openDatabase } from "../../src/stores/db.ts";
import { flow, openBench, type Bench } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { startService, type OwnService } from "../support/service.ts";

const STUCK_AFTER_MS = 1000;
const RETRY_MS = 60_000;

let service: OwnService;
let target: HttpTarget;
let bench: Bench;
beforeAll(async () => {
  service = await startService({ env: { MILLRACE_STUCK_AFTER_MS: String(STUCK_AFTER_MS) } });
  target = await startHttpTarget();
  bench = await openBench(service);
});
afterAll(async () => {
  await target?.close();
  await service?.close();
});

const asking = (path: string, retry: object) =>
  flow(
    [
      { id: "http-0", type: "http", config: { url: `${target.url}${path}` }, retry },
      { id: "out-0", type: "output" },
    ],
    ["http-0>out-0"],
  );

it("a running run shows which node it retries, why and when; the list can be filtered by stuck runs", async () => {
  const failing = await bench.deploy(
    asking("/status?code=503", { max_attempts: 5, initial_interval_ms: RETRY_MS, max_interval_ms: RETRY_MS }),
  );
  const delayed = await bench.deploy(
    flow(
      [
        { id: "delay-0", type: "delay", config: { seconds: 3600 } },
        { id: "out-0", type: "output" },
      ],
      ["delay-0>out-0"],
    ),
  );
  const approving = await bench.deploy(
    flow(
      [
        { id: "approval-0", type: "approval", config: { message: "?" } },
        { id: "out-0", type: "output" },
      ],
      ["approval-0:approve>out-0"],
    ),
  );
  const run_at = new Date(Date.now() + 86_400_000).toISOString();
  const [stuck, slow, paused, later, late, done] = [
    await bench.start(failing),
    await bench.start(delayed),
    await bench.start(approving),
    await bench.start(delayed, {}, { run_at }),
    await bench.start(delayed, {}, { run_at }),
    await bench.run(asking("/text", {})),
  ];
  await bench.until(paused.run_id, "PAUSED");
  await bench.until(slow.run_id, "RUNNING");
  const database = openDatabase({
    url: service.databaseUrl,
    poolSize: 2,
    applicationName: "test",
    onError: () => undefined,
  });
  const sql = "update runs set created_at = now() - interval '1 hour', run_at = null where run_id = $1::uuid";
  await database.system((db) => db.query(sql, [late.run_id])).finally(() => database.close());

  const waitingFor = async () => (await bench.api.get(`/v2/runs/${stuck.run_id}`)).body.waiting_for;
  await expect.poll(waitingFor).not.toBeNull();
  const waiting = await waitingFor();
  expect(waiting).toEqual({
    node: "http-0",
    node_name: null,
    path: "http-0",
    reason: expect.stringMatching(/^http_status: .*503/) as string,
    since: expect.any(String) as string,
    next_attempt_at: expect.any(String) as string,
  });
  const wait = Date.parse(waiting.next_attempt_at) - Date.parse(waiting.since);
  expect(wait).toBeGreaterThanOrEqual(RETRY_MS);
  expect(wait).toBeLessThan(RETRY_MS + 30_000);
  const run = await bench.until(stuck.run_id, "RUNNING");
  expect(run.nodes).toMatchObject([{ path: "http-0", state: "RETRYING", next_attempt_at: waiting.next_attempt_at }]);

  const list = async (query: Record<string, string | boolean>) => {
    const { status, body } = await bench.api.get("/v2/runs", { query });
    expect(status, JSON.stringify(body)).toBe(200);
    return body.data as Array<{ run_id: string; waiting_for: unknown }>;
  };
  const ids = async (query: Record<string, string | boolean>) =>
    (await list(query)).map(({ run_id }) => run_id).toSorted();
  await expect.poll(() => ids({ stuck: true })).toEqual([stuck.run_id, late.run_id].toSorted());
  expect((await list({ stuck: true, state: "RUNNING" })).map((each) => each.waiting_for)).toEqual([waiting]);
  expect(await ids({ stuck: true, state: "PAUSED" })).toEqual([]);
  expect(await ids({ stuck: false })).toEqual([slow.run_id, paused.run_id, later.run_id, done.run_id].toSorted());
  expect((await list({ stuck: false })).map((each) => each.waiting_for)).toEqual([null, null, null, null]);
  expect((await bench.api.get("/v2/runs", { query: { stuck: "maybe" } })).status).toBe(422);
});
