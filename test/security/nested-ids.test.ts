import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { asking, echo, openTenant, type ApiTenant } from "../api/tenant.ts";
import { edges, flow, node } from "../support/flows.ts";

// cross-tenant.test.ts tests IDs in paths, queries and top-level body fields; these are nested deeper.

/** The victim's resources, by the name of their ID. */
interface Ids {
  readonly project: string;
  readonly base: string;
  readonly connection: string;
  readonly evaluator: string;
  readonly run: string;
}

/** The stranger's resources. */
interface Mine {
  readonly project: string;
  readonly dataset: string;
  readonly monitor: string;
}

let victim: ApiTenant;
let stranger: ApiTenant;
let theirs: Ids;
let mine: Mine;

async function made(answer: Promise<{ status: number; body: Record<string, string> }>, id: string): Promise<string> {
  const { status, body } = await answer;
  expect(status, JSON.stringify(body)).toBe(201);
  return body[id] ?? "";
}

beforeAll(async () => {
  victim = await openTenant();
  stranger = await openTenant();
  const bearer = { base_url: "https://api.example.test", token: "theirs" };
  const connection = { name: "theirs", provider_id: "http", scheme: "bearer", credential: bearer };
  const latency = { name: "theirs", type: "latency" };
  const project = await victim.deploy(asking());
  theirs = {
    project,
    base: await made(victim.secret.post("/v2/knowledge-bases", { name: "theirs" }), "knowledge_base_id"),
    connection: await made(victim.secret.post("/v2/connections", connection), "connection_id"),
    evaluator: await made(victim.secret.post("/v2/evals/evaluators", latency), "evaluator_id"),
    run: await made(victim.secret.post("/v2/runs", { project_id: project, inputs: {} }), "run_id"),
  };
  await victim.until(theirs.run, "PAUSED");
  const own = await stranger.deploy(echo());
  const evaluator = await made(stranger.secret.post("/v2/evals/evaluators", latency), "evaluator_id");
  const monitor = { name: "mine", project_id: own, evaluator_ids: [evaluator], sampling_rate: 1, enabled: false };
  mine = {
    project: own,
    dataset: await made(stranger.secret.post("/v2/evals/datasets", { name: "mine" }), "dataset_id"),
    monitor: await made(stranger.secret.post("/v2/evals/monitors", monitor), "monitor_id"),
  };
});

const withNode = (type: string, config: Record<string, unknown>) =>
  flow({
    nodes: [node("in-0", "input"), node("x-0", type, config), node("out-0", "output")],
    edges: edges("in-0 > x-0", "x-0 > out-0"),
  });

type Request = readonly [method: "post" | "patch", path: string, body: object];
const FLOWS: Readonly<Record<string, (ids: Ids) => object>> = {
  "a knowledge node": ({ base }) => withNode("knowledge", { knowledge_base_id: base, query: "{{in-0}}" }),
  "an action": ({ connection }) =>
    withNode("action", { provider_id: "http", action_id: "get", connection_id: connection, inputs: { url: "'/x'" } }),
  "a model": ({ connection }) => withNode("llm", { model: "m", prompt: "x", connection_id: connection }),
  "a sub-flow": ({ project }) => withNode("subflow", { project_id: project, inputs: {} }),
  "tools of a model": ({ project, base }) =>
    withNode("llm", {
      model: "m",
      prompt: "x",
      tools: [
        { type: "subflow", name: "a", description: "a", project_id: project },
        { type: "knowledge", name: "b", knowledge_base_id: base },
      ],
    }),
};
const BODIES: Readonly<Record<string, (ids: Ids, own: Mine) => Request>> = {
  ...Object.fromEntries(
    Object.entries(FLOWS).flatMap(([what, make]) => [
      [`validateFlow: ${what}`, (ids: Ids): Request => ["post", "/v2/flows/validate", { flow: make(ids) }]],
      [`createProject: ${what}`, (ids: Ids): Request => ["post", "/v2/projects", { name: "x", flow: make(ids) }]],
      [
        `createFlowVersion: ${what}`,
        (ids: Ids, own: Mine): Request => ["post", `/v2/projects/${own.project}/versions`, { flow: make(ids) }],
      ],
    ]),
  ),
  "createRunJob: the runs of a project": ({ project }) => [
    "post",
    "/v2/run-jobs",
    { action: "cancel", filter: { project_id: project } },
  ],
  "createRunJob: a run": ({ run }) => ["post", "/v2/run-jobs", { action: "cancel", filter: { run_id: [run] } }],
  "createDatasetImport: the runs of a project": ({ project }, { dataset }) => [
    "post",
    `/v2/evals/datasets/${dataset}/imports`,
    { source: { type: "runs", filter: { project_id: project } } },
  ],
  "createExperiment: a gate": ({ evaluator }, { project, dataset }) => [
    "post",
    "/v2/evals/experiments",
    {
      name: "x",
      project_id: project,
      dataset_id: dataset,
      gates: [{ evaluator_id: evaluator, metric: "mean", op: "gte", value: 1 }],
    },
  ],
  "changeMonitorAlert: a condition": ({ evaluator }, { monitor }) => [
    "patch",
    `/v2/evals/monitors/${monitor}/alert`,
    { conditions: [{ evaluator_id: evaluator, metric: "mean", op: "lt", threshold: 1, window_seconds: 3600 }] },
  ],
  "createWebhookSubscription: the events of a project": ({ project }) => [
    "post",
    "/v2/webhooks/subscriptions",
    { url: "https://api.example.test/hook", events: ["run.completed"], filter: { project_id: [project] } },
  ],
  "createApiKey: a key for a project": ({ project }) => [
    "post",
    "/v2/api-keys",
    { name: "x", kind: "secret", projects: [project] },
  ],
};

/** A response without the parts that differ between calls. */
const comparable = ({ status, body }: { readonly status: number; readonly body: unknown }) => ({
  status,
  text: JSON.stringify(body)
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID")
    .replaceAll(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, "TIME"),
});

describe("cross-tenant: another organisation's IDs inside a request body", () => {
  it.each(Object.entries(BODIES))("%s: gets the same response as an ID that does not exist", async (_, requestOf) => {
    const nothing: Ids = {
      project: randomUUID(),
      base: randomUUID(),
      connection: randomUUID(),
      evaluator: randomUUID(),
      run: randomUUID(),
    };
    const ask = async (ids: Ids) => {
      const [method, path, body] = requestOf(ids, mine);
      return comparable(await stranger.secret[method](path, body));
    };
    expect(await ask(theirs)).toEqual(await ask(nothing));
  });

  it.each(Object.entries(FLOWS))("%s: is found for its owner", async (_, make) => {
    const { status, body } = await victim.secret.post("/v2/flows/validate", { flow: make(theirs) });
    expect(status).toBe(200);
    expect(JSON.stringify(body)).not.toContain("unknown_");
  });

  it("a bulk job that cancels matching runs does not touch another organisation's run", async () => {
    const jobs = await stranger.secret.get("/v2/run-jobs");
    expect(jobs.body.data.length).toBeGreaterThan(0);
    for (const { job_id } of jobs.body.data)
      await expect
        .poll(async () => (await stranger.secret.get(`/v2/run-jobs/${job_id}`)).body)
        .toMatchObject({ state: "COMPLETED", counts: { matched: 0, done: 0 } });
    expect((await victim.secret.get(`/v2/runs/${theirs.run}`)).body.state).toBe("PAUSED");
  });
});
