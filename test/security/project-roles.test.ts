import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operations } from "../api/http/conformance.ts";
import { echo, openTenant, type ApiTenant } from "../api/tenant.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import type { TestClient } from "../support/client.ts";
import { call, holdings } from "./call-operation.ts";
import { makeEverything, type Ids } from "./foreign-ids.ts";

let tenant: ApiTenant;
let member: TestClient;
let project: string;
/** IDs in the same organisation, but in projects without the caller as a member. */
let theirs: Ids;
let receiver: HttpTarget;

beforeAll(async () => {
  receiver = await startHttpTarget();
  tenant = await openTenant();
  theirs = await makeEverything(tenant, receiver.url);
  project = await tenant.deploy(echo());
  member = await tenant.user("member");
  const { body: me } = await member.get("/v2/me");
  const granted = await tenant.secret.put(`/v2/projects/${project}/members/${me.id}`, { role: "admin" });
  expect(granted.status).toBe(200);
});
afterAll(() => receiver?.close());

// Signing out would end the caller's own session.
const guarded = operations.filter(({ auth, id }) => auth !== "none" && id !== "closeSession");
/** Operations about the caller, about nothing of the organisation, or that list only visible resources. */
const ANSWERED = ["getFlowSchema", "getLimits", "getMe", "getRunStatistics", "listNodeKinds"];

describe("project-roles: a member with a role in one project", () => {
  it("can neither read nor change other projects, by any operation of the API", async () => {
    const all = () => tenant.withDatabase((database) => holdings(database, tenant.org_id));
    const before = await all();
    // Unknown IDs; values that are not IDs stay.
    const nothing = Object.fromEntries(
      Object.entries(theirs).map(([name, id]) => [name, /^[0-9a-f-]{36}$/.test(id) ? randomUUID() : id]),
    );
    const org = { org: tenant.org_id, org_id: tenant.org_id };
    const owned = Object.values(theirs).filter((id) => /^[0-9a-f-]{36}$/.test(id) && id !== tenant.org_id);
    for (const operation of guarded) {
      const answer = await call(member, operation, theirs);
      const unknown = await call(member, operation, { ...nothing, ...org });
      if (operation.id === "getRunStatistics") {
        expect(JSON.parse(answer.text).totals).toEqual({ completed: 0, failed: 0, cancelled: 0, open: 0, paused: 0 });
        continue;
      }
      expect([operation.id, answer.status, answer.text]).toEqual([operation.id, unknown.status, unknown.text]);
      for (const id of owned) expect([operation.id, answer.text.includes(id)]).toEqual([operation.id, false]);
      if (ANSWERED.includes(operation.id)) continue;
      // A list is empty or contains the member's own resources; any other operation returns 403 or 404.
      if (answer.status === 200) {
        const listed = JSON.parse(answer.text).data;
        expect([operation.id, operation.method, Array.isArray(listed)]).toEqual([operation.id, "GET", true]);
      } else expect([operation.id, [403, 404].includes(answer.status)]).toEqual([operation.id, true]);
    }
    expect(await all()).toEqual(before);
  });

  it("sees only the project, runs, pauses and triggers of that project in lists", async () => {
    const { body: run } = await member.post("/v2/runs", { project_id: project, inputs: { "in-0": "x" }, mode: "sync" });
    const schedule = { provider_id: "millrace", trigger_id: "schedule", config: { cron: "0 9 * * *" }, enabled: false };
    const { body: trigger } = await member.post("/v2/triggers", {
      ...schedule,
      project_id: project,
      inputs: { "in-0": "'x'" },
    });
    const lists = { projects: "project_id", runs: "run_id", triggers: "id", pauses: "pause_id" };
    const seen: Record<string, unknown> = {};
    for (const [list, id] of Object.entries(lists)) {
      const { body } = await member.get(`/v2/${list}`);
      seen[list] = body.data.map((each: Record<string, unknown>) => each[id]);
      expect((await tenant.secret.get(`/v2/${list}`)).body.data.length).toBeGreaterThan(body.data.length);
    }
    expect(seen).toEqual({ projects: [project], runs: [run.run_id], triggers: [trigger.id], pauses: [] });
    const { body: statistics } = await member.get("/v2/run-statistics");
    expect(statistics.totals).toEqual({ completed: 1, failed: 0, cancelled: 0, open: 0, paused: 0 });
    expect(statistics.live).toEqual([]);
  });

  it("cannot reach other projects by a flow or a trigger", async () => {
    const other = theirs["flow_id"];
    const nodes = [
      { id: "sub-0", type: "subflow", config: { project_id: other, inputs: { "in-0": "'x'" } } },
      { id: "out-0", type: "output" },
    ];
    const flow = { schema_version: 1, name: "calls", nodes, edges: [{ source: "sub-0", target: "out-0" }] };
    const deployed = await member.post(`/v2/projects/${project}/versions`, { flow });
    expect([deployed.status, deployed.body.problems?.[0]?.code]).toEqual([422, "unknown_project"]);
    const checked = await member.post("/v2/flows/validate", { flow, project_id: project });
    expect(checked.body.problems[0].code).toBe("unknown_project");
    expect((await tenant.secret.post("/v2/flows/validate", { flow })).body.valid).toBe(true);
    const listening = { project_id: project, provider_id: "millrace", trigger_id: "run_event" };
    for (const config of [{}, { project_id: other }]) {
      const { status, body } = await member.post("/v2/triggers", { ...listening, config, inputs: { "in-0": "'x'" } });
      expect([status, body.detail[0].loc]).toEqual([422, ["body", "config", "project_id"]]);
    }
    const own = await member.post("/v2/triggers", {
      ...listening,
      config: { project_id: project },
      inputs: { "in-0": "'x'" },
    });
    expect(own.status).toBe(201);
    for (const config of [{ project_id: null }, { project_id: other }])
      expect((await member.patch(`/v2/triggers/${own.body.id}`, { config })).status).toBe(422);
    const path = `/mcp?flow_id=${project}`;
    const waits = { name: "get_run", arguments: { run_id: theirs["run_id"] } };
    const asked = await member.post(path, { jsonrpc: "2.0", id: 1, method: "tools/call", params: waits });
    expect(JSON.stringify(asked.body)).not.toContain("PAUSED");
    expect((await member.post(`${path}&flow_id=${other}`, { jsonrpc: "2.0", id: 1, method: "ping" })).status).toBe(404);
  });

  it("gets no stored response of other projects by an Idempotency-Key", async () => {
    const options = { headers: { "idempotency-key": randomUUID() } };
    const body = { project_id: theirs["flow_id"], inputs: { "in-0": "kept" } };
    expect((await tenant.secret.post("/v2/runs", body, options)).status).toBe(201);
    expect((await member.post("/v2/runs", body, options)).status).toBe(404);
  });
});
