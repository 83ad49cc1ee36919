import { Client, Connection } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { flow, nested, openBench, type Bench } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { startService, type OwnService } from "../support/service.ts";

// One organisation uses more than its share; the work of another must finish first. A separate installation with few
// slots makes small loads sufficient.

let service: OwnService;
let target: HttpTarget;
let noisy: Bench;
let quiet: Bench;
beforeAll(async () => {
  [service, target] = await Promise.all([
    startService({ env: { MILLRACE_WORKER_ACTIVITIES: "8", MILLRACE_WEBHOOK_SLOTS: "8" } }),
    startHttpTarget(),
  ]);
  [noisy, quiet] = await Promise.all([openBench(service), openBench(service)]);
});
afterAll(() => Promise.all([service?.close(), target?.close()]));

const input = { id: "in-0", type: "input" };
const out = { id: "out-0", type: "output" };
const through = (node: Record<string, unknown> & { id: string; type: string }) =>
  flow([input, node, out], [`in-0>${node.id}`, `${node.id}>out-0`]);
const asking = (path: string) => through({ id: "http-0", type: "http", config: { url: `${target.url}${path}` } });
const coding = (source: string, more: object = {}) =>
  through({ id: "code-0", type: "code", config: { source }, ...more });
const times = <T>(count: number, work: (at: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => work(at)));
const inputs = { "in-0": "x" };

async function states(bench: Bench, runIds: readonly string[]): Promise<string[]> {
  const runs = await Promise.all(runIds.map((id) => bench.api.get(`/v2/runs/${id}`)));
  return runs.map(({ body }) => body.state as string);
}

describe("noisy-neighbour", () => {
  it("slow http nodes take no more than their share of slots, and each waiting node finishes after one attempt", async () => {
    const release = target.hold("/slow");
    const project = await noisy.deploy(asking("/slow"));
    const runs = await times(9, () => noisy.start(project, inputs));
    await expect.poll(() => target.hits("/slow")).toBe(4);
    const run = await quiet.run(asking("/echo"), inputs);
    expect(run.state).toBe("COMPLETED");
    expect(target.hits("/slow")).toBe(4);
    release();
    const ended = await Promise.all(runs.map(({ run_id }) => noisy.until(run_id)));
    expect(ended.map(({ state, nodes }) => [state, nodes.find(({ path }) => path === "http-0")?.attempts])).toEqual(
      ended.map(() => ["COMPLETED", 1]),
    );
    expect(target.hits("/slow")).toBe(9);
  });

  it("a map of slow http nodes takes no more than its share of slots", async () => {
    const release = target.hold("/mapped");
    const item = { id: "http-1", type: "http", config: { url: `${target.url}/mapped` } };
    const items = {
      items: "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]",
      max_concurrency: 12,
      flow: nested([item, out], ["http-1>out-0"]),
    };
    const project = await noisy.deploy(through({ id: "map-0", type: "map", config: items }));
    const { run_id } = await noisy.start(project, inputs);
    await expect.poll(() => target.hits("/mapped")).toBe(4);
    expect((await quiet.run(asking("/echo"), inputs)).state).toBe("COMPLETED");
    expect(target.hits("/mapped")).toBe(4);
    release();
    expect((await noisy.until(run_id)).state).toBe("COMPLETED");
  });

  it("computing code leaves processes to other organisations, and no run fails while it waits for one", async () => {
    // As many calls at one time as one organisation has processes; the last of them waits longer than its timeout.
    const busy = "function main() { const end = Date.now() + 900; while (Date.now() < end); return 1; }";
    const patient = await noisy.deploy(coding(busy, { timeout_ms: 2500 }));
    const endless = await noisy.deploy(coding("function main() { for (;;); }", { timeout_ms: 2500 }));
    const waiting = await times(6, () => noisy.start(patient, inputs));
    const stuck = await times(4, () => noisy.start(endless, inputs));
    const ids = [...waiting, ...stuck].map(({ run_id }) => run_id);
    await expect.poll(() => states(noisy, ids)).toContain("RUNNING");
    const run = await quiet.run(coding("function main() { return 2; }", { timeout_ms: 60_000 }), inputs);
    expect(run.outputs).toEqual({ "out-0": 2 });
    expect(await states(noisy, ids)).toContain("RUNNING");
    const ended = await Promise.all(waiting.map(({ run_id }) => noisy.until(run_id)));
    expect(ended.map(({ state, error }) => [state, error])).toEqual(ended.map(() => ["COMPLETED", null]));
    const failed = await Promise.all(stuck.map(({ run_id }) => noisy.until(run_id)));
    expect(failed.map(({ error }) => error?.code)).toEqual(failed.map(() => "node_timeout"));
  });

  it("slow receivers take no more than their share of deliveries", async () => {
    const release = target.hold("/receiver");
    const subscribe = async (bench: Bench, path: string): Promise<string> => {
      const { status, body } = await bench.api.post("/v2/webhooks/subscriptions", {
        url: `${target.url}${path}`,
        events: ["run.completed"],
      });
      expect(status, JSON.stringify(body)).toBe(201);
      return body.subscription_id as string;
    };
    const subscriptions = await times(12, () => subscribe(noisy, "/receiver"));
    await subscribe(quiet, "/quiet-receiver");
    const run = flow([input, out], ["in-0>out-0"]);
    await noisy.run(run, inputs);
    await expect.poll(() => target.hits("/receiver")).toBe(4);
    await quiet.run(run, inputs);
    await expect.poll(() => target.hits("/quiet-receiver")).toBe(1);
    expect(target.hits("/receiver")).toBe(4);
    release();
    await expect.poll(() => target.hits("/receiver")).toBe(12);
    await Promise.all(subscriptions.map((id) => noisy.api.delete(`/v2/webhooks/subscriptions/${id}`)));
  });

  it("every workflow has its organisation as fairness key, and a priority", async () => {
    const connection = await Connection.connect({ address: service.temporalAddress });
    try {
      const { workflow } = new Client({ connection });
      const priorityOf = async (id: string): Promise<unknown> => (await workflow.getHandle(id).describe()).priority;
      const project = await quiet.deploy(flow([input, out], ["in-0>out-0"]));
      const awaited = await quiet.api.post("/v2/runs", { project_id: project, inputs, mode: "sync" });
      expect(await priorityOf(`run-${awaited.body.run_id}`)).toMatchObject({
        priorityKey: 1,
        fairnessKey: quiet.org_id,
      });
      const later = await quiet.api.post("/v2/runs", { project_id: project, inputs, mode: "async" });
      await quiet.until(later.body.run_id);
      expect(await priorityOf(`run-${later.body.run_id}`)).toMatchObject({ priorityKey: 3, fairnessKey: quiet.org_id });
      expect(await priorityOf(`deliver-${service.taskQueue}-0`)).toMatchObject({ priorityKey: 1 });
    } finally {
      await connection.close();
    }
  });
});

describe("noisy-neighbour: where one process handles all workflow steps", () => {
  let small: OwnService;
  beforeAll(async () => {
    small = await startService({ workers: 0 });
  });
  afterAll(() => small?.close());

  it("templates at their limit take no slots that inline runs need", { timeout: 300_000 }, async () => {
    const [costly, neighbour] = await Promise.all([openBench(small), openBench(small)]);
    const template = "{% for i in (1..9000000) %}{% for j in (1..9000000) %}{% endfor %}{% endfor %}";
    const project = await costly.deploy(through({ id: "tpl-0", type: "template", config: { template } }));
    // More runs than there are slots.
    const runIds: string[] = [];
    for (let batch = 0; batch < 11; batch += 1)
      runIds.push(...(await times(20, () => costly.start(project, inputs))).map(({ run_id }) => run_id));
    const open = async (): Promise<number> => {
      const all = await Promise.all(runIds.map((id) => costly.api.get(`/v2/runs/${id}`)));
      return all.filter(({ body }) => ["PENDING", "RUNNING"].includes(body.state as string)).length;
    };
    const before = await open();
    const calls = 30;
    const inline = await neighbour.deploy(flow([input, out], ["in-0>out-0"]));
    for (let at = 0; at < calls; at += 1) {
      const { body } = await neighbour.api.post("/v2/runs", { project_id: inline, inputs, mode: "sync" });
      expect(body).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "x" } });
    }
    const after = await open();
    expect(after).toBeGreaterThan(0);
    // If each call had to wait for a template, as many templates would have finished.
    expect(before - after).toBeLessThan(calls);
  });
});
