import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOrganisation } from "../../support/service.ts";
import { checkedClient } from "../http/conformance.ts";
import { startInProcess } from "../in-process.ts";
import type { InProcessApi } from "../in-process.ts";

describe("limits", () => {
  let api: InProcessApi;
  beforeAll(async () => {
    api = await startInProcess({
      env: { MILLRACE_JSON_LIMIT_BYTES: "2048", MILLRACE_MAX_NODES: "2", MILLRACE_RATE_LIMIT: "600" },
    });
  });
  afterAll(() => api.close());

  it("are published as configured", async () => {
    const { status, body } = await checkedClient(api, (await createOrganisation(api)).secretKey).get("/v2/limits");
    expect(status).toBe(200);
    expect(body).toEqual({
      json_body_bytes: 2048,
      run_body_bytes: 40 * 1024 * 1024,
      json_depth: 100,
      json_values: 10_000,
      wide_json_values: 500_000,
      upload_bytes: 100 * 1024 * 1024,
      input_bytes: 25 * 1024 * 1024,
      nodes_per_flow: 2,
      iterations_per_run: 10_000,
      sync_wait_seconds: 110,
      run_timeout_seconds: 86_400,
      max_run_timeout_seconds: 2_592_000,
      requests_per_minute: 600,
      concurrent_runs: null,
      webhook_subscriptions: 100,
      triggers: 20_000,
      schedule_seconds: 10,
      monitors: 20,
      evaluators_per_monitor: 10,
      monitor_window_seconds: 300,
      monitored_runs_per_hour: 1000,
      monitor_retention_days: 90,
      event_retention_seconds: 2_592_000,
      skill_files: 200,
      skill_bytes: 30 * 1024 * 1024,
      skill_path_chars: 255,
      skill_front_matter_chars: 16 * 1024,
      page_size: 200,
      idempotency_seconds: 86_400,
    });
  });

  it("are enforced as published", async () => {
    const mine = checkedClient(api, (await createOrganisation(api)).secretKey);
    expect((await mine.post("/v2/projects", { name: "a", description: "x".repeat(2048) })).status).toBe(413);
    const nodes = ["in-0", "in-1", "in-2"].map((id) => ({ id, type: "input" }));
    const { body } = await mine.post("/v2/flows/validate", {
      flow: { schema_version: 1, name: "Wide", nodes, edges: [] },
    });
    expect(body.problems[0].code).toBe("too_many_nodes");
  });
});
