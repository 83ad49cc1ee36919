import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOrganisation } from "../../support/service.ts";
import { checkedClient } from "../http/conformance.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

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
    expect(body).toMatchObject({
      json_body_bytes: 2048,
      nodes_per_flow: 2,
      requests_per_minute: 600,
      concurrent_runs: null,
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
