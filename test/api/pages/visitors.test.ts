import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../../src/dev/model-stub.ts";
import { flow } from "../../engine/support.ts";
import { client } from "../../support/client.ts";
import { eventsOf } from "../runs/streams.ts";
import { echo, failing, openTenant, type ApiTenant } from "../tenant.ts";
import { EVENTS, consulting, publish, settled } from "./published.ts";

let tenant: ApiTenant;
let stub: ModelStub;
let model: Record<string, unknown>;
beforeAll(async () => {
  stub = await startModelStub();
  tenant = await openTenant();
  const credential = { base_url: `${stub.url}/v1` };
  const connection = { name: "stub", provider_id: "openai_compatible", scheme: "none", credential };
  const { body } = await tenant.secret.post("/v2/connections", connection);
  model = { model: "m", connection_id: body.connection_id };
});
afterAll(() => stub.close());

const talking = () =>
  flow(
    [
      { id: "in-0", type: "input" },
      { id: "llm-0", type: "llm", config: { ...model, prompt: "{{in-0}}", memory: { turns: 5 } } },
      { id: "out-0", type: "output" },
    ],
    ["in-0>llm-0", "llm-0>out-0"],
  );

describe("a visitor", () => {
  it("streams an answer, whose first frame has everything so far and whose parts make the whole", async () => {
    const page = await publish(tenant, talking(), { kind: "chat" });
    const { api, handle } = await page.enter();
    expect((await api.get(`${page.door}/page`)).body).toMatchObject({
      kind: "chat",
      chat: { input: "in-0", output: "out-0" },
      documents: [],
    });
    stub.next({ text: ["Blue ", "<b>on</b> ", "Mondays."] });
    const body = { inputs: { "in-0": "Which\nhat?" } };
    const response = await client(tenant.target, handle).raw("POST", `${page.door}/runs`, body, { headers: EVENTS });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    let text = "";
    const frames: Array<{ reset?: true; state: string; run_id: string; conversation_id: string }> = [];
    for await (const { data, id } of eventsOf(response)) {
      expect(Number(id)).toBeGreaterThanOrEqual(0);
      const frame = JSON.parse(data);
      frames.push(frame);
      const part = frame.outputs["out-0"] ?? "";
      text = frame.reset ? part : text + part;
    }
    expect(text).toBe("Blue <b>on</b> Mondays.");
    expect([frames[0]?.reset, frames.at(-1)?.state]).toEqual([true, "COMPLETED"]);
    const { conversation_id = "", run_id = "" } = frames[0] ?? {};

    stub.next({ text: ["Again."] });
    const next = await api.post(`${page.door}/runs`, { inputs: { "in-0": "And then?" }, conversation_id });
    await settled(api, `${page.door}/runs/${next.body.run_id}`);
    expect(JSON.stringify(stub.calls.at(-1)?.body.messages)).toContain("Mondays");
    const messages = await api.get(`${page.door}/conversations/${conversation_id}/messages`);
    expect(messages.body.data.map((each: { inputs: object; outputs: object }) => [each.inputs, each.outputs])).toEqual([
      [{ "in-0": "Which\nhat?" }, { "out-0": "Blue <b>on</b> Mondays." }],
      [{ "in-0": "And then?" }, { "out-0": "Again." }],
    ]);
    const { body: list } = await api.get(`${page.door}/conversations`);
    expect(list.data).toMatchObject([{ conversation_id, title: "Which hat?" }]);
    const { body: run } = await tenant.secret.get(`/v2/runs/${run_id}`);
    expect(run).toMatchObject({ ran_by_type: "page", ran_by_id: page.page.page_id, run_type: "api" });
    expect(run.user_id.endsWith(`-${conversation_id}`)).toBe(true);
  });

  it("never sees what another visitor writes, and takes it away", async () => {
    const page = await publish(tenant, consulting(), { visitor_pauses: ["approval-0"] });
    const [one, two] = [await page.enter(), await page.enter()];
    const run = await one.run({ "in-0": "mine alone" });
    const of = { query: { conversation_id: run.conversation_id } };
    const form = new FormData();
    form.set("file", new Blob(["one's file"]), "one.txt");
    expect((await one.api.post(`${page.door}/documents/doc-0`, form, of)).status).toBe(200);
    expect((await one.api.get(`${page.door}/documents/doc-0`, of)).body.data).toMatchObject([{ filename: "one.txt" }]);
    expect((await two.api.get(`${page.door}/conversations`)).body.data).toEqual([]);
    const taken = await two.api.post(`${page.door}/runs`, {
      inputs: { "in-0": "x" },
      conversation_id: run.conversation_id,
    });
    expect(taken.status).toBe(404);
    const key = { headers: { "idempotency-key": "same" } };
    const first = await one.api.post(`${page.door}/runs`, { inputs: { "in-0": "a" } }, key);
    const again = await one.api.post(`${page.door}/runs`, { inputs: { "in-0": "a" } }, key);
    const theirs = await two.api.post(`${page.door}/runs`, { inputs: { "in-0": "a" } }, key);
    const changed = await one.api.post(`${page.door}/runs`, { inputs: { "in-0": "b" } }, key);
    expect(again.body.run_id).toBe(first.body.run_id);
    expect([theirs.status, changed.status]).toEqual([202, 409]);
    expect(theirs.body.run_id).not.toBe(first.body.run_id);

    const path = `${page.door}/conversations/${run.conversation_id}`;
    expect((await one.api.patch(path, { title: "Mine" })).body.title).toBe("Mine");
    expect((await one.api.delete(path)).status).toBe(204);
    for (const gone of [path, `${path}/messages`, `${page.door}/runs/${run.run_id}`])
      expect((await one.api.get(gone)).status).toBe(404);
    const { body: log } = await tenant.secret.get("/v2/audit-log", { query: { operation: "deletePageConversation" } });
    expect(log.data).toMatchObject([
      { actor: { type: "page", id: page.page.page_id }, changes: { documents: { before: 1 } } },
    ]);
  });

  it("answers only the pauses that the page names, and sees nothing of the others", async () => {
    const closed = await publish(tenant, consulting());
    const stranger = await closed.enter();
    const started = await stranger.api.post(`${closed.door}/runs`, { inputs: { "in-0": "x" } });
    const at = `${closed.door}/runs/${started.body.run_id}`;
    await expect.poll(async () => (await stranger.api.get(at)).body.state).toBe("PAUSED");
    const { body: waiting } = await stranger.api.get(at);
    expect(waiting.pauses).toMatchObject([{ answerable: false, message: null, data: null, actions: [] }]);
    expect((await stranger.api.post(`${at}/resume`, { action: "approve" })).status).toBe(403);
    // The stream stays open while people of the organisation decide.
    const stream = await stranger.api.raw("GET", at, undefined, { headers: EVENTS });
    const decided = await tenant.secret.post(`/v2/runs/${started.body.run_id}/resume`, { action: "approve" });
    expect(decided.status).toBe(202);
    expect((await stream.text()).trimEnd().split("\n").at(-1)).toContain('"state":"COMPLETED"');

    const open = await publish(tenant, consulting(), { visitor_pauses: ["approval-0"] });
    const { api, run } = await open.enter();
    const paused = await run({ "in-0": "Hello" });
    expect(paused.pauses).toMatchObject([
      { answerable: true, message: "Send Hello?", actions: [{ id: "approve" }, { id: "reject" }] },
    ]);
    expect((await api.post(`${open.door}/runs/${paused.run_id}/resume`, { action: "reject" })).status).toBe(202);
    const done = await settled(api, `${open.door}/runs/${paused.run_id}`);
    expect(done).toMatchObject({ state: "COMPLETED", pauses: [] });
    expect((await api.post(`${open.door}/runs/${paused.run_id}/cancel`, {})).body.code).toBe("run_already_finished");
    for (const feedback of ["positive", "negative"])
      expect((await api.post(`${open.door}/runs/${paused.run_id}/feedback`, { feedback })).status).toBe(200);
    expect((await api.get(`${open.door}/runs/${paused.run_id}`)).body.feedback).toBe("negative");
    const { body: scores } = await tenant.secret.get(`/v2/evals/runs/${paused.run_id}/scores`);
    expect(scores.data).toMatchObject([{ name: "feedback", value: false }]);
  });

  it("reads of a failed run what concerns them, and nothing of the service behind it", async () => {
    const guarded = await publish(tenant, failing());
    expect((await (await guarded.enter()).run({})).error).toEqual({
      code: "guard_failed",
      message: "It is not allowed",
    });
    const inner = flow(
      [
        { id: "in-0", type: "input" },
        { id: "code-0", type: "code", config: { source: "function main() { throw new Error('inner secret'); }" } },
        { id: "out-0", type: "output" },
      ],
      ["in-0>code-0", "code-0>out-0"],
    );
    const broken = await publish(tenant, inner);
    const { error } = await (await broken.enter()).run({ "in-0": "x" });
    expect([error.code, error.message.includes("inner")]).toEqual(["run_failed", false]);
  });

  it("draft-leak: runs the published version, whatever the draft is", async () => {
    const page = await publish(tenant, echo());
    const project = page.page.project_id;
    const draft = flow(
      [
        { id: "in-0", type: "input" },
        { id: "out-0", type: "output", config: { value: "DRAFT" } },
      ],
      ["in-0>out-0"],
    );
    expect((await tenant.secret.put(`/v2/projects/${project}/draft`, { flow: draft })).status).toBe(201);
    const visitor = await page.enter();
    expect((await visitor.run({ "in-0": "published" })).outputs).toEqual({ "out-0": "published" });
    for (const more of [{ draft: true }, { version: -2 }, { version: 1 }, { run_draft: true }]) {
      const refused = await visitor.api.post(`${page.door}/runs`, { inputs: { "in-0": "x" }, ...more });
      expect(refused.status).toBe(422);
    }
    const queried = await visitor.api.post(`${page.door}/runs?run_draft=true`, { inputs: { "in-0": "x" } });
    expect(queried.status).toBe(422);
  });

  it("is erased like any other user", async () => {
    const page = await publish(tenant, echo());
    const visitor = await page.enter();
    const run = await visitor.run({ "in-0": "forget me" });
    const { user_id } = (await tenant.secret.get(`/v2/runs/${run.run_id}`)).body;
    const { body: erasure } = await tenant.secret.post("/v2/erasures", { user_id });
    await expect
      .poll(async () => (await tenant.secret.get(`/v2/erasures/${erasure.erasure_id}`)).body.state, { timeout: 60_000 })
      .toBe("COMPLETED");
    expect((await visitor.api.get(`${page.door}/conversations`)).body.data).toEqual([]);
    expect((await visitor.api.get(`${page.door}/runs/${run.run_id}`)).status).toBe(404);
  });
});

describe("limits of a page", () => {
  it("count runs by visitor, by network and in all", async () => {
    for (const [limits, later] of [
      [{ visitor: 1 }, 202],
      [{ network: 1 }, 429],
      [{ page: 1 }, 429],
    ] as const) {
      const page = await publish(tenant, echo(), { rate_limits: limits });
      const [one, two] = [await page.enter(), await page.enter()];
      const start = (api: typeof one.api) => api.post(`${page.door}/runs`, { inputs: { "in-0": randomUUID() } });
      expect((await start(one.api)).status).toBe(202);
      const refused = await start(one.api);
      expect([refused.status, Number(refused.headers.get("retry-after"))]).toEqual([429, expect.any(Number)]);
      expect((await start(two.api)).status, JSON.stringify(limits)).toBe(later);
    }
  });

  it("bound the streams that a visitor keeps open", async () => {
    const page = await publish(tenant, consulting());
    const { api, handle } = await page.enter();
    const { body } = await api.post(`${page.door}/runs`, { inputs: { "in-0": "x" } });
    const path = `${page.door}/runs/${body.run_id}`;
    const closing = new AbortController();
    const open = () =>
      client(tenant.target, handle).raw("GET", path, undefined, { headers: EVENTS, signal: closing.signal });
    const held = await Promise.all(Array.from({ length: 10 }, open));
    expect(held.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect((await open()).status).toBe(429);
    closing.abort();
    await expect.poll(async () => (await api.raw("GET", path, undefined, { headers: EVENTS })).status).toBe(200);
    expect((await api.post(`${path}/cancel`, {})).status).toBe(202);
  });

  it("hide everything but the look before the password, and count guesses", async () => {
    const page = await publish(tenant, echo(), { password: "tulip-and-harbour", look: { name: "Tulips" } });
    expect((await page.nobody.get(`${page.door}/page`)).body).toEqual({
      kind: "form",
      look: { name: "Tulips", colour: null, welcome: null },
      needs_password: true,
      inputs: null,
      outputs: null,
      chat: null,
      documents: null,
      limits: null,
    });
    expect((await page.nobody.post(`${page.door}/visitors`, {})).status).toBe(401);
    const visitor = await page.enter("tulip-and-harbour");
    expect((await visitor.api.get(`${page.door}/page`)).body).toMatchObject({
      needs_password: false,
      inputs: { required: ["in-0"] },
    });
    // With another password, whoever is inside has to come in again.
    expect((await tenant.secret.patch(page.path, { password: "another-password" })).status).toBe(200);
    await expect.poll(async () => (await visitor.api.get(`${page.door}/conversations`)).status).toBe(401);
    const guess = () => page.nobody.post(`${page.door}/visitors`, { password: "tulip-and-harbour" });
    const answers = await Promise.all(Array.from({ length: 7 }, guess));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([...Array(5).fill(401), 429, 429]);
    expect((await page.nobody.post(`${page.door}/visitors`, { password: "another-password" })).status).toBe(429);
  });
});
