import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { echo, openTenant } from "../api/tenant.ts";
import { install, type Installation } from "../kill/installation.ts";
import { eventually } from "../support/scratch.ts";

let installation: Installation;
beforeAll(async () => {
  installation = await install();
});
afterAll(() => installation?.close());

it("a schedule of one run per second starts each run exactly once, whatever process is killed", async () => {
  const { worker, api, temporal } = installation;
  const tenant = await openTenant(installation);
  const project_id = await tenant.deploy(echo());
  const { status, body } = await tenant.secret.post("/v2/triggers", {
    project_id,
    provider_id: "millrace",
    trigger_id: "schedule",
    config: { cron: "* * * * * *", overlap: "allow_all" },
    inputs: { "in-0": "payload.scheduled_at" },
  });
  expect(status).toBe(201);
  /** The second for which each run was scheduled, with its state; there are no child runs. */
  const runs = async (): Promise<Array<{ second: number; state: string }>> => {
    const rows = await installation.sql<{ key: string; state: string | null }>(
      "select f.key, r.state from trigger_firings f left join runs r using (run_id) where f.trigger_id = $1",
      [body.id],
    );
    return rows.map(({ key, state }) => ({ second: Date.parse(key) / 1000, state: state ?? "none" }));
  };
  await eventually("runs", async () => (await runs()).length >= 3);

  const all: Pick<typeof temporal, "kill" | "restart">[] = [...worker, ...api];
  for (const down of [worker, api, all, [temporal], [...all, temporal]] as (typeof all)[]) {
    await Promise.all(down.map((part) => part.kill()));
    await delay(3000);
    if (down.includes(temporal)) await temporal.restart();
    await Promise.all(down.map((part) => (part === temporal ? Promise.resolve() : part.restart())));
    await delay(2000);
  }

  const until = Math.floor(Date.now() / 1000);
  const made = await eventually(
    "every time up to now",
    async () => {
      const found = await runs();
      const done = found.filter(({ second, state }) => second <= until && state === "COMPLETED");
      const first = Math.min(...found.map(({ second }) => second));
      return done.length >= until - first + 1 ? found : undefined;
    },
    180_000,
  ).catch(async (error: unknown) => {
    throw new Error(JSON.stringify((await runs()).toSorted((a, b) => a.second - b.second)), { cause: error });
  });
  const seconds = made.map(({ second }) => second).toSorted((a, b) => a - b);
  expect(new Set(seconds).size).toBe(seconds.length);
  const first = seconds[0] ?? 0;
  const due = Array.from({ length: until - first + 1 }, (_, index) => first + index);
  expect(seconds.filter((second) => second <= until)).toEqual(due);
  const [{ n } = { n: 0 }] = await installation.sql<{ n: number }>(
    "select count(*)::int as n from runs where project_id = $1 and run_type = 'scheduled' and run_id not in (select run_id from trigger_firings)",
    [project_id],
  );
  expect(n).toBe(0);
  console.log(`${due.length} times over five kills, each run once`);
});
