import { describe, expect, it } from "vitest";
import { createMetrics } from "../../src/platform/metrics.ts";

describe("metrics", () => {
  it("render what was counted, by label", async () => {
    const metrics = createMetrics({ service: "api", processMetrics: false });
    metrics.httpRequest({ operation: "runDeployedFlow", status: 200 }, 0.02);
    metrics.runStarted();
    metrics.runFinished("COMPLETED", 1.5);
    metrics.nodeFinished({ kind: "http", state: "FAILED" }, 0.2);
    metrics.activityFailed({ activity: "executeNode", code: "http_status" });
    metrics.swept({ sweeper: "pending-runs", outcome: "started" }, 3);
    metrics.outbox(2.5, 7);
    metrics.outboundRequest("address_not_allowed");
    metrics.gauge("pool_connections", "Open connections", () => 4);
    const text = await metrics.render();
    for (const line of [
      'millrace_http_request_duration_seconds_count{service="api",operation="runDeployedFlow",status="200"} 1',
      'millrace_runs_started_total{service="api"} 1',
      'millrace_run_duration_seconds_count{service="api",state="COMPLETED"} 1',
      'millrace_node_duration_seconds_sum{service="api",kind="http",state="FAILED"} 0.2',
      'millrace_activity_failures_total{activity="executeNode",code="http_status",service="api"} 1',
      'millrace_sweeper_actions_total{sweeper="pending-runs",outcome="started",service="api"} 3',
      'millrace_outbox_lag_seconds{service="api"} 2.5',
      'millrace_outbox_pending{service="api"} 7',
      'millrace_outbound_requests_total{outcome="address_not_allowed",service="api"} 1',
      'millrace_pool_connections{service="api"} 4',
    ]) {
      expect(text).toContain(line);
    }
    expect(metrics.contentType).toContain("text/plain");
  });

  it("have a registry each, and the process's own metrics", async () => {
    const [one, two] = [createMetrics({ service: "api" }), createMetrics({ service: "worker" })];
    one.runStarted();
    expect(await one.render()).toContain('process_cpu_seconds_total{service="api"}');
    expect(await two.render()).toContain('millrace_runs_started_total{service="worker"} 0');
  });
});
