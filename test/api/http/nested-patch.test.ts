import { beforeAll, describe, expect, it } from "vitest";
import { flow } from "../../engine/support.ts";
import { makeEvaluator } from "../evals/evals.ts";
import { publish } from "../pages/published.ts";
import { echo, openTenant, type ApiTenant } from "../tenant.ts";
import { CHANGES } from "./changes.ts";
import { document } from "./conformance.ts";

/** How a PATCH of a nested object is tested; all objects are values of that field in requests and responses. */
interface Nested {
  /** Creates another resource than CHANGES does; returns its path. */
  readonly make?: (tenant: ApiTenant) => Promise<string>;
  readonly first: object;
  readonly change: object;
  /** The expected value after the change; a field that is not listed must be absent. */
  readonly merged: object;
  /** Fields to clear, as null. */
  readonly remove: object;
  /** The expected value after clearing, or the location of the error. */
  readonly left: object | null | { readonly refusedAt: readonly string[] };
  readonly shown?: (body: Record<string, unknown>) => unknown;
}

const values = (member: object = {}): Nested => ({
  first: { a: 1, b: { c: null }, ...member },
  change: { a: 2, d: [null] },
  merged: { a: 2, b: { c: null }, d: [null], ...member },
  remove: { b: null, never: null },
  left: { a: 2, d: [null], ...member },
});
const metadataSchema: Nested = {
  first: { properties: { year: { type: "number", description: "Y", order: 2 }, team: { type: "string" } } },
  change: { properties: { year: { description: "The year" }, pages: { type: "number" } } },
  merged: {
    properties: {
      year: { type: "number", description: "The year", order: 2 },
      team: { type: "string", description: "", order: 0 },
      pages: { type: "number", description: "", order: 0 },
    },
  },
  remove: { properties: { team: null, pages: null, year: { order: null } } },
  left: { properties: { year: { type: "number", description: "The year", order: 0 } } },
};
let project_id: string;

const NESTED: Readonly<Record<string, Nested>> = {
  "changeKnowledgeBase.sync": {
    first: { schedule_cron: "0 3 * * *" },
    change: {},
    merged: { schedule_cron: "0 3 * * *" },
    remove: { schedule_cron: null },
    left: { schedule_cron: null },
    shown: ({ sync }) => ({ schedule_cron: (sync as Record<string, unknown>)["schedule_cron"] }),
  },
  "changeKnowledgeBase.indexing_params": {
    first: {
      embedding_params: { embedding_model: null },
      chunker_params: { chunk_size: 800, chunk_overlap: 100, chunker_type: "naive" },
    },
    change: { embedding_params: {}, chunker_params: { chunk_size: 900 } },
    merged: {
      ocr: false,
      embedding_params: { embedding_model: null },
      chunker_params: { chunk_size: 900, chunk_overlap: 100, chunker_type: "naive" },
    },
    remove: { chunker_params: { chunk_size: null } },
    left: { refusedAt: ["chunker_params", "chunk_size"] },
  },
  "changeKnowledgeBase.user_metadata_schema": metadataSchema,
  "changeKnowledgeBase.dataloader_metadata_schema": metadataSchema,
  "changeKnowledgeBaseResource.user_metadata": {
    first: { year: 2026, team: "support" },
    change: { year: 2027 },
    merged: { year: 2027, team: "support" },
    remove: { team: null },
    left: { year: 2027 },
  },
  "changeTrigger.config": {
    first: { cron: "0 9 * * *", time_zone: "Europe/Berlin", overlap: "buffer_one", jitter_seconds: 5 },
    change: { cron: "5 9 * * *", catchup_window_seconds: 60 },
    merged: {
      cron: "5 9 * * *",
      time_zone: "Europe/Berlin",
      overlap: "buffer_one",
      jitter_seconds: 5,
      catchup_window_seconds: 60,
    },
    remove: { time_zone: null, cron: null },
    left: { refusedAt: ["cron"] },
  },
  "changeTrigger.inputs": {
    async make(tenant) {
      const optional = (id: string) => ({ id, type: "input" as const, config: { required: false } });
      const deployed = await tenant.deploy(
        flow([optional("in-0"), optional("in-1"), { id: "out-0", type: "output", config: {} }], ["in-0>out-0"]),
      );
      const wanted = { project_id: deployed, provider_id: "millrace", trigger_id: "webhook" };
      const { body } = await tenant.secret.post("/v2/triggers", wanted);
      return `/v2/triggers/${body.id}`;
    },
    first: { "in-0": "'a'", "in-1": "'b'" },
    change: { "in-0": "'c'" },
    merged: { "in-0": "'c'", "in-1": "'b'" },
    remove: { "in-1": null },
    left: { "in-0": "'c'" },
  },
  "changeDataset.metadata": values(),
  "changeDataset.input_schema": {
    first: { type: "object", required: ["in-0"], properties: { "in-0": { const: null } } },
    change: { minProperties: 1, properties: { "in-0": { enum: [null] } } },
    merged: { type: "object", required: ["in-0"], minProperties: 1, properties: { "in-0": { enum: [null] } } },
    remove: { required: null, properties: null },
    left: { type: "object", minProperties: 1 },
  },
  "changeDatasetRow.inputs": values({ "in-0": "a" }),
  "changeDatasetRow.expected_outputs": values(),
  "changeDatasetRow.metadata": values(),
  "changeEvaluator.config": {
    make: async (tenant) => {
      const config = { rubric: "R", scale: { min: 1, max: 10 }, samples: 3 };
      return `/v2/evals/evaluators/${await makeEvaluator(tenant, { type: "llm_judge", config })}`;
    },
    first: { prompt: "P" },
    change: { rubric: "S", scale: { max: 5 } },
    merged: { rubric: "S", scale: { min: 1, max: 5 }, samples: 3, prompt: "P", temperature: 0, max_tokens: 800 },
    remove: { scale: null, samples: null },
    left: { rubric: "S", samples: 1, prompt: "P", temperature: 0, max_tokens: 800 },
  },
  "changeEvaluator.target": {
    first: { output: "out-0", json_path: "$.a" },
    change: { json_path: "$.b" },
    merged: { output: "out-0", json_path: "$.b" },
    remove: { output: null },
    left: { output: null, json_path: "$.b" },
  },
  "changeEvaluator.score": {
    make: async (tenant) => `/v2/evals/evaluators/${await makeEvaluator(tenant, { type: "latency" })}`,
    first: { direction: "maximize", pass_threshold: 2000 },
    change: { pass_threshold: 1000 },
    merged: { data_type: "numeric", direction: "maximize", pass_threshold: 1000 },
    remove: { direction: null },
    left: { data_type: "numeric", direction: "minimize", pass_threshold: 1000 },
  },
  "changeExperiment.budget": {
    first: { max_cost_usd: 5 },
    change: {},
    merged: { max_cost_usd: 5 },
    remove: { max_cost_usd: null },
    left: null,
  },
  "changeMonitor.filter": {
    first: { states: ["FAILED"], run_types: ["api"], tags: ["t"], metadata: { a: "1", b: 2 } },
    change: { tags: ["u"], metadata: { a: "2" } },
    merged: { states: ["FAILED"], run_types: ["api"], tags: ["u"], metadata: { a: "2", b: 2 } },
    remove: { tags: null, states: null, metadata: { b: null } },
    left: { states: ["COMPLETED", "FAILED"], run_types: ["api"], metadata: { a: "2" } },
  },
  "changePage.look": {
    make: async (tenant) => (await publish(tenant, echo())).path,
    first: { name: "Ask us", colour: "#1f6feb", welcome: "Grüezi" },
    change: { colour: "#0a7d33" },
    merged: { name: "Ask us", colour: "#0a7d33", welcome: "Grüezi" },
    remove: { colour: null, welcome: null },
    left: { name: "Ask us", colour: null, welcome: null },
  },
  "changePage.rate_limits": {
    make: async (tenant) => (await publish(tenant, echo())).path,
    first: { page: 50, visitor: 5, network: 20 },
    change: { visitor: 6 },
    merged: { page: 50, visitor: 6, network: 20 },
    remove: { page: null },
    left: { page: 60, visitor: 6, network: 20 },
  },
  "changeScore.metadata": values(),
  "changeWebhookSubscription.filter": {
    first: {
      get project_id() {
        return [project_id];
      },
    },
    change: {},
    merged: {
      get project_id() {
        return [project_id];
      },
    },
    remove: { project_id: null },
    left: null,
  },
  "changeWebhookSubscription.headers": {
    first: { "X-One": "1", "x-two": "2" },
    change: { "x-ONE": "3", "x-three": "3" },
    merged: { "x-one": "[redacted]", "x-two": "[redacted]", "x-three": "[redacted]" },
    remove: { "X-Two": null },
    left: { "x-one": "[redacted]", "x-three": "[redacted]" },
  },
  "changeConnection.credential": {
    async make(tenant) {
      const credential = { username: "u", password: "p", base_url: "http://127.0.0.1:9/one" };
      const wanted = { name: "C", provider_id: "http", scheme: "basic", credential };
      const { body } = await tenant.secret.post("/v2/connections", wanted);
      return `/v2/connections/${body.connection_id}`;
    },
    first: {},
    change: { password: "q" },
    // The credential is never returned, so the test below checks it by its use.
    merged: ["basic"],
    remove: { password: null },
    left: { refusedAt: ["password"] },
    shown: ({ scheme }) => [scheme],
  },
};

type Schema = Readonly<Record<string, unknown>> & { readonly $ref?: string };
function resolved(schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const steps = schema.$ref.split("/").slice(1);
  return resolved(steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document) as Schema);
}
function takesObject(given: Schema): boolean {
  const schema = resolved(given);
  const others = [schema["anyOf"], schema["oneOf"], schema["allOf"]].flatMap((list) => (list ?? []) as Schema[]);
  return schema["type"] === "object" || others.some(takesObject);
}
const documented = Object.values(document.paths).flatMap(({ patch }) => {
  const operation = patch as unknown as {
    operationId: string;
    requestBody?: { content: Record<string, { schema: Schema }> };
  };
  const schema = operation?.requestBody?.content["application/json"]?.schema;
  const members = schema === undefined ? {} : (resolved(schema)["properties"] as Record<string, Schema>);
  return Object.keys(members)
    .filter((name) => takesObject(members[name] ?? {}))
    .map((name) => `${operation.operationId}.${name}`);
});

let tenant: ApiTenant;
beforeAll(async () => {
  tenant = await openTenant();
  project_id = await tenant.deploy(
    flow(
      [
        { id: "in-0", type: "input" },
        { id: "out-0", type: "output" },
      ],
      ["in-0>out-0"],
    ),
  );
});

describe("a PATCH of a nested object", () => {
  it("is tested for every nested object in the document", () => {
    expect(documented.length).toBeGreaterThan(10);
    expect(Object.keys(NESTED).toSorted()).toEqual(documented.toSorted());
  });

  it.each(Object.entries(NESTED))("merges its fields, and null deletes one: %s", async (name, nested) => {
    const [operation = "", member = ""] = name.split(".");
    const { first, change, merged, remove, left, make = CHANGES[operation]?.[0]?.make } = nested;
    const { shown = (body: Record<string, unknown>) => body[member] } = nested;
    const path = (await make?.(tenant)) ?? "";
    const patch = (value: object | null) => tenant.secret.patch(path, { [member]: value });
    const step = async (value: object | null) => {
      const answer = await patch(value);
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      expect(shown((await tenant.secret.get(path)).body)).toEqual(shown(answer.body));
      return shown(answer.body);
    };
    await step(first);
    expect(await step(change)).toEqual(merged);
    expect(await step({})).toEqual(merged);
    if (left !== null && "refusedAt" in left) {
      const refused = await patch(remove);
      expect([refused.status, refused.body.detail?.map(({ loc }: { loc: unknown }) => loc)]).toEqual([
        422,
        [["body", member, ...left.refusedAt]],
      ]);
      expect(shown((await tenant.secret.get(path)).body)).toEqual(merged);
    } else expect(await step(remove)).toEqual(left);
    // Invalid nested values are rejected as on creation, and nothing changes.
    expect((await tenant.secret.patch(path, { [member]: "text" })).status).toBe(422);
  });
});

describe("a partial change of a credential", () => {
  const rendered = async (connection_id: string): Promise<string | undefined> => {
    const { body } = await tenant.secret.post("/v2/providers/http/actions/request/run", {
      inputs: { method: "GET", url: "/x" },
      connection_id,
      dry_run: true,
    });
    return body.rendered_request?.url;
  };

  it("keeps the other fields, and sends the secret to a new URL only if it is given again", async () => {
    const path = (await NESTED["changeConnection.credential"]?.make?.(tenant)) ?? "";
    const id = path.split("/").at(-1) ?? "";
    const send = (credential: object, more: object = {}) => tenant.secret.patch(path, { credential, ...more });
    expect((await send({ password: "q" })).status).toBe(200);
    expect(await rendered(id)).toBe("http://127.0.0.1:9/one/x");
    const moved = await send({ base_url: "http://127.0.0.1:9/two" });
    expect([moved.status, moved.body.detail[0].loc]).toEqual([422, ["body", "credential", "password"]]);
    expect((await send({ base_url: null })).status).toBe(422);
    expect(await rendered(id)).toBe("http://127.0.0.1:9/one/x");
    expect((await send({ base_url: "http://127.0.0.1:9/two", password: "q" })).status).toBe(200);
    expect(await rendered(id)).toBe("http://127.0.0.1:9/two/x");
    // Another scheme keeps no fields of the earlier credential.
    const other = await send({ token: "t" }, { scheme: "bearer" });
    expect([other.status, other.body.detail[0].loc]).toEqual([422, ["body", "credential", "base_url"]]);
  });
});
