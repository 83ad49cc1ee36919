import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { echo } from "../api/tenant.ts";
import { openBench, type Bench } from "../engine/support.ts";
import { startReceiver, type Receiver } from "../services/webhooks/receiver.ts";
import { eventually } from "../support/scratch.ts";
import { install, type Installation } from "./installation.ts";
import { postConstantly } from "./persistent-client.ts";
import { readMetrics } from "../support/metrics.ts";
import { recordKill } from "./kill-table.ts";

/** Kills per part, and the pause after each (ms). */
const KILLS = 2;
const PAUSE_MS = 700;

let installation: Installation;
const receivers: Array<() => Promise<void>> = [];
beforeAll(async () => {
  installation = await install({
    workers: 2,
    env: {
      MILLRACE_WEBHOOK_SCHEDULE_MS: "0,200,400,800,1600,1600,1600,1600",
      MILLRACE_WEBHOOK_TIMEOUT_MS: "2000",
      // One shard, so that one worker owns all deliveries.
      MILLRACE_WEBHOOK_SHARDS: "1",
    },
  });
});
afterAll(async () => {
  await installation?.close();
  await Promise.all(receivers.map((close) => close()));
});

interface Setting {
  readonly bench: Bench;
  readonly project_id: string;
  /** `steady` accepts everything; `moody` fails occasionally. */
  readonly steady: Receiver;
  readonly moody: Receiver;
  readonly secrets: string[];
}

async function setUp(): Promise<Setting> {
  const bench = await openBench(installation);
  const project_id = await bench.deploy(echo());
  const open = () => startReceiver((close) => void receivers.push(close));
  const [steady, moody] = await Promise.all([open(), open()]);
  let calls = 0;
  moody.answer((_, response) => void response.writeHead((calls += 1) % 3 === 0 ? 500 : 204).end());
  const secrets: string[] = [];
  for (const { url } of [steady, moody]) {
    const { status, body } = await bench.api.post("/v2/webhooks/subscriptions", { url, events: ["run.*"] });
    expect(status, JSON.stringify(body)).toBe(201);
    secrets.push(body.secret);
  }
  return { bench, project_id, steady, moody, secrets };
}

/** Kills each of these `KILLS` times while runs are posted, waits until all deliveries have finished, and checks their number. */
async function countWhile(what: string, kills: () => Promise<void>): Promise<void> {
  const { bench, project_id, steady, moody, secrets } = await setUp();
  const posting = postConstantly(bench.api, "/v2/runs", (n) => ({ project_id, inputs: { "in-0": `n${n}` } }), 120);
  await eventually("deliveries are under way", () => steady.received().length > 5);
  for (let n = 0; n < KILLS; n += 1) {
    await kills();
    await delay(PAUSE_MS);
  }
  const { answers } = await posting.stop();
  const sql = <Row>(statement: string): Promise<Row[]> => installation.sql<Row>(statement, [bench.org_id]);
  const count = async (statement: string): Promise<number> => (await sql<{ n: number }>(statement))[0]?.n ?? -1;
  await eventually(
    "every run has ended and every delivery, too",
    async () =>
      (await count("select count(*)::integer as n from runs where org_id = $1 and finished_at is null")) === 0 &&
      (await count("select count(*)::integer as n from outbox where org_id = $1 and relayed_at is null")) === 0 &&
      (await count(
        "select count(*)::integer as n from webhook_deliveries where org_id = $1 and finished_at is null",
      )) === 0,
    90_000,
  );
  const events = await sql<{ id: string }>("select 'evt_' || event_id as id from outbox where org_id = $1 order by 1");
  const ids = events.map(({ id }) => id);
  // Two events per run: none lost, none duplicated.
  expect(ids).toHaveLength(answers.length * 2);
  for (const receiver of [steady, moody]) expect([...receiver.counts().keys()].toSorted()).toEqual(ids);
  expect(steady.forged(...secrets)).toEqual([]);
  expect(moody.forged(...secrets)).toEqual([]);
  const failed = await count(
    "select count(*)::integer as n from webhook_deliveries where org_id = $1 and status <> 'delivered'",
  );
  expect(failed).toBe(0);
  const doubles = [...steady.counts().values()].filter((n) => n > 1).length;
  recordKill({
    killed: `${what}: ${KILLS} kills`,
    when: "while runs are posted and their events delivered to two receivers, and one refuses every third",
    runs: answers.length,
    outcome: `${ids.length} events written, each delivered to both; ${doubles} came to the steady one more than once, with the same webhook-id`,
  });
}

/** Number of attempts by each worker, from its own metric. */
async function attemptsOf(url: string): Promise<number> {
  const text = await readMetrics({ url });
  const lines = text.split("\n").filter((line) => line.startsWith("millrace_webhook_attempts_total{"));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

describe("the worker that owns a shard", () => {
  it.each(["frozen", "killed"] as const)(
    "%s: another worker acquires it after missed heartbeats, and no delivery is lost or duplicated",
    async (fate) => {
      const { bench, project_id, steady } = await setUp();
      const send = async (): Promise<void> => {
        const { status } = await bench.api.post("/v2/runs", { project_id, inputs: { "in-0": "x" } });
        expect(status).toBe(201);
      };
      const counts = () => Promise.all(installation.worker.map(({ url }) => attemptsOf(url)));
      const before = await counts();
      await send();
      await eventually("its two events are delivered and recorded", async () => {
        const open = "select 1 from webhook_deliveries where org_id = $1 and status <> 'delivered'";
        return steady.received().length === 2 && (await installation.sql(open, [bench.org_id])).length === 0;
      });
      const made = (await counts()).map((count, at) => count - (before[at] ?? 0));
      const owner = installation.worker[made.indexOf(Math.max(...made))];
      if (!owner) return expect.fail("no worker delivers");
      // No delivery is in flight, so the next owner has to send the following events.
      const since = Date.now();
      if (fate === "killed") await owner.kill();
      else owner.signal("SIGSTOP");
      for (let n = 0; n < 10; n += 1) await send();
      // A frozen worker still holds open polls. Each may take one task until its heartbeats are missed.
      await eventually("all have arrived", () => steady.counts().size === 22, 90_000);
      if (fate === "killed") expect(Date.now() - since).toBeLessThan(30_000);
      if (fate === "killed") await owner.restart();
      else owner.signal("SIGCONT");
      await send();
      await eventually("these, too", () => steady.counts().size === 24);
      expect(steady.received()).toHaveLength(24);
    },
  );
});

describe("events while a part is killed", () => {
  it("workers, first one of two and then both: no event is lost or duplicated", async () => {
    let all = false;
    await countWhile("a worker, then both", async () => {
      const workers = all ? installation.worker : installation.worker.slice(0, 1);
      all = true;
      await Promise.all(workers.map((worker) => worker.kill()));
      await Promise.all(workers.map((worker) => worker.restart()));
    });
  });

  it("api: no event is lost or duplicated", async () => {
    await countWhile("the api", async () => {
      await installation.api[0]?.kill();
      await installation.api[0]?.restart();
    });
  });

  it("Postgres: no event is lost or duplicated", async () => {
    await countWhile("Postgres", async () => {
      await installation.postgres.kill();
      await installation.postgres.restart();
    });
  });

  it("Temporal: no event is lost or duplicated", async () => {
    await countWhile("Temporal", async () => {
      await installation.temporal.kill();
      await installation.temporal.restart();
    });
  });
});
