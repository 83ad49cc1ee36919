import { objectSchema } from "../../json-schema.ts";
import { inputsOf, READS } from "../action.ts";
import { defineProvider } from "../provider.ts";

const id = { type: "string", format: "uuid" } as const;
const object = { type: "object" } as const;

const environment = {
  type: "string",
  description: "Whose version and connections the run uses; default: production",
} as const;

const run = objectSchema({ run_id: id, state: { type: "string" }, outputs: {}, error: {} });

export const millrace = defineProvider({
  provider_id: "millrace",
  name: "Millrace",
  description: "Flows and knowledge bases of this organisation",
  provider_group: ["core"],
  tags: ["flows", "knowledge"],
  auth: { required: false, schemes: {} },
  actions: {
    start_run: {
      name: "Start a run",
      description: "Starts a flow and returns immediately; get_run returns its status",
      // The run's ID is derived from the call, so that a repeated call means the same run.
      annotations: { read_only: false, destructive: false, idempotent: true },
      requires_connection: false,
      input_schema: inputsOf({ project_id: id }, { inputs: object, user_id: { type: "string" }, environment }),
      output_schema: run,
    },
    get_run: {
      name: "Get a run",
      description: "Returns a run's status, and its outputs once it has completed",
      annotations: READS,
      requires_connection: false,
      input_schema: inputsOf({ run_id: id }),
      output_schema: run,
    },
    query_knowledge_base: {
      name: "Query a knowledge base",
      description: "Finds chunks in the documents of a knowledge base",
      annotations: READS,
      requires_connection: false,
      input_schema: inputsOf(
        { knowledge_base_id: id, query: { type: "string", minLength: 1 } },
        { top_k: { type: "integer", minimum: 1, maximum: 100 }, filter: object },
      ),
      output_schema: { type: "object", properties: { results: { type: "array" }, text: { type: "string" } } },
    },
  },
});
