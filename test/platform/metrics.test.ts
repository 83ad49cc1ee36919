import { describe, expect, it } from "vitest";
import { createMetrics } from "../../src/platform/metrics.ts";

describe("metrics", () => {
  it("render counts by label", async () => {
    const metrics = createMetrics({ service: "api", processMetrics: false, projects: true });
    metrics.httpRequest({ operation: "runDeployedFlow", status: 200 }, 0.02);
    metrics.runStarted();
    metrics.runFinished({ state: "COMPLETED", project: "p-1" }, 1.5);
    metrics.nodeFailed({ kind: "http", project: "p-1" });
    metrics.nodeFinished({ kind: "http", state: "FAILED" }, 0.2);
    metrics.activityFailed({ activity: "executeNode", code: "http_status" });
    metrics.swept({ sweeper: "pending-runs", outcome: "started" }, 3);
    metrics.outboundRequest("address_not_allowed");
    metrics.gauge("pool_connections", "Open connections", () => 4);
    const text = await metrics.render();
    for (const line of [
      'millrace_http_request_duration_seconds_count{service="api",operation="runDeployedFlow",status="200"} 1',
      'millrace_runs_started_total{service="api"} 1',
      'millrace_runs_finished_total{state="COMPLETED",service="api"} 1',
      'millrace_run_duration_seconds_count{service="api",state="COMPLETED"} 1',
      'millrace_project_runs_finished_total{project="p-1",state="COMPLETED",service="api"} 1',
      'millrace_project_run_duration_seconds_bucket{le="5",service="api",project="p-1"} 1',
      'millrace_node_failures_total{kind="http",project="p-1",service="api"} 1',
      'millrace_node_duration_seconds_sum{service="api",kind="http",state="FAILED"} 0.2',
      'millrace_activity_failures_total{activity="executeNode",code="http_status",service="api"} 1',
      'millrace_sweeper_actions_total{sweeper="pending-runs",outcome="started",service="api"} 3',
      'millrace_outbound_requests_total{outcome="address_not_allowed",service="api"} 1',
      'millrace_pool_connections{service="api"} 4',
    ]) {
      expect(text).toContain(line);
    }
    expect(metrics.contentType).toContain("text/plain");
  });

  it("metrics-leak: name no project unless it is enabled", async () => {
    const metrics = createMetrics({ service: "api", processMetrics: false });
    metrics.runFinished({ state: "COMPLETED", project: "p-1" }, 1.5);
    metrics.nodeFailed({ kind: "http", project: "p-1" });
    const text = await metrics.render();
    expect(text).not.toContain("project");
    expect(text).toContain('millrace_node_failures_total{kind="http",service="api"} 1');
  });

  it("count the runs of 200 projects separately, and the runs of all other projects together", async () => {
    const metrics = createMetrics({ service: "api", processMetrics: false, projects: true });
    for (let i = 0; i < 250; i += 1) metrics.runFinished({ state: "FAILED", project: `p-${i}` }, 1);
    metrics.runFinished({ state: "FAILED", project: "p-3" }, 1);
    const samples = (await metrics.render())
      .split("\n")
      .filter((line) => line.startsWith("millrace_project_runs_finished_total{"));
    expect(samples).toHaveLength(201);
    expect(samples).toContain('millrace_project_runs_finished_total{project="p-3",state="FAILED",service="api"} 2');
    expect(samples).toContain('millrace_project_runs_finished_total{project="other",state="FAILED",service="api"} 50');
  });

  it("have separate registries, and include process metrics", async () => {
    const [one, two] = [createMetrics({ service: "api" }), createMetrics({ service: "worker" })];
    one.runStarted();
    expect(await one.render()).toContain('process_cpu_seconds_total{service="api"}');
    expect(await two.render()).toContain('millrace_runs_started_total{service="worker"} 0');
  });
});
