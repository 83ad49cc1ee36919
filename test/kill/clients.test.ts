import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { flow, openBench, type Bench } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { administer } from "../support/database.ts";
import { eventually } from "../support/scratch.ts";
import { client, startService, type OwnService } from "../support/service.ts";
import { recordKill } from "./kill-table.ts";

let service: OwnService;
let target: HttpTarget;
let bench: Bench;
beforeAll(async () => {
  [service, target] = await Promise.all([startService({ apis: 2 }), startHttpTarget()]);
  bench = await openBench(service);
});
afterAll(async () => {
  await service?.close();
  await target?.close();
});

const out = { id: "out-0", type: "output" };

describe("a client that disconnects during its request", () => {
  it.each(["run", "stream"])("does not stop the run (%s)", async (how) => {
    const path = `/slow-${how}`;
    target.on(path, async (_request, response) => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      response.end("{}");
    });
    const project = await bench.deploy(
      flow(
        [
          { id: "http-0", type: "http", config: { url: target.url + path } },
          { ...out, config: { value: "{{http-0.status}}" } },
        ],
        ["http-0>out-0"],
      ),
    );
    const gone = new AbortController();
    const request = bench.api
      .raw("POST", `/inference/v0/${how}/${bench.org_id}/${project}`, {}, { signal: gone.signal })
      .then((response) => response.text());
    await eventually("the node has asked", () => target.hits(path) === 1);
    gone.abort();
    await expect(request).rejects.toThrow();
    const { body } = await bench.api.get("/v2/runs", { query: { project_id: project } });
    const run = await bench.until(body.data[0].run_id as string);
    expect(run).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "200" } });
    expect(target.hits(path)).toBe(1);
    recordKill({
      killed: `the client's connection (${how})`,
      when: "in the middle of its run",
      runs: 1,
      outcome: "COMPLETED",
    });
  });
});

describe("two decisions on one pause at the same time, through two api processes", () => {
  it("one is accepted, the other gets a conflict, and the run continues with the accepted action", async () => {
    const project = await bench.deploy(
      flow(
        [
          { id: "approval-0", type: "approval", config: { message: "?" } },
          { id: "tpl-0", type: "template", config: { template: "yes" } },
          { id: "tpl-1", type: "template", config: { template: "no" } },
          out,
        ],
        ["approval-0:approve>tpl-0", "approval-0:reject>tpl-1", "tpl-0>out-0", "tpl-1>out-0"],
      ),
    );
    const RUNS = 10;
    const runs = await Promise.all(Array.from({ length: RUNS }, () => bench.start(project)));
    await Promise.all(runs.map(({ run_id }) => bench.until(run_id, "PAUSED")));
    const other = client({ url: service.api[1]?.url ?? "" }, bench.secretKey);
    for (const { run_id } of runs) {
      const answers = await Promise.all([
        bench.api.post(`/v2/runs/${run_id}/resume`, { action: "approve" }),
        other.post(`/v2/runs/${run_id}/resume`, { action: "reject" }),
      ]);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 409]);
      expect(answers.find(({ status }) => status === 409)?.body.code).toMatch(
        /^(pause_already_resolved|run_not_resumable)$/,
      );
      const run = await bench.until(run_id);
      expect(run).toMatchObject({
        state: "COMPLETED",
        outputs: { "out-0": answers[0].status === 202 ? "yes" : "no" },
      });
    }
    recordKill({
      killed: "nothing: two answers to one pause at once, by two apis",
      when: "the run is PAUSED",
      runs: RUNS,
      outcome: "each time one 202 and one 409; the run goes the winner's way",
    });
  });
});

describe("200 posts with one Idempotency-Key, through two api processes", () => {
  it("create one run, and every successful response names it", async () => {
    const project_id = await bench.deploy(flow([{ id: "in-0", type: "input" }, out], ["in-0>out-0"]));
    const key = randomUUID();
    const post = (n: number) =>
      client(service.api[n % 2] ?? service, bench.secretKey).post(
        "/v2/runs",
        { project_id, inputs: { "in-0": "once" } },
        { headers: { "idempotency-key": key } },
      );
    const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => post(n)));
    for (const answer of answers) {
      if (answer.status !== 201) expect(answer.body.code).toBe("idempotency_in_progress");
    }
    const created = answers.filter((answer) => answer.status === 201);
    expect(new Set(created.map((answer) => answer.body.run_id)).size).toBe(1);
    expect(created.filter((answer) => answer.headers.get("idempotent-replayed") === null)).toHaveLength(1);
    const { body } = await bench.api.get("/v2/runs", { query: { project_id } });
    expect(body.data).toHaveLength(1);
    const later = await post(1);
    expect(later.headers.get("idempotent-replayed")).toBe("true");
    recordKill({
      killed: "nothing: 200 posts with one Idempotency-Key at once, by two apis",
      when: "POST /v2/runs",
      runs: 1,
      outcome: `one run; ${created.length} x 201 with its id, ${200 - created.length} x 409 idempotency_in_progress`,
    });
  });

  it("create one run even if the api that handles the first post is killed", async () => {
    const project = await bench.deploy(
      flow([{ id: "http-0", type: "http", config: { url: `${target.url}/once?x=1` } }, out], ["http-0>out-0"]),
    );
    const key = randomUUID();
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    target.on("/once", async (_request, response) => {
      await released;
      response.end('"done"');
    });
    const doomed = service.api[1];
    const ask = (url: string) =>
      client({ url }, bench.secretKey).post(
        `/inference/v0/run/${bench.org_id}/${project}`,
        {},
        { headers: { "idempotency-key": key } },
      );
    const first = ask(doomed?.url ?? "");
    first.catch(() => undefined);
    await eventually("the node has asked", () => target.hits("/once") === 1);
    await doomed?.kill();
    await expect(first).rejects.toThrow();
    expect(await ask(service.url)).toMatchObject({ status: 409, body: { code: "idempotency_in_progress" } });
    release();
    // The lease of the killed process lasts 30 s; the test expires it early.
    await administer(service.databaseUrl, "update idempotency_keys set locked_until = now()");
    const again = await ask(service.url);
    expect(again).toMatchObject({ status: 200, body: { state: "COMPLETED" } });
    const { body } = await bench.api.get("/v2/runs", { query: { project_id: project } });
    expect(body.data).toHaveLength(1);
    expect(target.hits("/once")).toBe(1);
    await doomed?.restart();
    recordKill({
      killed: "one of two apis",
      when: "in a sync inference with an Idempotency-Key; the client asks the other one again",
      runs: 1,
      outcome:
        "one run, one http effect; 409 idempotency_in_progress until the orphaned claim expires (30 s at most), then 200",
    });
  });
});
