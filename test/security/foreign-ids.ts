import { uuidv7 } from "uuidv7";
import { expect, vi } from "vitest";
import type { Operation } from "../../src/api/http/operation.ts";
import { remember } from "../../src/services/models/memory.ts";
import { resourcesPath, settled } from "../api/knowledge/knowledge-bases.ts";
import { experimentPath, importEnd, jobEnd } from "../api/evals/evals.ts";
import { asking, echo, failing, type ApiTenant } from "../api/tenant.ts";
import { edges, flow, node } from "../support/flows.ts";

/** IDs by the name of their parameter or field; `operationId.name` if a name has several meanings. */
export type Ids = Readonly<Record<string, string>>;

/** The user ID under which the organisation has a document. */
const HANDLE = "ada-1";
/** The user ID under which it has conversations. */
const OTHER_HANDLE = "ada-2";

const PASSWORD = "a long enough password";
/** The e-mail address of a user in each organisation. */
const ADDRESS = "theirs@example.test";

/** Parameters that belong to no organisation and are the same in each call. */
const PLAIN: Ids = {
  version: "1",
  // A revision of a draft.
  revision: "1",
  environment: "staging",
  "deleteEnvironment.environment": "development",
  node: "doc-0",
  node_id: "doc-0",
  template_id: "latency.latency",
  // A name that an organisation gives to a resource.
  external_id: "theirs",
  "listDocuments.user_id": HANDLE,
  "deleteDocuments.user_id": HANDLE,
  "uploadDocument.user_id": HANDLE,
  "uploadDocumentOlderName.user_id": HANDLE,
  "getConversation.user_id": HANDLE,
  "changeConversation.user_id": HANDLE,
  "deleteConversation.user_id": OTHER_HANDLE,
  // User IDs belong to the caller's organisation: they filter its lists or are stored with its runs.
  "listRuns.user_id": HANDLE,
  "createRun.user_id": HANDLE,
  "runDeployedFlow.user_id": HANDLE,
  "streamDeployedFlow.user_id": HANDLE,
  // A user without any data.
  "createErasure.user_id": "nobody-1",
  // A node of the scored run.
  "listRunScores.node_id": "approval-0",
  "listScores.node_id": "approval-0",
  // A connection of another organisation is refused like one that does not exist (test/api/knowledge/bucket.test.ts).
  "createKnowledgeBase.connection_id": "0197f0a0-0000-7000-8000-000000000000",
  "changeKnowledgeBase.connection_id": "0197f0a0-0000-7000-8000-000000000000",
  connection_source_ids: "bucket/prefix",
  // Trigger types are shared by all organisations.
  "createTrigger.provider_id": "millrace",
  "createTrigger.trigger_id": "schedule",
  // A built-in provider, or the name of a new one.
  "createConnection.provider_id": "http",
  "importProvider.provider_id": "http",
  "listProviderTriggers.provider_id": "http",
  "getProviderTrigger.provider_id": "http",
  "getProviderTrigger.trigger_id": "http.changed",
};

/** Parameters that are not IDs but without which an operation returns 422. */
export const NEEDED_QUERY: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  findProjectMemberCandidate: { email: ADDRESS },
  compareEnvironment: { version: "1" },
  getRunNode: { path: "approval-0" },
  getRunNodeValue: { path: "approval-0" },
};

/**
 * Creates one of everything through the API; returns the IDs. A new operation with an ID of another kind needs a line
 * here. `receiver` is a URL that accepts webhooks with 200.
 */
export async function makeEverything(tenant: ApiTenant, receiver: string): Promise<Ids> {
  const { secret, org_id } = tenant;
  const reading = flow({ nodes: [node("doc-0", "files"), node("out-0", "output")], edges: edges("doc-0 > out-0") });
  const documents = await tenant.deploy(reading);
  const pausing = await tenant.deploy(asking());
  const form = new FormData();
  form.set("file", new Blob(["theirs"]), "theirs.txt");
  const query = { org: org_id, user_id: HANDLE, flow_id: documents, node_id: "doc-0" };
  expect((await secret.post("/upload_to_storage_user", form, { query })).status).toBe(200);
  // The run waits until its documents have been processed, so they do not change on their own afterwards.
  const read = await secret.post("/v2/runs", { project_id: documents, inputs: {}, user_id: HANDLE, mode: "sync" });
  expect(read.body.state).toBe("COMPLETED");
  const start = async (project_id: string): Promise<string> =>
    (await secret.post("/v2/runs", { project_id, inputs: {} })).body.run_id;
  const failed = await start(await tenant.deploy(failing()));
  const paused = await start(pausing);
  await tenant.until(failed, "FAILED");
  for (const flow_id of [pausing, documents])
    expect((await secret.put(`/v2/projects/${flow_id}/draft`, { flow: echo() })).status).toBe(201);
  const echoing = await tenant.deploy(echo());
  const { body: review } = await secret.post(`/v2/projects/${pausing}/environments/staging/reviews`, { version: 1 });
  const { body: promotions } = await secret.get(`/v2/projects/${pausing}/promotions`);
  const calling = flow({
    nodes: [node("sub-0", "subflow", { project_id: echoing, inputs: { "in-0": "'x'" } }), node("out-0", "output")],
    edges: edges("sub-0 > out-0"),
  });
  const parent = await secret.post("/v2/runs", {
    project_id: await tenant.deploy(calling),
    inputs: {},
    user_id: HANDLE,
    mode: "sync",
  });
  expect(parent.body.state, JSON.stringify(parent.body)).toBe("COMPLETED");
  const children = await secret.get("/v2/runs", { query: { parent_run_id: parent.body.run_id } });
  const { pauses } = await tenant.until(paused, "PAUSED");
  await tenant.withDatabase(async (database) => {
    const turn = { org_id, project_id: pausing, path: "llm-0" };
    for (const [user_id, run_id] of [
      [HANDLE, paused],
      [OTHER_HANDLE, failed],
    ] as const)
      await remember(database, { ...turn, user_id, run_id }, "theirs", "and nobody else's");
  });
  const published = `/v2/projects/${pausing}/pages`;
  const { body: publicPage } = await secret.post(published, { kind: "form" });
  const { body: unusedPage } = await secret.post(published, { kind: "form" });
  const { body: key } = await secret.post("/v2/api-keys", { name: "theirs", kind: "secret" });
  const { body: user } = await secret.post("/v2/users", {
    email: `theirs-${org_id}@example.test`,
    password: PASSWORD,
    role: "viewer",
  });
  const named = await secret.post("/v2/users", { email: ADDRESS, password: PASSWORD, role: "viewer" });
  expect(named.status).toBe(201);
  const granted = await secret.put(`/v2/projects/${pausing}/members/${user.user_id}`, { role: "viewer" });
  expect(granted.status).toBe(200);
  const signIn = { email: user.email, password: PASSWORD };
  expect((await secret.post("/console/session", signIn, { headers: { authorization: "" } })).status).toBe(201);
  const { body: sessions } = await secret.get("/v2/sessions", { query: { user_id: user.user_id } });
  const [skill, otherSkill] = await Promise.all(
    ["theirs", "theirs-too"].map((name) =>
      secret.post("/v2/skills", { name, description: "Theirs.", instructions: "Do it." }),
    ),
  );
  const trigger = await secret.post("/v2/triggers", {
    project_id: pausing,
    provider_id: "millrace",
    trigger_id: "webhook",
  });
  await secret.post(new URL(trigger.body.address).pathname, {}, { headers: { authorization: "" } });
  const { body: firings } = await secret.get(`/v2/triggers/${trigger.body.id}/firings`);
  // The webhook selects an event that nothing below causes, so it does not change on its own after the test delivery.
  const hook = { url: receiver, events: ["skill.version.created"] };
  const { body: subscription } = await secret.post("/v2/webhooks/subscriptions", hook);
  const path = `/v2/webhooks/subscriptions/${subscription.subscription_id}`;
  const { body: delivery } = await secret.post(`${path}/test`);
  await vi.waitFor(async () => {
    const { body } = await secret.get(`${path}/deliveries/${delivery.delivery_id}`);
    expect(body.status).toBe("delivered");
  }, 20_000);
  const { body: base } = await secret.post("/v2/knowledge-bases", { name: "theirs" });
  const { knowledge_base_id } = base;
  // Deleted before the items of the other knowledge base.
  const { body: emptyBase } = await secret.post("/v2/knowledge-bases", { name: "theirs and empty" });
  const text = { text: "theirs", name: "theirs.txt", external_id: "theirs" };
  const { body: resource } = await secret.post(resourcesPath(knowledge_base_id), text);
  await settled(tenant, knowledge_base_id, resource.resource_id);
  const credential = { base_url: receiver, token: "theirs and nobody else's" };
  const connection = { name: "theirs", provider_id: "http", scheme: "bearer", credential };
  const connectionIds = [];
  for (let n = 0; n < 2; n++) connectionIds.push((await secret.post("/v2/connections", connection)).body.connection_id);
  const [connection_id = "", unused = ""] = connectionIds;
  const { body: models } = await secret.post("/v2/connections", {
    name: "theirs",
    provider_id: "openai_compatible",
    scheme: "none",
    credential: { base_url: receiver },
  });
  const datasets = "/v2/evals/datasets";
  const { body: dataset } = await secret.post(datasets, { name: "theirs", project_id: echoing });
  const rows = [{ inputs: { "in-0": "theirs" }, external_id: "theirs" }, { inputs: { "in-0": "theirs too" } }];
  const { body: added } = await secret.post(`${datasets}/${dataset.dataset_id}/rows`, { rows });
  const source = { type: "csv", text: "x\n" };
  const { body: imported } = await secret.post(`${datasets}/${dataset.dataset_id}/imports`, { source });
  await importEnd(tenant, dataset.dataset_id, imported.import_id);
  const { body: emptyDataset } = await secret.post(datasets, { name: "theirs and empty" });
  const { body: evaluator } = await secret.post("/v2/evals/evaluators", { name: "theirs", type: "latency" });
  const { body: otherEvaluator } = await secret.post("/v2/evals/evaluators", { name: "theirs too", type: "latency" });
  const watching = { name: "theirs", project_id: echoing, evaluator_ids: [evaluator.evaluator_id], sampling_rate: 1 };
  const { body: monitor } = await secret.post("/v2/evals/monitors", watching);
  const monitorPath = `/v2/evals/monitors/${monitor.monitor_id}`;
  const { body: otherMonitor } = await secret.post("/v2/evals/monitors", { ...watching, enabled: false });
  await secret.post("/v2/runs", { project_id: echoing, inputs: { "in-0": "watched" }, mode: "sync" });
  const { body: sync } = await secret.post(`/v2/knowledge-bases/${knowledge_base_id}/sync`, { mode: "full" });
  await vi.waitFor(async () => {
    const { body } = await secret.get(`/v2/knowledge-bases/${knowledge_base_id}/syncs/${sync.sync_id}`);
    expect(body.state).toBe("completed");
  }, 30_000);
  const experiment = { name: "theirs", project_id: echoing, dataset_id: dataset.dataset_id };
  const { body: ran } = await secret.post("/v2/evals/experiments", experiment);
  const { body: job } = await secret.post(`${experimentPath(ran.experiment_id)}/jobs`, { kind: "run" });
  await jobEnd(tenant, ran.experiment_id, job.job_id);
  const { body: exported } = await secret.post(`${experimentPath(ran.experiment_id)}/jobs`, { kind: "export" });
  await jobEnd(tenant, ran.experiment_id, exported.job_id);
  // Deleted before the dataset.
  const { body: draft } = await secret.post("/v2/evals/experiments", experiment);
  await vi.waitFor(async () => expect((await secret.get(monitorPath)).body.stats.scored).toBe(1), 30_000);
  // A disabled monitor does not change on its own.
  expect((await secret.patch(monitorPath, { enabled: false })).status).toBe(200);
  const paths = { "/theirs": { get: { operationId: "getTheirs", responses: { 200: { description: "theirs" } } } } };
  const openapi = { openapi: "3.1.0", info: { title: "theirs", version: "1" }, servers: [{ url: receiver }], paths };
  for (const provider_id of ["theirs", "theirs-unused"]) {
    const { status, body } = await secret.post("/v2/providers", { openapi, provider_id });
    expect(status, JSON.stringify(body)).toBe(201);
  }
  const { body: action } = await secret.post("/v2/providers/http/actions/get/run", { inputs: { url: receiver } });
  const { body: runJob } = await secret.post("/v2/run-jobs", { action: "resume", filter: { tag: "nobody" } });
  await vi.waitFor(
    async () => expect((await secret.get(`/v2/run-jobs/${runJob.job_id}`)).body.state).toBe("COMPLETED"),
    60_000,
  );
  const { body: erasure } = await secret.post("/v2/erasures", { user_id: "nobody-2" });
  await vi.waitFor(
    async () => expect((await secret.get(`/v2/erasures/${erasure.erasure_id}`)).body.state).toBe("COMPLETED"),
    60_000,
  );
  const given = { name: "theirs", data_type: "boolean", value: true, node_id: "approval-0" };
  const { body: score } = await secret.post(`/v2/evals/runs/${paused}/scores`, given);
  // A score that matches every filter of the list.
  await tenant.withDatabase((database) =>
    database.org(org_id, (connection) =>
      connection.query(
        `insert into scores (score_id, org_id, run_id, node_id, name, data_type, value, source, evaluator_id, evaluator_version,
           experiment_id, monitor_id)
         values ($1, $2, $3, 'approval-0', 'theirs', 'numeric', '1', 'evaluator', $4, 1, $5, $6)`,
        [uuidv7(), org_id, paused, evaluator.evaluator_id, ran.experiment_id, monitor.monitor_id],
      ),
    ),
  );
  return {
    ...PLAIN,
    score_id: score.score_id,
    review_id: review.review_id,
    promotion_id: promotions.data[0].promotion_id,
    with: ran.experiment_id,
    "scoreSamples.evaluator_ids": evaluator.evaluator_id,
    monitor_id: monitor.monitor_id,
    "deleteMonitor.monitor_id": otherMonitor.monitor_id,
    "createMonitor.evaluator_ids": evaluator.evaluator_id,
    "changeMonitor.evaluator_ids": evaluator.evaluator_id,
    "listMonitors.project_id": echoing,
    "createMonitor.project_id": echoing,
    "changeMonitor.project_id": echoing,
    experiment_id: ran.experiment_id,
    "deleteExperiment.experiment_id": draft.experiment_id,
    job_id: exported.job_id,
    "getRunJob.job_id": runJob.job_id,
    "abortRunJob.job_id": runJob.job_id,
    row_ids: "0197f0a0-0000-7000-8000-000000000000",
    evaluator_ids: "0197f0a0-0000-7000-8000-000000000000",
    baseline_experiment_id: ran.experiment_id,
    "listExperiments.project_id": echoing,
    "createExperiment.project_id": echoing,
    "changeExperiment.project_id": echoing,
    evaluator_id: evaluator.evaluator_id,
    "deleteEvaluator.evaluator_id": otherEvaluator.evaluator_id,
    "previewEvaluator.evaluator_id": evaluator.evaluator_id,
    "previewEvaluator.run_id": parent.body.run_id,
    default_connection_id: models.connection_id,
    dataset_id: dataset.dataset_id,
    "deleteDataset.dataset_id": emptyDataset.dataset_id,
    row_id: added.rows[0].row_id,
    "deleteDatasetRow.row_id": added.rows[1].row_id,
    import_id: imported.import_id,
    "createDataset.project_id": echoing,
    "changeDataset.project_id": echoing,
    "listDatasets.project_id": echoing,
    // A project without conversations, because those of the other project are deleted one by one.
    "deleteConversations.project_id": echoing,
    org: org_id,
    org_id,
    project_id: pausing,
    page_id: publicPage.page_id,
    "revokePage.page_id": unusedPage.page_id,
    flow_id: echoing,
    "listRuns.project_id": echoing,
    "listRuns.run_id": children.body.data[0].run_id,
    parent_run_id: parent.body.run_id,
    "getDeployedFlowRun.flow_id": pausing,
    "giveFeedback.flow_id": pausing,
    flow: documents,
    "uploadDocument.flow_id": documents,
    "uploadDocumentOlderName.flow_id": documents,
    run_id: paused,
    "resumeRun.run_id": failed,
    pause_id: pauses[0].pause_id,
    erasure_id: erasure.erasure_id,
    key_id: key.key_id,
    user_id: user.user_id,
    session_id: sessions.data[0].session_id,
    subscription_id: subscription.subscription_id,
    delivery_id: delivery.delivery_id,
    knowledge_base_id,
    "deleteKnowledgeBase.knowledge_base_id": emptyBase.knowledge_base_id,
    resource_id: resource.resource_id,
    id: trigger.body.id,
    firing_id: firings.data[0].firing_id,
    skill_id: skill?.body.skill_id,
    "deleteSkill.skill_id": otherSkill?.body.skill_id,
    connection_id,
    provider_id: "theirs",
    "listConnections.provider_id": "http",
    "deleteProvider.provider_id": "theirs-unused",
    action_id: "getTheirs",
    action_run_id: action.action_run_id,
    "deleteConnection.connection_id": unused,
    sync_id: sync.sync_id,
  };
}

/** The IDs among an operation's parameters and top-level body fields, including names that accompany IDs. */
export function idsOf(operation: Operation): { readonly name: string; readonly in: "path" | "query" | "body" }[] {
  const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({ name, in: "path" as const }));
  const inQuery = Object.keys(operation.query?.shape ?? {}).map((name) => ({ name, in: "query" as const }));
  const shape = operation.body !== undefined && "shape" in operation.body ? operation.body.shape : {};
  const inBody = Object.keys(shape as object).map((name) => ({ name, in: "body" as const }));
  const isId = ({ name }: { name: string }): boolean => /(^|_)ids?$|^(org|flow|node|with)$/.test(name);
  return [...inPath, ...[...inQuery, ...inBody].filter(isId)].filter(
    // A flow definition is not an ID.
    (each) => !(each.in === "body" && each.name === "flow"),
  );
}

/** The value of a parameter for an operation; undefined if it is not listed here. */
export function idFor(ids: Ids, operation: Operation, name: string): string | undefined {
  return ids[`${operation.id}.${name}`] ?? ids[name];
}

/** Whether a parameter names something that belongs to one organisation only. */
export function isOwned(operation: Operation, name: string): boolean {
  return idFor(PLAIN, operation, name) === undefined;
}
