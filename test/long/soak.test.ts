import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { install, type Installation } from "../kill/installation.ts";
import { startWorkload } from "../kill/workload.ts";
import { refused } from "../kill/persistent-client.ts";
import { recordKill } from "../kill/kill-table.ts";

const MINUTES = Number(process.env["MILLRACE_SOAK_MINUTES"] ?? 10);
/** Number of parts killed in one round, and the longest time each is down (ms). */
const MAX_KILLS = 8;
const MAX_DOWNTIME_MS = 10_000;

let installation: Installation;
beforeAll(async () => {
  installation = await install({ apis: 2, workers: 2 });
});
afterAll(() => installation?.close());

interface Part {
  readonly name: string;
  kill(): Promise<void>;
  restart(): Promise<void>;
}

function parts(): Part[] {
  const { api, worker, postgres, temporal } = installation;
  const named = (name: string, { kill, restart }: Omit<Part, "name">): Part => ({ name, kill, restart });
  return [
    ...api.map((each, at) => named(`api ${at}`, each)),
    ...worker.map((each, at) => named(`worker ${at}`, each)),
    named("postgres", postgres),
    named("temporal", temporal),
  ];
}

const upTo = (most: number): number => Math.floor(Math.random() * most);

/** Kills a part and starts it again after a while; retries until it runs, as a supervisor would. */
async function strike(part: Part): Promise<void> {
  await part.kill();
  await delay(upTo(MAX_DOWNTIME_MS));
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await part.restart();
    } catch (error) {
      // The part cannot start while a server that it needs is down, too.
      if (attempt === 10) throw error;
      await delay(1000);
    }
  }
}

it(`accepted runs complete correctly while parts are killed for ${MINUTES} minutes`, async () => {
  for (const until = Date.now() + MINUTES * 60_000, all = parts(); Date.now() < until;) {
    const workload = await startWorkload(installation);
    await workload.underWay();
    const struck: string[] = [];
    const under = new Map<string, Promise<void>>();
    const kills = 1 + upTo(MAX_KILLS);
    for (let n = 0; n < kills; n += 1) {
      const part = all[upTo(all.length)];
      if (!part || under.has(part.name)) continue;
      struck.push(part.name);
      under.set(
        part.name,
        strike(part).finally(() => under.delete(part.name)),
      );
      await delay(upTo(4000));
    }
    await Promise.all(under.values());
    const { runs, nodes, requests, repeated, documents, recoveredMs, refusals } = await workload.verdict();
    expect(refusals.withoutRetryAfter).toBe(0);
    const row = {
      killed: struck.join(", "),
      when: "everything under way, two apis, two workers",
      runs,
      outcome: `all COMPLETED ${(recoveredMs / 1000).toFixed(1)} s after the last restart; ${nodes} nodes recorded once, ${documents} documents; ${requests} http effects, ${repeated} asked for more than once; posts met ${refused(refusals)}`,
    };
    recordKill(row);
    console.log(`${row.killed}: ${row.runs} runs, ${row.outcome}`);
    await workload.close();
  }
});
