import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parser } from "@prometheus-io/lezer-promql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { flow, openBench, type Bench } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { startService, type OwnService } from "../support/service.ts";
import { METRICS_TOKEN, readMetrics } from "../support/metrics.ts";

let service: OwnService;
let target: HttpTarget;
let bench: Bench;
beforeAll(async () => {
  service = await startService({ env: { MILLRACE_METRICS_PORT: "0", MILLRACE_METRICS_PROJECTS: "true" } });
  // The blob store is measured when metrics are first read, and rarely afterwards.
  writeFileSync(join(service.blobDir, "kept"), "some bytes");
  target = await startHttpTarget();
  bench = await openBench(service);
});
afterAll(async () => {
  await target?.close();
  await service?.close();
});

/** The value of a process's sample, by name and labels; undefined if there is none. */
function sample(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const line = text
    .split("\n")
    .find((each) => each.startsWith(`${name}{`) && wanted.every((label) => each.includes(label)));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(" ")));
}

/** The sum of a metric's samples over all processes, restricted to these labels. */
async function total(metric: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
  const texts = await Promise.all([...service.api, ...service.worker].map(async ({ url }) => readMetrics({ url })));
  const wanted = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return texts
    .flatMap((text) => text.split("\n"))
    .filter((line) => line.startsWith(`${metric}{`) && wanted.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

// Runs before all other tests, because the counters start at zero.
describe("counters", () => {
  it("of all processes together count every run, node and request exactly once", async () => {
    const inline = await bench.deploy(
      flow(
        [
          { id: "in-0", type: "input" },
          { id: "out-0", type: "output" },
        ],
        ["in-0>out-0"],
      ),
    );
    const guarded = await bench.deploy(
      flow(
        [
          { id: "guard-0", type: "guard", config: { check: "false", message: "no" } },
          { id: "out-0", type: "output" },
        ],
        ["guard-0>out-0"],
      ),
    );
    const asking = (path: string) =>
      flow(
        [
          {
            id: "http-0",
            type: "http",
            config: { url: `${target.url}${path}` },
            retry: { max_attempts: 2, initial_interval_ms: 1 },
          },
          { id: "out-0", type: "output" },
        ],
        ["http-0>out-0"],
      );
    const http = await bench.deploy(asking("/text"));
    const failing = await bench.deploy(asking("/status?code=503"));
    const waiting = await bench.deploy(
      flow(
        [
          { id: "delay-0", type: "delay", config: { seconds: 3600 } },
          { id: "out-0", type: "output" },
        ],
        ["delay-0>out-0"],
      ),
    );
    const start = async (project: string, count: number, inputs = {}): Promise<string[]> =>
      Promise.all(Array.from({ length: count }, async () => (await bench.start(project, inputs)).run_id));

    const ids = [
      ...(await start(inline, 5, { "in-0": "x" })),
      ...(await start(guarded, 3)),
      ...(await start(http, 3)),
      ...(await start(failing, 2)),
    ];
    const cancelled = await start(waiting, 3);
    for (const id of cancelled) {
      await bench.until(id, "RUNNING");
      await bench.api.post(`/v2/runs/${id}/cancel`, { mode: id === cancelled[0] ? "terminate" : "graceful" });
    }
    for (const id of [...ids, ...cancelled]) await bench.until(id);

    // A process counts a row a moment after it has written it.
    await expect.poll(() => total("millrace_runs_finished_total")).toBe(16);
    expect(await total("millrace_runs_started_total")).toBe(16);
    const byState = { COMPLETED: 8, FAILED: 5, CANCELLED: 3 };
    for (const [state, count] of Object.entries(byState)) {
      expect.soft({ state, count: await total("millrace_runs_finished_total", { state }) }).toEqual({ state, count });
      expect.soft(await total("millrace_run_duration_seconds_count", { state })).toBe(count);
    }
    expect.soft(await total("millrace_project_runs_finished_total", { project: guarded, state: "FAILED" })).toBe(3);
    expect.soft(await total("millrace_project_run_duration_seconds_count", { project: inline })).toBe(5);
    expect.soft(await total("millrace_node_duration_seconds_count", { kind: "http", state: "COMPLETED" })).toBe(3);
    expect.soft(await total("millrace_node_duration_seconds_count", { kind: "http", state: "FAILED" })).toBe(2);
    expect.soft(await total("millrace_node_duration_seconds_count", { kind: "output", state: "COMPLETED" })).toBe(8);
    // Two runs with two attempts each.
    expect.soft(await total("millrace_node_failures_total", { kind: "http", project: failing })).toBe(4);
    expect.soft(await total("millrace_node_failures_total", { kind: "guard", project: guarded })).toBe(3);
    expect
      .soft(await total("millrace_activity_failures_total", { activity: "executeNode", code: "http_status" }))
      .toBe(2);
    expect.soft(await total("millrace_outbound_requests_total", { outcome: "ok" })).toBe(target.requests.length);
    expect.soft(target.requests).toHaveLength(7);
  });
});

describe("gauges", () => {
  it("report runs, queues, connections and blobs from every process", async () => {
    const approving = await bench.deploy(
      flow(
        [
          { id: "approval-0", type: "approval", config: { message: "?" } },
          { id: "out-0", type: "output" },
        ],
        ["approval-0:approve>out-0"],
      ),
    );
    const waiting = await bench.deploy(
      flow(
        [
          { id: "delay-0", type: "delay", config: { seconds: 3600 } },
          { id: "out-0", type: "output" },
        ],
        ["delay-0>out-0"],
      ),
    );
    const [paused, delayed] = [await bench.start(approving), await bench.start(waiting)];
    await bench.until(paused.run_id, "PAUSED");
    await bench.until(delayed.run_id, "RUNNING");
    // A run that is scheduled for tomorrow is not late.
    await bench.start(waiting, {}, { run_at: new Date(Date.now() + 86_400_000).toISOString() });

    for (const process of [...service.api, ...service.worker]) {
      const value = async (name: string, labels?: Record<string, string>) =>
        sample(await readMetrics(process), name, labels);
      await expect.poll(() => value("millrace_runs", { state: "PAUSED" })).toBe(1);
      expect(await value("millrace_runs", { state: "RUNNING" })).toBe(1);
      expect(await value("millrace_runs", { state: "PENDING" })).toBe(1);
      expect(await value("millrace_oldest_run_age_seconds", { state: "PENDING" })).toBe(0);
      expect(await value("millrace_oldest_run_age_seconds", { state: "RUNNING" })).toBeGreaterThan(0);
      await expect.poll(() => value("millrace_task_queue_pollers", { queue: "nodes", type: "activity" })).toBe(1);
      // The API hosts a worker of this queue, too.
      expect(await value("millrace_task_queue_pollers", { queue: "runs", type: "workflow" })).toBe(2);
      expect(await value("millrace_task_queue_backlog", { queue: "runs", type: "workflow" })).toBe(0);
      expect(await value("millrace_database_connections", { pool: "system" })).toBeGreaterThan(0);
      expect(await value("millrace_database_connections_limit", { pool: "organisation" })).toBe(6);
      expect(await value("millrace_blob_free_bytes")).toBeGreaterThan(0);
      await expect.poll(() => value("millrace_blob_bytes"), { timeout: 30_000 }).toBeGreaterThan(0);
    }
  });

  it("count tasks that no worker polls", async () => {
    const alone = await startService({ workers: 0 });
    try {
      const asking = await openBench(alone);
      const nodes = [
        { id: "http-0", type: "http", config: { url: target.url } },
        { id: "out-0", type: "output" },
      ];
      await asking.start(await asking.deploy(flow(nodes, ["http-0>out-0"])));
      const [api] = alone.api;
      const value = async (name: string) =>
        sample(await readMetrics(api ?? { url: "" }), `millrace_task_queue_${name}`, {
          queue: "nodes",
          type: "activity",
        });
      // Metrics are measured when they are first read, and rarely afterwards.
      await expect
        .poll(async () => (await asking.api.get("/v2/queues")).body.queues)
        .toContainEqual(expect.objectContaining({ queue: "nodes", type: "activity", backlog: 1 }));
      await expect.poll(() => value("backlog"), { timeout: 80_000 }).toBe(1);
      expect(await value("pollers")).toBe(0);
      await expect.poll(() => value("backlog_age_seconds")).toBeGreaterThan(0);
    } finally {
      await alone.close();
    }
  });

  it("a worker reports the state of its dependencies on its own port, with any query in the URL", async () => {
    const [worker] = service.worker;
    const answer = await fetch(`${worker?.url}/readyz?asked-by=probe`);
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { status: "ready", postgres: "ok", schema: "ok", temporal: "ok", workers: "ok" },
    ]);
    expect((await fetch(`${worker?.url}/healthz?x=1`)).status).toBe(200);
    expect((await fetch(`${worker?.url}/elsewhere`)).status).toBe(404);
  });

  it("metrics-leak: no port returns metrics without the token", async () => {
    const { metrics_port } = JSON.parse(
      service.api[0]
        ?.logs()
        .split("\n")
        .find((line) => line.includes("metrics ready")) ?? "{}",
    ) as { metrics_port?: number };
    for (const url of [service.url, `http://127.0.0.1:${metrics_port}`, service.worker[0]?.url ?? ""]) {
      for (const authorization of [
        "",
        "Bearer",
        "Bearer wrong",
        `Basic ${METRICS_TOKEN}`,
        `Bearer ${METRICS_TOKEN}x`,
      ]) {
        const answer = await fetch(`${url}/metrics`, { headers: { authorization } });
        expect([answer.status, (await answer.text()).includes("millrace_")]).toEqual([401, false]);
      }
      expect(await readMetrics({ url })).toContain("millrace_runs_finished_total");
    }
  });
});

describe("the dashboard and the alert rules", () => {
  const file = (name: string): string => readFileSync(new URL(`../../docs/operation/${name}`, import.meta.url), "utf8");
  interface Panel {
    readonly id: number;
    readonly type: string;
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets?: ReadonlyArray<{ readonly expr: string }>;
  }
  interface Rule {
    readonly alert: string;
    readonly expr: string;
    readonly for?: string;
    readonly labels: { readonly severity: string };
    readonly annotations: { readonly summary: string; readonly description: string };
  }
  const { panels } = JSON.parse(file("dashboard.json")) as { panels: Panel[] };
  const { groups } = parse(file("alerts.yml")) as { groups: ReadonlyArray<{ rules: Rule[] }> };
  const rules = groups.flatMap((group) => group.rules);
  const expressions = [
    ...rules.map(({ expr }) => expr),
    ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr.replaceAll("$__rate_interval", "5m"))),
  ];

  /** The metrics that a PromQL expression uses; throws if the expression is invalid. */
  function metricsIn(expression: string): string[] {
    const names: string[] = [];
    parser
      .configure({ strict: true })
      .parse(expression)
      .iterate({
        enter(node) {
          if (node.name === "Identifier" && node.matchContext(["VectorSelector"]))
            names.push(expression.slice(node.from, node.to));
        },
      });
    return names;
  }

  it("are valid PromQL and use only existing metrics", async () => {
    const processes = [service.api[0], service.worker[0]].map((process) => readMetrics(process ?? { url: "" }));
    const text = (await Promise.all(processes)).join("\n");
    const kinds = new Map([...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name, kind]) => [name, kind]));
    const exists = (name: string): boolean => {
      const series = name.replace(/_(bucket|sum|count)$/, "");
      return series === name ? kinds.has(name) && kinds.get(name) !== "histogram" : kinds.get(series) === "histogram";
    };
    const used = expressions.flatMap(metricsIn);
    expect(used.length).toBeGreaterThan(30);
    expect(used.filter((name) => !exists(name))).toEqual([]);
    expect(() => metricsIn("sum(rate(x[5m])")).toThrow();

    const documented = [...file("../operation.md").matchAll(/^[|-] `(millrace_\w+)`/gm)].map(([, name]) => name ?? "");
    // This installation has no replica.
    expect(documented.filter((name) => !kinds.has(name) && !name.startsWith("millrace_replica_"))).toEqual([]);
    const own = [...kinds.keys()].filter((name) => name?.startsWith("millrace_"));
    expect(own.filter((name) => !documented.includes(name ?? ""))).toEqual([]);
  });

  it("are complete: each rule has a summary and a description, and no panels overlap", () => {
    expect(rules.length).toBeGreaterThan(5);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { labels, annotations } of rules) {
      expect(["warning", "critical"]).toContain(labels.severity);
      expect(annotations).toEqual({ summary: expect.any(String), description: expect.any(String) });
    }
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });
});
