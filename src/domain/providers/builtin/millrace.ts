import { defineAction, inputsOf, READS } from "../action.ts";
import type { Trigger } from "../action.ts";
import type { Provider } from "../provider.ts";

const id = { type: "string", format: "uuid" } as const;
const object = { type: "object" } as const;

const run = {
  type: "object",
  properties: { run_id: id, state: { type: "string" }, outputs: {}, error: {} },
  required: ["run_id", "state", "outputs", "error"],
} as const;

const startRun = defineAction({
  action_id: "start_run",
  name: "Start a run",
  description: "Starts a flow and answers at once; get_run tells how it stands",
  // The run's id follows from the call: done again, it is the same run.
  annotations: { read_only: false, destructive: false, idempotent: true },
  requires_connection: false,
  input_schema: inputsOf({ project_id: id, inputs: object, user_id: { type: "string" } }, ["inputs", "user_id"]),
  output_schema: run,
});

const getRun = defineAction({
  action_id: "get_run",
  name: "Get a run",
  description: "How a run stands, and its outputs once it is completed",
  annotations: READS,
  requires_connection: false,
  input_schema: inputsOf({ run_id: id }),
  output_schema: run,
});

const queryKnowledgeBase = defineAction({
  action_id: "query_knowledge_base",
  name: "Query a knowledge base",
  description: "Finds passages in the documents of a knowledge base",
  annotations: READS,
  requires_connection: false,
  input_schema: inputsOf(
    {
      knowledge_base_id: id,
      query: { type: "string", minLength: 1 },
      top_k: { type: "integer", minimum: 1, maximum: 100 },
      filter: object,
    },
    ["top_k", "filter"],
  ),
  output_schema: { type: "object", properties: { results: { type: "array" }, text: { type: "string" } } },
});

const schedule: Trigger = {
  trigger_id: "schedule",
  name: "Schedule",
  description: "Starts a run at certain times",
  instructions: "Give a cron expression and a time zone",
  kind: "schedule",
  config_schema: inputsOf(
    {
      cron: { type: "string", minLength: 9, description: "Minute, hour, day of the month, month, day of the week" },
      time_zone: { type: "string", default: "UTC", description: "A name of the IANA database" },
    },
    ["time_zone"],
  ),
  payload_schema: inputsOf({ scheduled_at: { type: "string", format: "date-time" } }),
  sample_payload: { scheduled_at: "2026-01-05T08:00:00.000Z" },
};

const webhook: Trigger = {
  trigger_id: "webhook",
  name: "Webhook",
  description: "Starts a run when another service calls an address",
  instructions: "Enter the trigger's address at the other service, and its signing secret here",
  kind: "webhook",
  config_schema: inputsOf({ signature: { enum: ["none", "standard_webhooks", "github", "stripe"] } }),
  payload_schema: {},
  sample_payload: { id: "evt_1", type: "order.created" },
};

const runEvent: Trigger = {
  trigger_id: "run_event",
  name: "Another run ended",
  description: "Starts a run when a run of another flow ends",
  instructions: "Choose the flow, and the ends that count",
  kind: "run_event",
  config_schema: inputsOf(
    {
      project_id: id,
      events: { type: "array", items: { enum: ["run.completed", "run.failed", "run.cancelled"] }, minItems: 1 },
    },
    ["events"],
  ),
  payload_schema: object,
  sample_payload: { run_id: "0197f0a0-0000-7000-8000-000000000000", state: "COMPLETED", outputs: {} },
};

export const millrace: Provider = {
  provider_id: "millrace",
  provider_version: "1",
  name: "Millrace",
  description: "The organisation's own flows and knowledge bases",
  provider_group: ["core"],
  tags: ["flows", "knowledge"],
  icon: null,
  auth: { required: false, schemes: {} },
  source: "builtin",
  actions: [startRun, getRun, queryKnowledgeBase],
  triggers: [schedule, webhook, runEvent],
};
