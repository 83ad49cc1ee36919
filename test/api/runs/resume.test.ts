import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { flow, nested } from "../../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import type { Answer, TestClient } from "../../support/client.ts";
import { asking, echo, failing, openTenant, slow, type ApiTenant } from "../tenant.ts";

let tenant: ApiTenant;
let target: HttpTarget;
beforeAll(async () => {
  tenant = await openTenant();
  target = await startHttpTarget();
});
afterAll(() => target.close());

async function start(
  definition: Parameters<ApiTenant["deploy"]>[0],
  inputs: Record<string, unknown> = {},
): Promise<Answer["body"]> {
  const given = { project_id: await tenant.deploy(definition), inputs, mode: "sync", wait_seconds: 20 };
  return (await tenant.secret.post("/v2/runs", given)).body;
}
const resume = (runId: string, body: unknown, by: TestClient = tenant.secret, headers: Record<string, string> = {}) =>
  by.post(`/v2/runs/${runId}/resume`, body, { headers });

describe("answering a pause", () => {
  it("continues the run with the action, and records who answered", async () => {
    const run = await start(asking());
    expect([run.state, run.pauses.length, run.pauses[0].actions]).toEqual([
      "PAUSED",
      1,
      [{ id: "approve" }, { id: "reject" }],
    ]);
    const { status, body, headers } = await resume(run.run_id, {
      pause_id: run.pauses[0].pause_id,
      action: "approve",
      data: { a: 1 },
      comment: "Fine",
    });
    expect([status, headers.get("location")]).toEqual([202, `/v2/runs/${run.run_id}`]);
    expect(["RESUMED", "COMPLETED"]).toContain(body.state);
    expect(body.pauses[0]).toMatchObject({
      status: "resolved",
      received: [{ by: expect.stringMatching(/^org_api_key:/), action: "approve" }],
    });
    const ended = await tenant.until(run.run_id, "COMPLETED");
    expect(ended.outputs).toEqual({ "out-0": 'yes {"a":1}' });
  });

  it("requires an action if there are several, even with form data, but not if there is only one", async () => {
    const several = await start(asking());
    const missing = await resume(several.run_id, {});
    expect([missing.status, missing.body.detail[0].loc]).toEqual([422, ["body", "action"]]);
    expect((await resume(several.run_id, { data: { x: 1 } })).status).toBe(422);
    const unknown = await resume(several.run_id, { action: "maybe" });
    expect([unknown.status, unknown.body.detail[0].loc]).toEqual([422, ["body", "action"]]);
    expect((await resume(several.run_id, { action: "reject" })).status).toBe(202);
    const form = await start(asking({ form: { type: "object" } }));
    const silent = await resume(form.run_id, { data: {} });
    expect([silent.status, silent.body.detail[0].loc]).toEqual([422, ["body", "action"]]);
    expect((await tenant.secret.get(`/v2/runs/${form.run_id}`)).body.state).toBe("PAUSED");
    expect((await resume(form.run_id, { action: "approve", data: {} })).status).toBe(202);
    await tenant.until(form.run_id, "COMPLETED");
    const only = flow(
      [
        { id: "approval-0", type: "approval", config: { message: "?", actions: [{ id: "ok" }] } },
        { id: "out-0", type: "output" },
      ],
      ["approval-0:ok>out-0"],
    );
    expect((await resume((await start(only)).run_id, {})).status).toBe(202);
  });

  it("leaves the pause open when the data does not fit its form, and reports every location", async () => {
    const form = {
      type: "object",
      properties: {
        amount: { type: "integer", minimum: 1 },
        code: { type: "string", pattern: "^[A-Z]{3}$" },
        reason: { type: "string" },
      },
      required: ["amount", "reason"],
      additionalProperties: false,
    };
    const run = await start(asking({ form }));
    expect(run.pauses[0]).toMatchObject({ kind: "form", form });
    const broken = await resume(run.run_id, { action: "approve", data: { amount: 0, code: "abc", more: 1 } });
    expect([broken.status, broken.body.code]).toEqual([422, "validation_error"]);
    const places = broken.body.detail.map((issue: { loc: unknown[] }) => issue.loc.join("."));
    expect(places).toEqual(
      expect.arrayContaining(["body.data", "body.data.amount", "body.data.code", "body.data.reason"]),
    );
    const none = await resume(run.run_id, { action: "approve" });
    expect([none.status, none.body.detail[0].loc]).toEqual([422, ["body", "data"]]);
    const huge = await resume(run.run_id, { action: "approve", data: { amount: 1, reason: "x".repeat(70_000) } });
    expect(huge.status).toBe(422);
    expect((await tenant.secret.get(`/v2/runs/${run.run_id}`)).body).toMatchObject({
      state: "PAUSED",
      pauses: [{ status: "waiting", received: [] }],
    });
    expect(
      (await resume(run.run_id, { action: "approve", data: { amount: 1, reason: "r", code: "ABC" } })).status,
    ).toBe(202);
    await tenant.until(run.run_id, "COMPLETED");
    const rejected = await start(asking({ form }));
    expect((await resume(rejected.run_id, { action: "reject" })).status).toBe(202);
  });

  it("regex-dos: runs a form's patterns in linear time", async () => {
    const run = await start(
      asking({ form: { type: "object", properties: { s: { type: "string", pattern: "^(a+)+$" } } } }),
    );
    const startedAt = Date.now();
    expect((await resume(run.run_id, { action: "approve", data: { s: `${"a".repeat(20_000)}!` } })).status).toBe(422);
    expect(Date.now() - startedAt).toBeLessThan(15_000);
  });

  it("after it was resolved returns 409, and the first response for the same Idempotency-Key", async () => {
    const run = await start(asking());
    const { pause_id } = run.pauses[0];
    const key = { "idempotency-key": crypto.randomUUID() };
    const first = await resume(run.run_id, { pause_id, action: "approve" }, tenant.secret, key);
    const replayed = await resume(run.run_id, { pause_id, action: "approve" }, tenant.secret, key);
    expect([first.status, replayed.status, replayed.headers.get("idempotent-replayed")]).toEqual([202, 202, "true"]);
    const again = await resume(run.run_id, { pause_id, action: "reject" });
    expect([again.status, again.body.code]).toEqual([409, "pause_already_resolved"]);
    const unnamed = await resume(run.run_id, { action: "approve" });
    expect([unnamed.status, unnamed.body.code]).toEqual([409, "run_not_resumable"]);
    await tenant.until(run.run_id, "COMPLETED");
    expect((await resume(run.run_id, { pause_id, action: "reject" })).body.code).toBe("pause_already_resolved");
  });

  it("decides it once, however many answers arrive simultaneously", async () => {
    const run = await start(asking());
    const users = await Promise.all([tenant.user("editor"), tenant.user("editor"), tenant.user("admin")]);
    const clients = [tenant.secret, ...users];
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        resume(run.run_id, { action: i % 2 ? "approve" : "reject" }, clients[i % 4]),
      ),
    );
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(11);
    const ended = await tenant.until(run.run_id, "COMPLETED");
    expect(ended.pauses[0].received).toHaveLength(1);
    expect(ended.outputs["out-0"].startsWith(ended.pauses[0].received[0].action === "approve" ? "yes" : "no")).toBe(
      true,
    );
  });

  it("counts each principal once if several approvals are required", async () => {
    const run = await start(asking({ required_approvals: 3 }));
    const [one, two] = [await tenant.user("editor"), await tenant.user("admin")];
    const first = await resume(run.run_id, { action: "approve" }, one);
    expect([first.status, first.body.state, first.body.pauses[0].received.length]).toEqual([202, "PAUSED", 1]);
    for (const action of ["approve", "reject"]) {
      const again = await resume(run.run_id, { action }, one);
      expect([again.status, again.body.code]).toEqual([409, "pause_already_answered"]);
    }
    expect((await resume(run.run_id, { action: "approve" }, two)).body.state).toBe("PAUSED");
    expect((await resume(run.run_id, { action: "approve" })).status).toBe(202);
    const ended = await tenant.until(run.run_id, "COMPLETED");
    expect(ended.pauses[0].received.map(({ action }: { action: string }) => action)).toEqual([
      "approve",
      "approve",
      "approve",
    ]);
  });

  it("rejects the pause with one rejection, even if several approvals are required", async () => {
    const run = await start(asking({ required_approvals: 5 }));
    expect((await resume(run.run_id, { action: "reject" })).status).toBe(202);
    expect((await tenant.until(run.run_id, "COMPLETED")).outputs).toEqual({ "out-0": "no" });
  });

  it("counts approvals of each action separately if several are required", async () => {
    const actions = [{ id: "approve" }, { id: "accept" }, { id: "reject" }];
    const run = await start(asking({ required_approvals: 2, actions }));
    const [one, two] = [await tenant.user("editor"), await tenant.user("editor")];
    expect((await resume(run.run_id, { action: "approve" }, one)).body.state).toBe("PAUSED");
    expect((await resume(run.run_id, { action: "accept" }, two)).body.state).toBe("PAUSED");
    const { body } = await tenant.secret.get(`/v2/runs/${run.run_id}`);
    expect(body.pauses[0]).toMatchObject({
      status: "waiting",
      received: [{ action: "approve" }, { action: "accept" }],
    });
    expect((await resume(run.run_id, { action: "approve" })).status).toBe(202);
    expect((await tenant.until(run.run_id, "COMPLETED")).outputs).toEqual({ "out-0": "yes null" });
  });

  it("after it expired returns 410", async () => {
    const run = await start(asking({ expires_in_seconds: 1, on_timeout: "approve" }));
    const { pause_id } = run.pauses[0];
    await tenant.until(run.run_id, "COMPLETED");
    const late = await resume(run.run_id, { pause_id, action: "approve" });
    expect([late.status, late.body.code]).toEqual([410, "pause_expired"]);
  });

  it("requires pause_id if several are open", async () => {
    const inner = nested(
      [
        { id: "approval-0", type: "approval", config: { message: "{{item}}?" } },
        { id: "o", type: "output", config: { value: "{{item}} {{ approval-0.action }}" } },
      ],
      ["approval-0:approve>o", "approval-0:reject>o"],
    );
    const run = await start(
      flow(
        [
          { id: "map-0", type: "map", config: { items: '["a", "b"]', flow: inner } },
          { id: "out-0", type: "output" },
        ],
        ["map-0>out-0"],
      ),
    );
    const pauses = async () => (await tenant.secret.get(`/v2/runs/${run.run_id}`)).body.pauses;
    await expect.poll(pauses).toHaveLength(2);
    const unnamed = await resume(run.run_id, { action: "approve" });
    expect([unnamed.status, unnamed.body.detail[0].loc]).toEqual([422, ["body", "pause_id"]]);
    for (const { pause_id } of await pauses()) {
      expect(unnamed.body.detail[0].msg).toContain(pause_id);
      expect((await resume(run.run_id, { pause_id, action: "approve" })).status).toBe(202);
    }
    expect((await tenant.until(run.run_id, "COMPLETED")).outputs).toEqual({ "out-0": ["a approve", "b approve"] });
  });

  it("of another run, or of none, returns 422", async () => {
    const [run, other] = [await start(asking()), await start(asking())];
    for (const pause_id of [other.pauses[0].pause_id, crypto.randomUUID(), "x"]) {
      const { status, body } = await resume(run.run_id, { pause_id, action: "approve" });
      expect([status, body.detail[0].loc]).toEqual([422, ["body", "pause_id"]]);
    }
    const foreign = await openTenant(tenant.target);
    const theirs = await foreign.secret.post("/v2/runs", {
      project_id: await foreign.deploy(asking()),
      inputs: {},
      mode: "sync",
    });
    const { status } = await resume(run.run_id, { pause_id: theirs.body.pauses[0].pause_id, action: "approve" });
    expect(status).toBe(422);
    expect((await foreign.secret.get(`/v2/runs/${theirs.body.run_id}`)).body.pauses[0].status).toBe("waiting");
  });

  it("is allowed for secret keys and editors", async () => {
    const run = await start(asking());
    expect((await resume(run.run_id, { action: "approve" }, tenant.public)).status).toBe(403);
    expect((await resume(run.run_id, { action: "approve" }, await tenant.user("viewer"))).status).toBe(403);
    expect((await resume(run.run_id, { action: "approve", form: 1 })).status).toBe(422);
  });
});

describe("resuming after a failure", () => {
  const chain = (path: string, more: Record<string, unknown> = {}) =>
    flow(
      [
        { id: "in-0", type: "input", config: { required: false, default: "one" } },
        {
          id: "http-0",
          type: "http",
          config: { method: "GET", url: `${target.url}/counted-${path}`, headers: { "Idempotency-Key": path } },
        },
        { id: "guard-0", type: "guard", config: { check: 'nodes["in-0"] == "good"', message: "It is {{in-0}}" } },
        { id: "out-0", type: "output", config: { value: "{{in-0}} {{ http-0.status }}" } },
      ],
      ["in-0>http-0", "http-0>guard-0", "guard-0>out-0"],
      more,
    );

  it("creates a new run that reuses the finished nodes", async () => {
    const failed = await start(chain("over"), { "in-0": "bad" });
    expect(failed.state).toBe("FAILED");
    const hits = target.hits("/counted-over");
    const { status, body, headers } = await resume(failed.run_id, { from: "failed", inputs: { "in-0": "good" } });
    expect([status, headers.get("location")]).toEqual([202, `/v2/runs/${body.run_id}`]);
    expect(body.run_id).not.toBe(failed.run_id);
    expect(body).toMatchObject({
      resumed_from: { run_id: failed.run_id, node_id: "guard-0", path: "guard-0" },
      inputs: { "in-0": "good" },
      flow_version: 1,
    });
    expect((await tenant.until(body.run_id, "COMPLETED")).outputs).toEqual({ "out-0": "good 200" });
    expect(target.hits("/counted-over")).toBe(hits);
    expect((await tenant.secret.get(`/v2/runs/${failed.run_id}`)).body.state).toBe("FAILED");
  });

  it("returns the top-level node it resumes from, and the exact position", async () => {
    const inner = (node: { id: string; type: string; config: object }) => ({
      nodes: [node, { id: "o", type: "output", config: {} }],
      edges: [{ source: node.id, target: "o" }],
    });
    const mapOf = (node: { id: string; type: string; config: object }) =>
      flow(
        [
          { id: "in-0", type: "input", config: { required: false } },
          { id: "map-0", type: "map", config: { items: "[1, 2]", flow: inner(node) } },
          { id: "out-0", type: "output" },
        ],
        ["in-0>map-0", "map-0>out-0"],
      );
    const failed = await start(mapOf({ id: "guard-0", type: "guard", config: { check: "item == 1", message: "no" } }));
    const again = await resume(failed.run_id, { from: "failed" });
    expect(again.body.resumed_from).toEqual({ run_id: failed.run_id, node_id: "map-0", path: "map-0[1]/guard-0" });
    // Resuming from a named node reports that node, not the failed one inside it.
    expect((await resume(failed.run_id, { from: "map-0" })).body.resumed_from).toMatchObject({ path: "map-0" });

    const { body: running } = await tenant.secret.post("/v2/runs", {
      project_id: await tenant.deploy(mapOf({ id: "delay-0", type: "delay", config: { seconds: 60 } })),
      inputs: {},
    });
    await tenant.until(running.run_id, "RUNNING");
    await tenant.secret.post(`/v2/runs/${running.run_id}/cancel`, {});
    await tenant.until(running.run_id, "CANCELLED");
    expect((await resume(running.run_id, { from: "failed" })).body.resumed_from).toEqual({
      run_id: running.run_id,
      node_id: "map-0",
      path: "map-0[0]/delay-0",
    });
  });

  it("starts at the requested node, and runs all nodes after it again", async () => {
    const failed = await start(chain("named"), { "in-0": "bad" });
    const hits = target.hits("/counted-named");
    const { body } = await resume(failed.run_id, { from: "http-0", inputs: { "in-0": "good" } });
    await tenant.until(body.run_id, "COMPLETED");
    expect(target.hits("/counted-named")).toBe(hits + 1);
  });

  it("keeps inputs that are not sent again, and fails again with them", async () => {
    const failed = await start(chain("again"), { "in-0": "bad" });
    const { body } = await resume(failed.run_id, { from: "failed" });
    expect(body.inputs).toEqual({ "in-0": "bad" });
    await tenant.until(body.run_id, "FAILED");
    const third = await resume(body.run_id, { from: "failed", inputs: { "in-0": "good" } });
    await tenant.until(third.body.run_id, "COMPLETED");
  });

  it("keeps the time limit of the earlier run", async () => {
    const given = { project_id: await tenant.deploy(slow(60)), inputs: {}, timeout_seconds: 1 };
    const { body: run } = await tenant.secret.post("/v2/runs", given);
    await tenant.until(run.run_id, "FAILED");
    const { body } = await resume(run.run_id, { from: "failed" });
    expect((await tenant.until(body.run_id, "FAILED")).error.code).toBe("run_timeout");
  });

  it("can use another version of the flow", async () => {
    const failed = await start(failing());
    const mended = failing("true");
    await tenant.secret.post(`/v2/projects/${failed.project_id}/versions`, { flow: mended });
    const { body } = await resume(failed.run_id, { from: "failed", version: -1 });
    expect(body.flow_version).toBe(2);
    await tenant.until(body.run_id, "COMPLETED");
    expect((await resume(failed.run_id, { from: "failed", version: 9 })).body.code).toBe("flow_version_not_found");
  });

  it("also works after a cancellation", async () => {
    const { body: run } = await tenant.secret.post("/v2/runs", {
      project_id: await tenant.deploy(slow(1)),
      inputs: {},
    });
    await tenant.until(run.run_id, "RUNNING").catch(() => undefined);
    await tenant.secret.post(`/v2/runs/${run.run_id}/cancel`, {});
    await tenant.until(run.run_id, "CANCELLED");
    const { status, body } = await resume(run.run_id, { from: "failed" });
    expect(status).toBe(202);
    await tenant.until(body.run_id, "COMPLETED");
  });

  it("requires inputs that were not stored", async () => {
    const secret = chain("secret", { settings: { redact: ["$.inputs.in-0"] } });
    const failed = await start(secret, { "in-0": "bad" });
    expect(failed.inputs).toEqual({ "in-0": "[redacted]" });
    const missing = await resume(failed.run_id, { from: "failed" });
    expect([missing.status, missing.body.detail[0].loc]).toEqual([422, ["body", "inputs", "in-0"]]);
    const { status, body } = await resume(failed.run_id, { from: "failed", inputs: { "in-0": "good" } });
    expect(status).toBe(202);
    await tenant.until(body.run_id, "COMPLETED");
  });

  it("can reuse more data than fits into the start of a workflow", async () => {
    const ids = Array.from({ length: 60 }, (_, i) => `t${i}`);
    const wide = flow(
      [
        { id: "in-0", type: "input" },
        { id: "ok-0", type: "input", config: { required: false, default: "no" } },
        ...ids.map((id) => ({ id, type: "template", config: { template: `${id} {{in-0}}` } })),
        { id: "guard-0", type: "guard", config: { check: 'nodes["ok-0"] == "yes"', message: "no" } },
        { id: "out-0", type: "output", config: { value: "{{ t59 | slice: 0, 5 }}" } },
      ],
      [...ids.flatMap((id) => [`in-0>${id}`, `${id}>guard-0`]), "ok-0>guard-0", "guard-0>out-0"],
    );
    const failed = await start(wide, { "in-0": "x".repeat(50_000) });
    expect(failed.state).toBe("FAILED");
    const { body } = await resume(failed.run_id, { from: "failed", inputs: { "ok-0": "yes" } });
    expect((await tenant.until(body.run_id, "COMPLETED")).outputs).toEqual({ "out-0": "t59 x" });
  });

  it("creates one run per Idempotency-Key", async () => {
    const failed = await start(failing());
    const key = { "idempotency-key": crypto.randomUUID() };
    const first = await resume(failed.run_id, { from: "failed" }, tenant.secret, key);
    const again = await resume(failed.run_id, { from: "failed" }, tenant.secret, key);
    expect(again.body.run_id).toBe(first.body.run_id);
  });

  it("returns 422 for an invalid request", async () => {
    const failed = await start(failing());
    for (const [body, loc] of [
      [{}, ["body", "from"]],
      [{ from: "nowhere" }, ["body", "from"]],
      [{ from: "__proto__" }, ["body", "from"]],
      [{ from: "failed", action: "approve" }, ["body", "from"]],
      [{ from: "failed", inputs: { "in-0": 7 } }, ["body", "inputs", "in-0"]],
      [{ inputs: {} }, ["body", "from"]],
    ] as const) {
      const answer = await resume(failed.run_id, body);
      expect([answer.status, answer.body.detail?.[0].loc]).toEqual([422, loc]);
    }
  });

  it("returns 409 for a run that cannot be resumed", async () => {
    const completed = await start(echo(), { "in-0": "x" });
    const paused = await start(asking());
    for (const [runId, body] of [
      [completed.run_id, { from: "failed" }],
      [completed.run_id, {}],
      [completed.run_id, { action: "approve" }],
      [paused.run_id, { from: "failed" }],
      [(await start(failing())).run_id, { action: "approve" }],
    ] as const) {
      const answer = await resume(runId, body);
      expect([answer.status, answer.body.code]).toEqual([409, "run_not_resumable"]);
    }
  });
});
