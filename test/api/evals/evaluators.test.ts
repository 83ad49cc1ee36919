import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Webhook } from "standardwebhooks";
import { findModel } from "../../../src/platform/embeddings/model-files.ts";
import { startModelStub } from "../../../src/dev/model-stub.ts";
import { startHttpTarget } from "../../support/http-target.ts";
import type { HttpTarget } from "../../support/http-target.ts";
import { failing, echo, openTenant } from "../tenant.ts";
import type { ApiTenant } from "../tenant.ts";
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

describe("evaluators", () => {
  it("is created with its type's defaults, listed, changed into another version against its ETag, deleted", async () => {
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
    const refused = await tenant.secret.patch(path, { config: { pattern: "x" } });
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["body", "config"]]);
    const { data } = (await tenant.secret.get(EVALUATORS, { query: { type: "levenshtein" } })).body;
    expect(data).toEqual([changed.body]);
    expect((await tenant.secret.delete(path)).status).toBe(204);
    expect((await tenant.secret.get(path)).status).toBe(404);
  });

  it("is made of a template, and a composite of evaluators that are there", async () => {
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

  it("scores a sample, a row, a run, or a run by what a row expects of it; nothing is stored", async () => {
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

  it("runs code in the sandbox, and says what is wrong with it", async () => {
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

  it("asks a webhook, signed with the secret that is shown once", async () => {
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

  it("tells that there is no model for a judge, and what it would be asked", async () => {
    const judge = { type: "llm_judge", config: { rubric: "It greets." } };
    const asked = await trying(judge, { inputs: { "in-0": "x" }, outputs: { "out-0": "{{inputs}} hi" } });
    expect(asked).toMatchObject({ value: null, passed: null, error: { code: "model_not_configured" } });
    expect(asked.rendered_prompt).toContain("{{inputs}} hi");
  });

  it("asks a judge, counts what it says and writes down what it cost", async () => {
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

  it("regex-dos, evaluator-work: what one evaluator costs is bounded, and the others' scores stay", async () => {
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
