import { readFileSync } from "node:fs";
import type { ModelStub } from "../../../src/dev/model-stub.ts";
import type { ApiTenant } from "../../api/tenant.ts";
import { flow } from "../../engine/support.ts";
import { indexedDocument } from "./handbook.ts";

const HOUR_MS = 3_600_000;

/** What the screenshots of the documentation show. */
export interface Scene {
  /** A run that waits for approval, and its pause. */
  readonly waiting: { readonly run_id: string; readonly pause_id: string };
  readonly subscription_id: string;
  /** A flow whose draft differs from its published version. */
  readonly triage: string;
  /** A flow that answers questions from a handbook. */
  readonly handbook: string;
}

const refund = flow(
  [
    { id: "in-0", type: "input", name: "Customer" },
    { id: "in-1", type: "input", name: "Amount", config: { required: false, default: "20" } },
    {
      id: "if-0",
      type: "condition",
      name: "Small?",
      config: { cases: [{ id: "small", when: 'int(nodes["in-1"]) <= 50' }] },
    },
    {
      id: "approval-0",
      type: "approval",
      name: "Ask a person",
      config: {
        message: "Refund {{in-1}} EUR to {{in-0}}?",
        form: {
          type: "object",
          required: ["amount"],
          properties: {
            amount: { type: "number", title: "Amount (EUR)", maximum: 500 },
            reason: { type: "string", title: "Reason", enum: ["Damaged", "Late", "Wrong article"] },
            note: { type: "string", title: "Note to the customer" },
          },
        },
      },
    },
    {
      id: "letter",
      type: "template",
      name: "Letter",
      config: { template: "Dear {{in-0}}, you get {{in-1}} EUR back." },
    },
    { id: "refusal", type: "template", name: "Refusal", config: { template: "Dear {{in-0}}, we are sorry." } },
    { id: "out-0", type: "output", name: "Answer" },
  ],
  [
    "in-0>if-0",
    "in-1>if-0",
    "if-0:case:small>letter",
    "if-0:else>approval-0",
    "approval-0:approve>letter",
    "approval-0:reject>refusal",
    "letter>out-0",
    "refusal>out-0",
  ],
);
const stockCheck = flow(
  [
    { id: "in-0", type: "input", name: "Article" },
    { id: "guard-0", type: "guard", config: { check: 'nodes["in-0"] != ""', message: "An article has no number" } },
    { id: "delay-0", type: "delay", config: { seconds: 0.4 } },
    { id: "out-0", type: "output" },
  ],
  ["in-0>guard-0", "guard-0>delay-0", "delay-0>out-0", "in-0>out-0"],
);

/** An organisation after a day of work: two flows, runs in every state, and a webhook that received most of its events. */
export async function playScene(tenant: ApiTenant, receiver: string, model: ModelStub): Promise<Scene> {
  await tenant.withDatabase((database) =>
    database.system((db) =>
      db.query("update organisations set name = 'Harbour Shop' where org_id = $1", [tenant.org_id]),
    ),
  );
  const post = async (path: string, body: object) => (await tenant.secret.post(path, body)).body;
  const { project_id: refunds } = await post("/v2/projects", { name: "Refund requests", flow: refund });
  const { project_id: stock } = await post("/v2/projects", { name: "Stock check", flow: stockCheck });
  const { subscription_id } = await post("/v2/webhooks/subscriptions", {
    url: receiver,
    events: ["run.*"],
    description: "Order desk",
  });
  const start = (project_id: string, inputs: object, more: object = {}) =>
    post("/v2/runs", { project_id, inputs, mode: "sync", wait_seconds: 30, ...more });
  const CUSTOMERS = ["Ada Byron", "Grace Hopper", "Jean Bartik", "Kathleen Booth", "Mary Keller", "Klara Dan"];
  for (const [index, customer] of CUSTOMERS.entries()) {
    await start(refunds, { "in-0": customer, "in-1": String(15 + 5 * index) }, { tags: ["shop"] });
    for (let n = 0; n <= index % 3; n += 1) await start(stock, { "in-0": `A-${100 + index * 7 + n}` });
    if (index === 2 || index === 4) await start(stock, { "in-0": "" }, { tags: ["import"] });
  }
  const ask = (customer: string, amount: string) =>
    post("/v2/runs", { project_id: refunds, inputs: { "in-0": customer, "in-1": amount }, tags: ["shop"] });
  const cancelled = await ask("Adele Goldberg", "70");
  await tenant.until(cancelled.run_id, "PAUSED");
  await post(`/v2/runs/${cancelled.run_id}/cancel`, {});
  await tenant.until(cancelled.run_id, "CANCELLED");
  const other = await ask("Frances Allen", "95");
  const { run_id } = await ask("Barbara Liskov", "180");
  const [run] = await Promise.all([tenant.until(run_id, "PAUSED"), tenant.until(other.run_id, "PAUSED")]);
  const { project_id: triage } = await post("/v2/projects", { name: "support/Triage", flow: triageFlow });
  for (const { inputs } of triageFlow.examples) await start(triage, inputs);
  await tenant.secret.put(`/v2/projects/${triage}/draft`, { flow: changedTriage() });
  await spread(tenant);
  const handbook = await makeHandbook(tenant, model);
  return { waiting: { run_id, pause_id: run.pauses[0].pause_id }, subscription_id, triage, handbook };
}

const RETURNS = [
  "Returns. Customers may return any article within 30 days, unused and in its packaging. ",
  "Refunds go to the card that was charged and take up to five working days. ",
  "Sale articles are exchanged, not refunded.",
];

/** A flow that answers from a knowledge base, and a page of it for visitors. */
async function makeHandbook(tenant: ApiTenant, { url }: ModelStub): Promise<string> {
  const knowledge_base_id = await indexedDocument(tenant, "returns.txt", RETURNS.join("\n\n"));
  const { body: connection } = await tenant.secret.post("/v2/connections", {
    name: "Model",
    provider_id: "openai_compatible",
    scheme: "none",
    credential: { base_url: `${url}/v1` },
  });
  const { connection_id } = connection;
  const prompt = "{{kb-0}}\n{{in-0}}";
  const nodes = [
    { id: "in-0", type: "input", name: "Question", config: { description: "Ask about orders, returns and refunds." } },
    { id: "kb-0", type: "knowledge", config: { knowledge_base_id, query: "{{in-0}}", top_k: 3 } },
    { id: "llm-0", type: "llm", config: { model: "handbook", connection_id, prompt, memory: { turns: 5 } } },
    { id: "out-0", type: "output", name: "Answer" },
  ];
  const edges = ["in-0>kb-0", "kb-0>llm-0", "llm-0>out-0"];
  const { body } = await tenant.secret.post("/v2/projects", { name: "Handbook assistant", flow: flow(nodes, edges) });
  await tenant.secret.post(`/v2/projects/${body.project_id}/pages`, {
    kind: "chat",
    look: { name: "Harbour Shop help", colour: "#1f5fbf", welcome: "Ask us about orders and returns." },
    origins: ["https://harbour.example"],
  });
  return body.project_id;
}

const triageFlow = JSON.parse(
  readFileSync(new URL("../../../examples/flows/triage.json", import.meta.url), "utf8"),
) as {
  readonly nodes: Array<{ id: string; config?: object }>;
  readonly edges: object[];
  readonly examples: Array<{ inputs: object }>;
};

/** The flow with another answer and one more output. */
function changedTriage(): object {
  const template = "Hello {{string-0}}, our accounts desk has your question and answers today.";
  const nodes = triageFlow.nodes.map((node) => (node.id === "tpl-billing" ? { ...node, config: { template } } : node));
  const edges = [...triageFlow.edges, { source: "set-0", target: "out-2" }];
  return { ...triageFlow, nodes: [...nodes, { id: "out-2", type: "output", name: "Signals" }], edges };
}

/** Spreads what finished within seconds over a day, in the same order, with more of it in the later hours. */
async function spread(tenant: ApiTenant): Promise<void> {
  await tenant.withDatabase((database) =>
    database.system((db) =>
      db.query(
        `with ordered as (
           select run_id, make_interval(secs => $2::float8 * (1 - rank() over (order by run_id) / (count(*) over ())::float8) ^ 1.7) as back
           from runs where org_id = $1 and finished_at is not null)
         update runs r set created_at = r.created_at - back, started_at = r.started_at - back, finished_at = r.finished_at - back
         from ordered o where o.run_id = r.run_id`,
        [tenant.org_id, (22 * HOUR_MS) / 1000],
      ),
    ),
  );
}
