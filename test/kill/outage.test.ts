import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { flow, openBench } from "../engine/support.ts";
import { startHttpTarget } from "../support/http-target.ts";
import { eventually } from "../support/scratch.ts";
import { install, type Installation } from "./installation.ts";
import { postConstantly, refused } from "./persistent-client.ts";
import { recordKill } from "./kill-table.ts";

/** How long a server is down (ms). */
const GONE_MS = 12_000;
const OUTAGES = [
  ["postgres", "killed"],
  ["temporal", "killed"],
  ["postgres", "frozen"],
  ["temporal", "frozen"],
] as const;

let installation: Installation;
beforeAll(async () => {
  installation = await install({ apis: 2 });
});
afterAll(() => installation?.close());

const threeRequests = (url: string) => {
  const http = (id: string) => ({ id, type: "http", config: { method: "POST", url, body: "{{in-0}}" } });
  return flow(
    [
      { id: "in-0", type: "input" },
      http("http-0"),
      http("http-1"),
      http("http-2"),
      { id: "out-0", type: "output", config: { value: "{{http-2.status}} {{in-0}}" } },
    ],
    ["in-0>http-0", "http-0>http-1", "http-1>http-2", "http-2>out-0"],
  );
};

describe.each<readonly ["postgres" | "temporal", "killed" | "frozen"]>(OUTAGES)(
  "%s %s for seconds under load",
  (what, how) => {
    it("requests are rejected in time, workers wait, accepted runs are kept, and all parts recover without help", async () => {
      const [bench, target] = await Promise.all([openBench(installation), startHttpTarget()]);
      const project_id = await bench.deploy(threeRequests(`${target.url}/delay?ms=100`));
      const processes = [...installation.api, ...installation.worker];
      const before = processes.map((each) => each.pid());

      const runs = postConstantly(bench.api, "/v2/runs", (n) => ({ project_id, inputs: { "in-0": `a${n}` } }), 200);
      const waiting = postConstantly(
        bench.api,
        `/inference/v0/run/${bench.org_id}/${project_id}`,
        (n) => ({ "in-0": `s${n}` }),
        700,
      );
      await eventually("runs are under way", () => target.requests.length > 10);

      const server = installation[what];
      const gone = Date.now();
      await (how === "frozen" ? server.freeze(true) : server.kill());
      await delay(GONE_MS / 2);
      const since = Date.now();
      const reading = bench.api.get("/v2/runs").then((answer) => ({ ...answer, ms: Date.now() - since }));
      const ready = await bench.api.get("/readyz");
      // A frozen Postgres answers the read once it continues.
      if (how === "killed") await reading;
      await delay(Math.max(0, since + GONE_MS / 2 - Date.now()));
      await (how === "frozen" ? server.freeze(false) : server.restart());
      const restarted = Date.now();
      const read = await reading;

      // Runs are accepted without Temporal, so load balancers must keep the API in service.
      expect([ready.status, ready.body.status]).toEqual(what === "temporal" ? [200, "degraded"] : [503, "unavailable"]);
      expect(ready.body[what]).toBe("unavailable");
      expect(read.ms).toBeLessThan(20_000);
      if (what === "postgres" && how === "killed") {
        expect(read.status).toBe(503);
        expect(read.body.code).toBe("service_unavailable");
        expect(Number(read.headers.get("retry-after"))).toBeGreaterThan(0);
      } else expect(read.status).toBe(200);

      await eventually("ready again", async () => (await bench.api.get("/readyz")).body.status === "ready");
      await delay(1000);
      const [posted, waited] = await Promise.all([runs.stop(), waiting.stop()]);
      for (const { status, body } of waited.answers) expect(status, JSON.stringify(body)).toBe(200);
      for (const { status, body } of posted.answers) expect(status, JSON.stringify(body)).toBe(201);

      const sql = <Row>(statement: string): Promise<Row[]> => installation.sql<Row>(statement, [bench.org_id]);
      await eventually("every run has ended", async () => {
        const [row] = await sql<{ n: number }>(
          "select count(*)::integer as n from runs where org_id = $1 and finished_at is null",
        );
        return row?.n === 0;
      });
      const recoveredMs = Date.now() - restarted;
      const states = await sql<{ state: string; n: number }>(
        "select state, count(*)::integer as n from runs where org_id = $1 group by state",
      );
      const all = posted.answers.length + waited.answers.length;
      expect(states).toEqual([{ state: "COMPLETED", n: all }]);
      const outputs = await sql<{ text: string }>(
        "select outputs->'out-0'->>'v' as text from runs where org_id = $1 order by 1",
      );
      const expected = [...posted.answers.map((_, n) => `200 a${n}`), ...waited.answers.map((_, n) => `200 s${n}`)];
      expect(outputs.map(({ text }) => text)).toEqual(expected.toSorted());

      // The processes recovered without a restart.
      expect(installation.logs()).not.toContain('"level":"fatal"');
      expect(processes.map((each) => each.pid())).toEqual(before);
      expect(processes.map((each) => each.running())).toEqual(before.map(() => true));
      expect(posted.refusals.withoutRetryAfter + waited.refusals.withoutRetryAfter).toBe(0);
      expect(posted.refusals.counts.get("broken")).toBeUndefined();
      // A suspended database may resume at any time, so statements wait for it up to their time limit.
      expect(posted.refusals.slowest).toBeLessThan(20_000 + (how === "frozen" ? restarted - gone : 0));
      expect(target.counts().size).toBe(all * 3);
      const repeated = [...target.counts().values()].filter((n) => n > 1).length;
      if (what === "postgres") expect(repeated).toBe(0);
      recordKill({
        killed: `${what}, ${how} for ${GONE_MS / 1000} s`,
        when: "5 async and 1.4 sync posts a second of a flow of three http nodes, over two apis",
        runs: all,
        outcome: `all COMPLETED ${(recoveredMs / 1000).toFixed(1)} s after the restart; ${all * 3} http effects, ${repeated} asked for twice; posts met ${refused(posted.refusals)}, sync ones ${refused(waited.refusals)}; slowest answer ${posted.refusals.slowest} ms; no process ended`,
      });
      await target.close();
    });
  },
);

describe("processes that start while Temporal is down", () => {
  it("wait for it, then work normally", async () => {
    const bench = await openBench(installation);
    const [api, worker] = [installation.api[1], installation.worker[0]];
    await Promise.all([api?.kill(), worker?.kill(), installation.temporal.kill()]);
    let ready = 0;
    const starting = Promise.all(
      [api, worker].map(async (each) => {
        await each?.restart();
        ready = Date.now();
      }),
    );
    starting.catch(() => undefined);
    await eventually("both wait for it", () =>
      [api, worker].every((each) => each?.logs().includes("does not respond; waiting for it")),
    );
    expect(ready).toBe(0);
    const back = Date.now();
    await installation.temporal.restart();
    await starting;
    expect(ready).toBeGreaterThan(back);
    const target = await startHttpTarget();
    const run = await bench.run(threeRequests(`${target.url}/`), { "in-0": "late" });
    expect(run).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "200 late" } });
    await target.close();
    recordKill({
      killed: "temporal, an api and the worker, the latter two started again first",
      when: "before anything was posted",
      runs: 1,
      outcome: "they waited for Temporal, then the run COMPLETED",
    });
  });
});
