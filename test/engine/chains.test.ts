import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabase, type Database } from "../../src/stores/db.ts";
import { listRunEvents } from "../../src/stores/runs/run-events.ts";
import { historiesOfEnded, withTemporal } from "../support/histories.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { eventually } from "../support/scratch.ts";
import { service } from "../support/service.ts";
import { flow, nested, nodesOf, openBench, type Bench, type Run } from "./support.ts";

let bench: Bench;
let target: HttpTarget;
let database: Database;
beforeAll(async () => {
  [bench, target] = await Promise.all([openBench(), startHttpTarget()]);
  const url = service().databaseUrl;
  database = openDatabase({ url, poolSize: 2, applicationName: "test", onError: () => undefined });
});
afterAll(() => Promise.all([target.close(), database.close()]));

type Node = Parameters<typeof flow>[0][number];
const out: Node = { id: "out-0", type: "output" };
const http = (id: string, path: string, more: Record<string, unknown> = {}): Node => ({
  id,
  type: "http",
  config: { url: `${target.url}${path}` },
  retry: { max_attempts: 3, initial_interval_ms: 10, backoff: 1, max_interval_ms: 10 },
  ...more,
});
const template = (id: string, text: string, more: Record<string, unknown> = {}): Node => ({
  id,
  type: "template",
  config: { template: text },
  ...more,
});
/** The nodes as a sequence. */
const row = (nodes: readonly Node[]): string[] =>
  nodes.slice(1).map((node, index) => `${nodes[index]?.id ?? ""}>${node.id}`);
const inARow = (nodes: readonly Node[], more?: Record<string, unknown>) => flow(nodes, row(nodes), more);

/** Types of the events in the history of the run's workflow. */
async function eventsOf(run: Run): Promise<Array<Record<string, unknown>>> {
  const [own] = await withTemporal(service().temporalAddress, (client) => historiesOfEnded(client, run.run_id));
  return (own?.history.events ?? []) as Array<Record<string, unknown>>;
}

async function activitiesOf(run: Run): Promise<number> {
  return (await eventsOf(run)).filter((event) => event["activityTaskScheduledEventAttributes"]).length;
}

const TIMES = new Set(["started_at", "finished_at", "next_attempt_at", "ended_at", "date"]);

/** The record of a run without times and IDs. */
async function recordOf({ run_id, state, outputs, error, progress_data, nodes }: Run): Promise<unknown> {
  const events = await database.system((db) => listRunEvents(db, run_id, 0, 1000));
  const record = {
    state,
    outputs,
    error,
    progress_data,
    nodes,
    events: events.map(({ type, data }) => ({ type, data })),
  };
  const text = JSON.stringify(record, (name, value: unknown) => (TIMES.has(name) ? null : value));
  return JSON.parse(text.replaceAll(run_id, "run"));
}

/** The same flow without chains: the workflow executes a node with a condition on its own. */
const unchained = (nodes: readonly Node[]): Node[] =>
  nodes.map((node) => (node.type === "output" ? node : { ...node, skip_if: "false" }));

describe("a chain of nodes that use activities", () => {
  it("is executed by one activity and leaves few events", async () => {
    const nodes = [...Array.from({ length: 10 }, (_, at) => http(`http-${at}`, `/echo?${at}`)), out];
    const run = await bench.run(inARow(nodes));
    expect(run.state).toBe("COMPLETED");
    const events = await eventsOf(run);
    expect(events.filter((event) => event["activityTaskScheduledEventAttributes"])).toHaveLength(1);
    expect(events.length).toBeLessThanOrEqual(12);
    expect(run.progress_data).toMatchObject({ total_nodes: 11, started_nodes: 11, completed_nodes: 11 });
    for (const { node_id, state, attempts } of run.nodes)
      expect([node_id, state, attempts]).toEqual([node_id, "COMPLETED", 1]);
  });

  it("is recorded as if each node had its own activity", async () => {
    const cases: Array<readonly Node[]> = [
      [
        { id: "in-0", type: "input" },
        http("http-0", "/echo?a={{in-0}}"),
        template("tpl-0", "{{http-0.body.url}}|{{in-0}}"),
        { id: "set-0", type: "set", config: { values: { long: 'nodes["tpl-0"] + "!"' } } },
        { id: "guard-0", type: "guard", config: { check: 'nodes["set-0"].long != ""', message: "empty" } },
        http("http-1", "/flaky?times=1&x={{set-0.long}}"),
        {
          id: "code-0",
          type: "code",
          config: { source: "function main({ a }) { return { a } }", args: { a: 'nodes["http-1"].status' } },
        },
        { ...out, config: { value: "{{code-0.a}} {{tpl-0}}" } },
      ],
      // A failure in the middle, with each error handling.
      [http("http-0", "/echo"), http("http-1", "/status?code=404"), http("http-2", "/echo"), out],
      [
        http("http-0", "/echo"),
        http("http-1", "/status?code=404", { on_error: "continue", default_output: { a: 1 } }),
        http("http-2", "/echo"),
        out,
      ],
      [
        http("http-0", "/echo"),
        { id: "guard-0", type: "guard", config: { check: "false", message: "no" } },
        http("http-1", "/echo"),
        out,
      ],
      [
        http("http-0", "/echo"),
        { id: "code-0", type: "code", config: { source: "function main() { return 'x'.repeat(100000) }" } },
        template("tpl-0", "{{code-0 | size}}"),
        http("http-1", "/echo"),
        out,
      ],
    ];
    const chained: unknown[] = [];
    const plain: unknown[] = [];
    const activities: Array<readonly number[]> = [];
    for (const nodes of cases) {
      const inputs = nodes[0]?.type === "input" ? { "in-0": "x" } : {};
      // The second run has another key, so /flaky fails again.
      const one = await bench.run(inARow(nodes), inputs);
      const other = await bench.run(inARow(unchained(nodes)), inputs);
      chained.push(await recordOf(one));
      plain.push(await recordOf(other));
      activities.push([await activitiesOf(one), await activitiesOf(other)]);
    }
    expect(chained).toEqual(plain);
    expect(activities).toEqual([
      [1, 3],
      [1, 2],
      [2, 3],
      [1, 1],
      [2, 3],
    ]);
  });

  it("uses an activity for each node if the chain branches", async () => {
    const slow = http("http-0", "/delay?ms=400");
    const run = await bench.run(
      flow(
        [slow, http("http-1", "/echo"), http("http-2", "/echo"), http("http-3", "/echo"), out],
        ["http-0>http-1", "http-0>http-2", "http-1>http-3", "http-2>http-3", "http-3>out-0"],
      ),
    );
    expect(run.state).toBe("COMPLETED");
    expect(await activitiesOf(run)).toBe(4);
  });

  it("waits for other nodes that a node needs", async () => {
    const run = await bench.run(
      flow(
        [
          http("http-0", "/echo?1"),
          http("http-1", "/delay?ms=500"),
          { ...http("http-2", "/echo?{{http-1.body.ms}}") },
          out,
        ],
        ["http-0>http-2", "http-1>http-2", "http-2>out-0"],
      ),
    );
    expect(run.state).toBe("COMPLETED");
    expect(await activitiesOf(run)).toBe(3);
  });

  it("starts no further node once the run is cancelled, and a resumed run reuses the finished ones", async () => {
    const release = target.hold("/held");
    const nodes = [http("http-0", "/echo?c0"), http("http-1", "/held"), http("http-2", "/echo?c2"), out];
    const { run_id } = await bench.start(await bench.deploy(inARow(nodes)));
    await eventually("the second node asks", () => target.hits("/held") === 1);
    expect((await bench.api.post(`/v2/runs/${run_id}/cancel`, {})).status).toBe(202);
    const run = await bench.until(run_id, "CANCELLED");
    release();
    const states = run.nodes.map(({ node_id, state }) => [node_id, state]);
    expect(states).toEqual([
      ["http-0", "COMPLETED"],
      ["http-1", "CANCELLED"],
    ]);
    expect(target.requests.filter(({ url }) => url === "/echo?c2")).toHaveLength(0);

    const { body: resumed } = await bench.api.post(`/v2/runs/${run_id}/resume`, { from: "failed" });
    const end = await bench.until(resumed.run_id as string);
    expect(end.state).toBe("COMPLETED");
    expect(nodesOf(end)["http-0"]).toMatchObject({ reused: true });
    expect(target.requests.filter(({ url }) => url === "/echo?c0")).toHaveLength(1);
  });

  it("starts no further node after a node that finished once the run was cancelled", async () => {
    const release = target.hold("/late");
    const later = Array.from({ length: 5 }, (_, at) => http(`later-${at}`, `/echo?late${at}`));
    const { run_id } = await bench.start(await bench.deploy(inARow([http("http-0", "/late"), ...later, out])));
    await eventually("the first node asks", () => target.hits("/late") === 1);
    // The activity learns of the cancellation with its next heartbeat, seconds later: until then only its record tells.
    const { status } = await bench.api.post(`/v2/runs/${run_id}/cancel`, {});
    release();
    expect([status, (await bench.until(run_id, "CANCELLED")).state]).toEqual([202, "CANCELLED"]);
    // Another chain of as many nodes gives the first one time to go on.
    await bench.run(inARow([...later.map((node, at) => http(node.id, `/echo?next${at}`)), out]));
    expect(target.requests.filter(({ url }) => url.startsWith("/echo?late"))).toEqual([]);
  });

  it("does not execute a pinned node in its middle", async () => {
    const nodes = [http("http-0", "/echo?p0"), http("http-1", "/echo?p1"), http("http-2", "/echo?p2"), out];
    const project_id = await bench.deploy(inARow(nodes));
    await bench.api.put(`/v2/projects/${project_id}/draft`, { flow: inARow(nodes) });
    const { run_id } = await bench.start(project_id, {}, { draft: true, pinned: { "http-1": { status: 200 } } });
    const end = await bench.until(run_id);
    expect([end.state, nodesOf(end)["http-1"]?.output]).toEqual(["COMPLETED", { status: 200 }]);
    const counted = ["p0", "p1", "p2"].map((at) => target.requests.filter(({ url }) => url === `/echo?${at}`).length);
    expect(counted).toEqual([1, 0, 1]);
  });

  it("shows the second attempt of a node in its middle while that attempt runs", async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    target.on("/twice", async (_, response) => {
      const isFirst = target.hits("/twice") === 1;
      if (!isFirst) await held;
      response.writeHead(isFirst ? 503 : 200).end();
    });
    const nodes = [http("http-0", "/echo"), http("http-1", "/twice"), out];
    const { run_id } = await bench.start(await bench.deploy(inARow(nodes)));
    await eventually("the second attempt is shown", async () => {
      const { attempts, error } = nodesOf(await bench.until(run_id, "RUNNING"))["http-1"] ?? {};
      return attempts === 2 && error === null;
    });
    release();
    expect((await bench.until(run_id)).state).toBe("COMPLETED");
  });

  it("resumes from a node in its middle and reuses the nodes before it", async () => {
    const nodes = [http("http-0", "/echo?f0"), http("http-1", "/echo?f1"), http("http-2", "/echo?f2"), out];
    const first = await bench.run(inARow(nodes));
    const { body } = await bench.api.post(`/v2/runs/${first.run_id}/resume`, { from_node: "http-1" });
    const end = await bench.until(body.run_id as string);
    expect(end.state).toBe("COMPLETED");
    expect(["http-0", "http-1", "http-2"].map((id) => nodesOf(end)[id]?.reused ?? false)).toEqual([true, false, false]);
    const counted = ["f0", "f1", "f2"].map((at) => target.requests.filter(({ url }) => url === `/echo?${at}`).length);
    expect(counted).toEqual([1, 2, 2]);
  });

  it("is executed node by node inside maps and in flows that mask values", async () => {
    const masked = await bench.run(
      inARow([http("http-0", "/echo?m"), http("http-1", "/echo?m"), out], {
        settings: { redact: ["$.nodes.http-0.output.body"] },
      }),
    );
    expect(masked.state).toBe("COMPLETED");
    expect(await activitiesOf(masked)).toBe(2);
    const map = await bench.run(
      inARow([
        {
          id: "map-0",
          type: "map",
          config: {
            items: "[1]",
            flow: nested(
              [http("http-0", "/echo"), http("http-1", "/echo"), out],
              row([http("http-0", ""), http("http-1", ""), out]),
            ),
          },
        },
        out,
      ]),
    );
    expect(map.state).toBe("COMPLETED");
    expect(await activitiesOf(map)).toBe(2);
  });
});
