import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Webhook } from "standardwebhooks";
import { findModel } from "../../../src/platform/embeddings/model-files.ts";
import { startModelStub } from "../../../src/dev/model-stub.ts";
import { edges, flow, node } from "../../support/flows.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { failing, echo, openTenant, type ApiTenant } from "../tenant.ts";
import { makeDataset, rowsPath } from "./evals.ts";

const model = await findModel();
let tenant: ApiTenant;
let target: HttpTarget;

beforeAll(async () => {
  tenant = await openTenant();
  target = await startHttpTarget();
});
afterAll(() => target.close());

const EVALUATORS = "/v2/evals/evaluators";
const create = (body: object) => tenant.secret.post(EVALUATORS, { name: "E", ...body });
const preview = async (body: object) => {
  const answer = await tenant.secret.post("/v2/evals/evaluator-previews", body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
};
const trying = (evaluator: object, sample: object) => preview({ evaluator, sample });

describe("an evaluator", () => {
  it("is created with its type's defaults, listed, updated to a new version with its ETag, and deleted", async () => {
    const created = await create({ type: "levenshtein", target: { output: "out-0" }, score: { pass_threshold: 0.9 } });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      type: "levenshtein",
      config: { ignore_case: false, trim: true },
      target: { output: "out-0", json_path: null },
      score: { data_type: "numeric", direction: "maximize", pass_threshold: 0.9 },
      negate: false,
      weight: 1,
      version: 1,
      template_id: null,
    });
    const path = created.headers.get("location") ?? "";
    const headers = { "if-match": created.headers.get("etag") ?? "" };
    const changed = await tenant.secret.patch(path, { config: { ignore_case: true }, weight: 2 }, { headers });
    expect(changed.body).toMatchObject({
      version: 2,
      weight: 2,
      config: { ignore_case: true },
      score: { pass_threshold: 0.9 },
    });
    expect((await tenant.secret.patch(path, { weight: 3 }, { headers })).status).toBe(412);
    const same = await tenant.secret.patch(path, { weight: 2, name: "E" });
    expect(same.body).toEqual(changed.body);
    expect((await tenant.secret.patch(path, {})).body).toEqual(changed.body);
    const refused = await tenant.secret.patch(path, { config: { pattern: "x" } });
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["body", "config", "pattern"]]);
    const { data } = (await tenant.secret.get(EVALUATORS, { query: { type: "levenshtein" } })).body;
    expect(data).toEqual([changed.body]);
    expect((await tenant.secret.delete(path)).status).toBe(204);
    expect((await tenant.secret.get(path)).status).toBe(404);
  });

  it("changes a default threshold with the scale, and requires a new one if it was set by hand", async () => {
    const scaled = (min: number, max: number) => ({ rubric: "r", scale: { min, max } });
    const usual = await create({ type: "llm_judge", config: { rubric: "r" } });
    expect(usual.body.score.pass_threshold).toBe(0.7);
    const at = (made: { headers: Headers }) => made.headers.get("location") ?? "";
    const followed = await tenant.secret.patch(at(usual), { config: scaled(1, 10) });
    expect(followed.body.score.pass_threshold).toBe(7.3);
    const renamed = await tenant.secret.patch(at(usual), { name: "Renamed" });
    expect([renamed.body.version, renamed.body.score.pass_threshold]).toEqual([3, 7.3]);
    const turned = await tenant.secret.patch(at(usual), { score: { direction: "minimize" } });
    expect(turned.body.score.pass_threshold).toBe(3.7);
    const back = await tenant.secret.patch(at(usual), { score: { direction: "maximize" } });
    expect(back.body.score.pass_threshold).toBe(7.3);
    const chosen = await create({ type: "llm_judge", config: { rubric: "r" }, score: { pass_threshold: 0.9 } });
    const asked = await tenant.secret.patch(at(chosen), { config: scaled(0, 10) });
    expect([asked.status, asked.body.detail[0].loc]).toEqual([422, ["body", "score", "pass_threshold"]]);
    expect((await tenant.secret.patch(at(chosen), { config: { rubric: "s" }, name: "N" })).body.score).toMatchObject({
      pass_threshold: 0.9,
    });
    const both = await tenant.secret.patch(at(chosen), { config: scaled(0, 10), score: { pass_threshold: 9 } });
    expect(both.body.score.pass_threshold).toBe(9);
    const part = (evaluator_id: string, config: object) =>
      create({ type: "composite", config: { parts: [{ name: "j", evaluator_id, config }] } });
    const composed = await part(usual.body.evaluator_id, scaled(0, 5));
    expect(composed.body.config.parts[0].score.pass_threshold).toBe(3.5);
    const refused = await part(both.body.evaluator_id, scaled(0, 5));
    expect([refused.status, refused.body.detail[0].loc]).toEqual([
      422,
      ["body", "config", "parts", 0, "score", "pass_threshold"],
    ]);
    const right = await create({ template_id: "composite.right-and-short" });
    expect([right.status, right.body.score.pass_threshold]).toEqual([201, 1]);
    const { data } = (await tenant.secret.get("/v2/evals/evaluator-templates")).body;
    const faithful = data.find((each: { template_id: string }) => each.template_id === "llm_judge.faithfulness");
    expect(faithful.score.pass_threshold).toBeNull();
  });

  it("is created from a template, or as a composite of existing evaluators", async () => {
    const { data } = (await tenant.secret.get("/v2/evals/evaluator-templates")).body;
    expect(data.length).toBeGreaterThan(19);
    const made = await create({ template_id: "contains.mentions-one-of", config: { values: ["so"] } });
    expect(made.body).toMatchObject({
      type: "contains",
      template_id: "contains.mentions-one-of",
      config: { values: ["so"], mode: "all" },
    });
    expect((await create({ template_id: "none" })).status).toBe(404);
    const parts = [
      { name: "so", evaluator_id: made.body.evaluator_id, weight: 3 },
      { name: "short", type: "regex", config: { pattern: "^.{1,5}$" } },
    ];
    const composite = await create({ type: "composite", config: { parts } });
    expect(composite.body.config.parts[0]).toMatchObject({ name: "so", type: "contains", weight: 3 });
    const { evaluator_id } = composite.body;
    expect(await preview({ evaluator_id, sample: { outputs: { "out-0": "so much longer" } } })).toMatchObject({
      value: 0.75,
      passed: true,
    });
    const foreign = await create({ type: "composite", config: { parts: [{ name: "a", evaluator_id: randomUUID() }] } });
    expect(foreign.status).toBe(404);
    const expression = 'nodes.so.passed && inputs["in-0"] == "x"';
    const cel = { type: "composite", config: { parts, expression }, score: { data_type: "boolean" } };
    const sample = { inputs: { "in-0": "x" }, outputs: { "out-0": "so" } };
    expect(await trying(cel, sample)).toMatchObject({ value: true, passed: true });
    expect(await trying(cel, { ...sample, inputs: {} })).toMatchObject({
      value: null,
      error: { code: "expression_failed" },
    });
    expect(await trying(cel, {})).toMatchObject({
      value: null,
      error: { code: "no_output", message: expect.stringContaining("Part so") },
    });
  });

  it("scores a sample, a row, a run, or a run against a row, and stores nothing", async () => {
    const evaluator = { type: "exact_match" };
    const id = await makeDataset(tenant);
    const { body: row } = await tenant.secret.post(rowsPath(id), {
      inputs: { "in-0": "a" },
      expected_outputs: { "out-0": "b" },
    });
    const project_id = await tenant.deploy(echo());
    const { body: run } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "a" }, mode: "sync" });
    expect(await preview({ evaluator, row_id: row.row_id })).toMatchObject({ value: true, passed: true, error: null });
    expect(await preview({ evaluator, row_id: row.row_id, run_id: run.run_id })).toMatchObject({
      value: false,
      passed: false,
    });
    expect((await preview({ evaluator: { type: "latency" }, run_id: run.run_id })).value).toBeGreaterThan(0);
    const ran = { type: "path", config: { ran: ["out-0"] } };
    expect(await preview({ evaluator: ran, run_id: run.run_id })).toMatchObject({ value: true });
    const { body: failed } = await tenant.secret.post("/v2/runs", {
      project_id: await tenant.deploy(failing()),
      inputs: {},
      mode: "sync",
    });
    expect(await preview({ evaluator: { type: "error_free" }, run_id: failed.run_id })).toMatchObject({ value: false });
    const neither = await tenant.secret.post("/v2/evals/evaluator-previews", { evaluator });
    expect(neither.status).toBe(422);
    const unknown = await tenant.secret.post("/v2/evals/evaluator-previews", { evaluator, run_id: randomUUID() });
    expect(unknown.status).toBe(404);
    const scores = await tenant.withDatabase((database) =>
      database.org(tenant.org_id, (db) => db.query("select 1 from scores")),
    );
    expect(scores).toEqual([]);
  });

  it("runs code in the sandbox, and reports what is wrong with it", async () => {
    const code = (source: string, score = {}) =>
      trying({ type: "code", config: { source, timeout_ms: 500 }, score }, { outputs: { "out-0": "abc" } });
    expect(
      await code("function main({ output }) { return { value: output.length, reasoning: 'counted' } }"),
    ).toMatchObject({ value: 3, reasoning: "counted" });
    expect(await code("const main = ({ output }) => output", { data_type: "categorical" })).toMatchObject({
      value: "abc",
      label: "abc",
      passed: null,
    });
    expect((await code("function main() { return 'x' }")).error.code).toBe("unexpected_result");
    expect((await code("function main() { for (;;); }")).error.code).toBe("code_timeout");
    expect((await code("function main() { throw new Error('no') }")).error).toMatchObject({ code: "code_failed" });
  });

  it("calls a webhook, signed with the secret that only the create response shows", async () => {
    let body = "";
    let headers: Readonly<Record<string, string>> = {};
    target.on("/score", (request, response) => {
      ({ headers, body } = request);
      response.end('{"value": 0.5, "label": "meh"}');
    });
    const { body: made } = await create({
      type: "webhook",
      config: { url: `${target.url}/score` },
      score: { pass_threshold: 0.4 },
    });
    expect(made.secret).toMatch(/^whsec_/);
    const { evaluator_id, secret } = made;
    expect((await tenant.secret.get(`${EVALUATORS}/${evaluator_id}`)).body.secret).toBeUndefined();
    const found = await preview({
      evaluator_id,
      sample: { outputs: { "out-0": "abc" }, expected_outputs: { "out-0": "abd" } },
    });
    expect(found).toMatchObject({ value: 0.5, passed: true, label: "meh", error: null });
    expect(new Webhook(secret).verify(body, { ...headers })).toMatchObject({ output: "abc", expected: "abd" });
    const away = await trying({ type: "webhook", config: { url: "http://169.254.169.254/x" } }, {});
    expect(away.error.code).toBe("address_not_allowed");
  });

  it.runIf("dir" in model)("compares meanings with the local embedding model", async () => {
    const near = await trying(
      { type: "similarity" },
      {
        outputs: { "out-0": "The shop opens at nine." },
        expected_outputs: { "out-0": "We open the store at 9 o'clock." },
      },
    );
    const far = await trying(
      { type: "similarity" },
      { outputs: { "out-0": "Whales are mammals." }, expected_outputs: { "out-0": "We open the store at 9 o'clock." } },
    );
    expect(near.error).toBeNull();
    expect(near.value).toBeGreaterThan(far.value + 0.2);
    const none = await trying(
      { type: "similarity", config: { embedding_model: "none" } },
      { outputs: { o: "a" }, expected_outputs: { o: "b" } },
    );
    expect(none.error.code).toBe("embedding_model_not_available");
  });

  it("reports a missing judge model, and shows the prompt it would send", async () => {
    const judge = { type: "llm_judge", config: { rubric: "It greets." } };
    const asked = await trying(judge, { inputs: { "in-0": "x" }, outputs: { "out-0": "{{inputs}} hi" } });
    expect(asked).toMatchObject({ value: null, passed: null, error: { code: "model_not_configured" } });
    expect(asked.rendered_prompt).toContain("{{inputs}} hi");
  });

  it("reports a missing connection of a judge", async () => {
    const connection_id = randomUUID();
    const judge = { type: "llm_judge", config: { rubric: "It greets.", connection_id } };
    for (const evaluator of [judge, { type: "composite", config: { parts: [{ name: "a", ...judge }] } }]) {
      const made = await create(evaluator);
      expect([made.status, made.body.detail]).toEqual([404, "Connection not found."]);
    }
    // A connection that is deleted later.
    const { body } = await tenant.secret.post("/v2/connections", {
      name: "gone",
      provider_id: "openai_compatible",
      scheme: "none",
      credential: { base_url: target.url },
    });
    const { body: made } = await create({ ...judge, config: { rubric: "r", connection_id: body.connection_id } });
    await tenant.secret.delete(`/v2/connections/${body.connection_id}`);
    const asked = await preview({ evaluator_id: made.evaluator_id, sample: { outputs: { o: "x" } } });
    expect(asked.error).toMatchObject({ code: "connection_not_found" });
  });

  it("does not score failed runs by code, webhook or composite unless configured to", async () => {
    const failed = await tenant.secret.post("/v2/runs", {
      project_id: await tenant.deploy(failing()),
      inputs: {},
      mode: "sync",
    });
    const { run_id } = failed.body;
    target.on("/low", (_, response) => void response.end('{"value": 0}'));
    const code = { type: "code", config: { source: "function main({ error }) { return error ? 0 : 1 }" } };
    const webhook = { type: "webhook", config: { url: `${target.url}/low` } };
    const composite = { type: "composite", config: { parts: [{ name: "a", ...code }] } };
    for (const evaluator of [code, webhook, composite, { type: "exact_match", target: { output: "first" } }])
      expect(await preview({ evaluator, run_id })).toMatchObject({
        value: null,
        passed: null,
        error: { code: "no_output" },
      });
    expect(target.hits("/low")).toBe(0);
    const wanted = { ...code, config: { ...code.config, failed_runs: true } };
    expect(await preview({ evaluator: wanted, run_id })).toMatchObject({ value: 0, error: null });
    const asked = { ...webhook, config: { ...webhook.config, failed_runs: true } };
    expect(await preview({ evaluator: asked, run_id })).toMatchObject({ value: 0, error: null });
  });

  it("scores outputs that were produced elsewhere, and summarises the scores", async () => {
    const contains = (await create({ type: "contains", name: "says" })).body.evaluator_id;
    const quick = (await create({ type: "latency", score: { pass_threshold: 100 } })).body.evaluator_id;
    const source =
      "function main({ passages, usage, citations, output }) { return passages.length + usage.total_tokens + citations.length }";
    const told = (await create({ type: "code", config: { source } })).body.evaluator_id;
    const dataset_id = await makeDataset(tenant);
    const row = { inputs: { q: "When?" }, expected_outputs: { a: "ten" } };
    const { row_id } = (await tenant.secret.post(rowsPath(dataset_id), row)).body;
    const score = (body: object) => tenant.secret.post("/v2/evals/scorings", body);
    const samples = [
      {
        external_id: "a-1",
        outputs: { a: "At nine." },
        expected_outputs: { a: "nine" },
        latency_ms: 90,
        passages: [{ text: "We open at nine." }],
        citations: [{ resource_id: "r", resource_path: "p" }],
        usage: { total_tokens: 5 },
      },
      { row_id, outputs: { a: "At nine." }, latency_ms: 200, usage: { total_tokens: 1 } },
      { outputs: { a: "nine" }, expected_outputs: { a: "nine" }, error: { code: "timeout", message: "Too late" } },
    ];
    const { status, body } = await score({ evaluator_ids: [contains, quick, told], samples });
    expect(status).toBe(200);
    expect(body.data.map((each: { external_id: string; row_id: string }) => [each.external_id, each.row_id])).toEqual([
      ["a-1", null],
      [null, row_id],
      [null, null],
    ]);
    type Shown = { scores: Array<{ value: unknown; passed: boolean | null; error: { code: string } | null }> };
    expect(body.data.map(({ scores }: Shown) => scores.map(({ value, error }) => error?.code ?? value))).toEqual([
      [true, 90, 7],
      [false, 200, 1],
      ["no_output", "no_latency", "no_output"],
    ]);
    expect(body.per_evaluator).toMatchObject([
      { name: "says", n: 2, mean: 0.5, pass_rate: 0.5, passed: 1, expected: 3, unscored: 1 },
      { n: 2, mean: 145, pass_rate: 0.5, unscored: 1 },
      { n: 2, mean: 4, pass_rate: null, passed: 0, unscored: 1 },
    ]);
    const codes = [
      await score({ evaluator_ids: [randomUUID()], samples }),
      await score({ evaluator_ids: [told], samples: [{ row_id: randomUUID() }] }),
      await score({ evaluator_ids: [told], samples: [] }),
      await tenant.public.post("/v2/evals/scorings", { evaluator_ids: [told], samples }),
      await (await openTenant()).secret.post("/v2/evals/scorings", { evaluator_ids: [told], samples }),
    ].map((answer) => answer.status);
    expect(codes).toEqual([404, 404, 422, 403, 404]);
  });

  it("gives code, webhooks and judges the whole run: nodes, passages, citations, usage, errors", async () => {
    const { body: base } = await tenant.secret.post("/v2/knowledge-bases", {
      name: "hours",
      indexing_params: { embedding_params: { embedding_model: null } },
    });
    const resources = `/v2/knowledge-bases/${base.knowledge_base_id}/resources`;
    const { body: made } = await tenant.secret.post(resources, { text: "We open at nine.", name: "hours.txt" });
    const status = async () => (await tenant.secret.get(`${resources}/${made.resource_id}`)).body.status;
    await expect.poll(status).toBe("indexed");
    const project_id = await tenant.deploy(
      flow({
        nodes: [
          node("in-0", "input"),
          node("kb-0", "knowledge", {
            knowledge_base_id: base.knowledge_base_id,
            query: "{{in-0}}",
            query_strategy: "keyword",
          }),
          { ...node("guard-0", "guard", { check: "false", message: "Never" }), on_error: "continue" },
          node("out-0", "output", { value: "{{kb-0}}" }),
        ],
        edges: edges("in-0 > kb-0 > out-0", "in-0 > guard-0 > out-0"),
      }),
    );
    const { body: run } = await tenant.secret.post("/v2/runs", {
      project_id,
      inputs: { "in-0": "open" },
      mode: "sync",
    });
    expect(run.state, JSON.stringify(run)).toBe("COMPLETED");
    let sent = {};
    target.on("/told", (request, response) => {
      sent = JSON.parse(request.body);
      response.end('{"value": 1}');
    });
    const webhook = { type: "webhook", config: { url: `${target.url}/told` } };
    expect(await preview({ evaluator: webhook, run_id: run.run_id })).toMatchObject({ value: 1 });
    const output = expect.stringContaining("We open at nine.");
    expect(sent).toMatchObject({
      inputs: { "in-0": "open" },
      output,
      outputs: { "out-0": output },
      expected_outputs: {},
      nodes: {
        "kb-0": { type: "knowledge", state: "COMPLETED", output: { text: output }, truncated: false, error: null },
        "guard-0": { state: "FAILED", error: { code: "guard_failed", message: "Never" } },
      },
      passages: [{ path: "kb-0", resource_path: "hours.txt", text: "We open at nine." }],
      citations: [{ resource_path: "hours.txt" }],
      usage: run.usage,
      latency_ms: expect.any(Number),
      error: null,
    });
    const source =
      "function main({ nodes, passages, citations }) { return nodes['kb-0'].output.results.length + passages.length + citations.length }";
    const code = { type: "code", config: { source } };
    expect(await preview({ evaluator: code, run_id: run.run_id })).toMatchObject({ value: 3, error: null });
    const { data } = (await tenant.secret.get("/v2/evals/evaluator-templates")).body;
    const grounded = data.find((each: { template_id: string }) => each.template_id === "llm_judge.groundedness");
    const judged = await preview({ evaluator: { type: "llm_judge", config: grounded.config }, run_id: run.run_id });
    expect(judged.rendered_prompt).toMatch(
      /<passages-(\w{16})>\s+\[1\] hours.txt\s+We open at nine\.\s+<\/passages-\1>/,
    );
  });

  it("calls a judge, counts its scores and records its cost", async () => {
    const server = await startModelStub();
    try {
      const { body: connection } = await tenant.secret.post("/v2/connections", {
        name: "judges",
        provider_id: "openai_compatible",
        scheme: "none",
        credential: { base_url: `${server.url}/v1` },
      });
      const { connection_id } = connection;
      const judge = { type: "llm_judge", config: { rubric: "It greets.", model: "tiny", connection_id, samples: 3 } };
      server.next(...["0.2", "0.9", "0.4"].map((score) => ({ text: [`{"reasoning": "So.", "score": ${score}}`] })));
      const judged = await trying(judge, { outputs: { "out-0": "hi" } });
      expect(judged).toMatchObject({ value: 0.4, error: null, usage: { total_tokens: expect.any(Number) } });
      expect(server.calls.filter(({ path }) => path.endsWith("/chat/completions"))).toHaveLength(3);
      const { body: usage } = await tenant.secret.get("/v2/usage", { query: { group_by: "project" } });
      expect(usage.data).toMatchObject([{ key: "judges", calls: 3 }]);
    } finally {
      await server.close();
    }
  });

  it("regex-dos, evaluator-work: limits what one evaluator costs, and keeps the scores of the others", async () => {
    const long = "a".repeat(30_000);
    const schema = { type: "array", uniqueItems: true };
    const items = Array.from({ length: 20_000 }, (_, i) => ({ i: { i: [i] } }));
    const config = { parts: [{ name: "a", type: "json_schema", config: { schema } }] };
    const costly = await trying({ type: "composite", config }, { outputs: { "out-0": items } });
    expect(costly.error.code).toBe("evaluator_too_costly");
    const regex = { type: "regex", config: { pattern: "(a|aa)+$" } };
    expect(await trying(regex, { outputs: { "out-0": `${long}!` } })).toMatchObject({ value: false });
  });
});
