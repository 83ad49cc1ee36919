import { KEY_QUOTAS } from "../../../src/domain/accounts/quotas.ts";
import { expect } from "vitest";
import { echo, type ApiTenant } from "../tenant.ts";
import { publish } from "../pages/published.ts";
import { makeDataset, makeEvaluator, makeExperiment, rowsPath, shouting } from "../evals/evals.ts";

/** A request that changes some fields, and the fields of the response that prove it if they differ from the request. */
export interface Change {
  readonly send: Readonly<Record<string, unknown>>;
  readonly shown?: object;
}

/** How a PATCH operation is tested. */
export interface Changed {
  /** Creates a resource; returns its path. */
  readonly make: (tenant: ApiTenant) => Promise<string>;
  /** Changes of different fields that several callers make at the same time; each round uses other values. */
  readonly changes: (round: number) => readonly Change[];
}

async function made(tenant: ApiTenant, path: string, body: unknown, id: string, status = 201): Promise<string> {
  const answer = await tenant.secret.post(path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(status);
  return `${path}/${answer.body[id]}`;
}

const changing =
  (...members: ReadonlyArray<(round: number) => Record<string, unknown>>) =>
  (round: number): Change[] =>
    members.map((member) => ({ send: member(round) }));
const name = (round: number) => ({ name: `N ${round}` });
const description = (round: number) => ({ description: `D ${round}` });
const isEven = (round: number): boolean => round % 2 === 0;

const ENVELOPE = { url: "https://example.com/hook", events: ["run.*"] };
const NO_EMBEDDINGS = { embedding_params: { embedding_model: null } };
const knowledgeBase = (tenant: ApiTenant): Promise<string> =>
  made(
    tenant,
    "/v2/knowledge-bases",
    {
      name: "K",
      indexing_params: NO_EMBEDDINGS,
      user_metadata_schema: { properties: { year: { type: "number" }, team: { type: "string" } } },
    },
    "knowledge_base_id",
  );
const modelConnection = (tenant: ApiTenant): Promise<string> =>
  // No server listens at this address.
  made(
    tenant,
    "/v2/connections",
    { name: "C", provider_id: "openai_compatible", scheme: "none", credential: { base_url: "http://127.0.0.1:9/v1" } },
    "connection_id",
  );
const loudEvaluator = (tenant: ApiTenant): Promise<string> =>
  makeEvaluator(tenant, { name: "loud", type: "contains", config: { values: ["GOOD"] } });
async function monitor(tenant: ApiTenant): Promise<string> {
  const wanted = {
    name: "M",
    project_id: await tenant.deploy(shouting()),
    evaluator_ids: [await loudEvaluator(tenant)],
  };
  return await made(tenant, "/v2/evals/monitors", wanted, "monitor_id");
}

function settings(): Changed {
  const connections: string[] = [];
  return {
    async make(tenant) {
      for (const path of [await modelConnection(tenant), await modelConnection(tenant)])
        connections.push(path.split("/").at(-1) ?? "");
      return "/v2/settings";
    },
    changes: changing(
      (round) => ({ default_model: `model-${round}` }),
      (round) => ({ default_connection_id: connections.at(isEven(round) ? -1 : -2) }),
    ),
  };
}

/** Every operation that changes a resource, by operation ID. */
export const CHANGES: Readonly<Record<string, readonly Changed[]>> = {
  changeProject: [
    {
      make: (tenant) => made(tenant, "/v2/projects", { name: "P" }, "project_id"),
      changes: changing(name, description),
    },
  ],
  changeKnowledgeBase: [
    {
      make: knowledgeBase,
      changes: changing(name, description, (round) => ({ sync: { schedule_cron: `${round} 3 * * *` } })),
    },
    {
      // Changes different fields of one nested object.
      make: knowledgeBase,
      changes: changing(
        (round) => ({ indexing_params: { chunker_params: { chunk_size: 800 + round } } }),
        (round) => ({ indexing_params: { chunker_params: { chunker_type: isEven(round) ? "naive" : "sentence" } } }),
        (round) => ({ indexing_params: { chunker_params: { chunk_overlap: 100 + round } } }),
      ),
    },
  ],
  changeKnowledgeBaseResource: [
    {
      async make(tenant) {
        const path = `${await knowledgeBase(tenant)}/resources`;
        return await made(tenant, path, { text: "It opens at nine.", name: "hours.txt" }, "resource_id", 202);
      },
      changes: (round) => [
        { send: { name: `hours-${round}.txt` }, shown: { resource_path: `hours-${round}.txt` } },
        { send: { user_metadata: { year: round } } },
        { send: { user_metadata: { team: `T ${round}` } } },
      ],
    },
  ],
  changeTrigger: [
    {
      async make(tenant) {
        const wanted = { provider_id: "millrace", trigger_id: "schedule", config: { cron: "0 9 * * *" } };
        const project_id = await tenant.deploy(echo());
        return await made(tenant, "/v2/triggers", { ...wanted, project_id, inputs: { "in-0": "'a'" } }, "id");
      },
      changes: changing(
        (round) => ({ config: { cron: `${round} 9 * * *` } }),
        (round) => ({ inputs: { "in-0": `'${round}'` } }),
        (round) => ({ enabled: isEven(round) }),
      ),
    },
  ],
  changeEnvironment: [
    {
      make: async (tenant) => `/v2/projects/${await tenant.deploy(echo())}/environments/staging`,
      changes: changing((round) => ({ requires_review: isEven(round) })),
    },
  ],
  changePage: [
    {
      make: async (tenant) => (await publish(tenant, echo())).path,
      changes: changing(
        (round) => ({ look: { welcome: `W ${round}` } }),
        (round) => ({ rate_limits: { visitor: round } }),
        (round) => ({ origins: [`https://${round}.example`] }),
      ),
    },
  ],
  changeSkill: [
    {
      async make(tenant) {
        const skill = { name: `s-${Date.now()}`, description: "Test.", instructions: "# 0" };
        const path = await made(tenant, "/v2/skills", skill, "skill_id");
        for (const instructions of ["# 1", "# 2"])
          await made(tenant, `${path}/versions`, { ...skill, instructions }, "version");
        return path;
      },
      // The resource has only one field.
      changes: changing((round) => ({ default_version: (round % 3) + 1 })),
    },
  ],
  changeDataset: [
    {
      make: async (tenant) => `/v2/evals/datasets/${await makeDataset(tenant)}`,
      changes: changing(
        name,
        description,
        (round) => ({ metadata: { round } }),
        (round) => ({ input_schema: { type: "object", minProperties: round } }),
      ),
    },
  ],
  changeDatasetRow: [
    {
      async make(tenant) {
        const input_schema = { type: "object", required: ["in-0"] };
        return await made(
          tenant,
          rowsPath(await makeDataset(tenant, { input_schema })),
          { inputs: { "in-0": "a" } },
          "row_id",
        );
      },
      changes: changing(
        (round) => ({ inputs: { "in-0": `${round}` } }),
        (round) => ({ expected_outputs: { "out-0": `${round}` } }),
        (round) => ({ tags: [`${round}`] }),
        (round) => ({ split: `S ${round}` }),
      ),
    },
  ],
  changeEvaluator: [
    {
      make: async (tenant) => `/v2/evals/evaluators/${await loudEvaluator(tenant)}`,
      changes: changing(
        name,
        description,
        (round) => ({ weight: round }),
        (round) => ({ config: { values: [`V ${round}`] } }),
      ),
    },
    {
      // The API compiles a schema in another process, so the check takes a while.
      make: async (tenant) =>
        `/v2/evals/evaluators/${await makeEvaluator(tenant, { type: "json_schema", config: { schema: {} } })}`,
      changes: changing(
        (round) => ({ config: { schema: { type: "object", minProperties: round } } }),
        (round) => ({ negate: isEven(round) }),
      ),
    },
  ],
  changeExperiment: [
    {
      async make(tenant) {
        const wanted = { project_id: await tenant.deploy(shouting()), dataset_id: await makeDataset(tenant) };
        return `/v2/evals/experiments/${await makeExperiment(tenant, wanted)}`;
      },
      changes: changing(
        description,
        (round) => ({ repetitions: (round % 5) + 1 }),
        (round) => ({ max_concurrency: round }),
        (round) => ({ budget: { max_cost_usd: round } }),
      ),
    },
  ],
  changeMonitor: [
    {
      make: monitor,
      changes: changing(
        name,
        (round) => ({ enabled: isEven(round) }),
        (round) => ({ sampling_rate: round / 100 }),
        (round) => ({ max_per_hour: round }),
      ),
    },
  ],
  changeMonitorAlert: [
    {
      make: async (tenant) => `${await monitor(tenant)}/alert`,
      changes: changing(
        (round) => ({ renotify_seconds: 3600 + round }),
        (round) => ({ combine: isEven(round) ? "any" : "all" }),
        (round) => ({ no_data: isEven(round) ? "ok" : "keep" }),
      ),
    },
  ],
  changeScore: [
    {
      async make(tenant) {
        const project_id = await tenant.deploy(echo());
        const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "a" } });
        const score = { name: "helpful", data_type: "numeric", value: 0.5 };
        const { body: given } = await tenant.secret.post(`/v2/evals/runs/${body.run_id}/scores`, score);
        return `/v2/evals/scores/${given.score_id}`;
      },
      changes: changing(
        (round) => ({ value: round }),
        (round) => ({ comment: `C ${round}` }),
        (round) => ({ metadata: { round } }),
      ),
    },
  ],
  changeWebhookSubscription: [
    {
      make: (tenant) => made(tenant, "/v2/webhooks/subscriptions", ENVELOPE, "subscription_id"),
      changes: changing(
        description,
        (round) => ({ url: `https://example.com/hook/${round}` }),
        (round) => ({ events: isEven(round) ? ["*"] : ["run.*"] }),
        (round) => ({ status: isEven(round) ? "disabled" : "enabled" }),
      ),
    },
  ],
  changeConnection: [
    {
      make: modelConnection,
      changes: (round) => [
        { send: { name: `N ${round}` } },
        { send: { disabled: isEven(round) }, shown: isEven(round) ? { status: "disabled" } : {} },
      ],
    },
  ],
  changeSettings: [settings()],
  changeRetention: [
    {
      make: async () => "/v2/retention",
      changes: changing((round) => ({ run_days: 100 + round })),
    },
  ],
  changeProjectRetention: [
    {
      make: async (tenant) => `${await made(tenant, "/v2/projects", { name: "P" }, "project_id")}/retention`,
      changes: changing((round) => ({ run_days: 1 + round })),
    },
  ],
  changeKeyQuotas: [
    {
      async make(tenant) {
        const { body } = await tenant.secret.post("/v2/api-keys", { name: "K", kind: "secret" });
        return `/v2/api-keys/${body.key_id}/quotas`;
      },
      changes: (round) =>
        KEY_QUOTAS.map((quota) => ({
          send: { [quota]: 1 + round },
          shown: { quotas: expect.arrayContaining([expect.objectContaining({ quota, limit: 1 + round })]) },
        })),
    },
  ],
  changeUser: [
    {
      async make(tenant) {
        await tenant.user("viewer");
        const { body } = await tenant.secret.get("/v2/users", { query: { page_size: 1 } });
        return `/v2/users/${body.data[0].user_id}`;
      },
      changes: changing(
        (round) => ({ role: isEven(round) ? "viewer" : "editor" }),
        (round) => ({ disabled: isEven(round) }),
      ),
    },
  ],
};
