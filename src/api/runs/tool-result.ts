import { GET_RUN } from "../../domain/flow/io/tool-names.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { metadataAddress } from "./inference-answer.ts";
import type { InferenceView } from "./inference-presenter.ts";

/** The result of a wrong tool call: words only. */
export function refusedResult(text: string): JsonObject {
  return { content: [{ type: "text", text }], isError: true };
}

/**
 * The result of a tool call that ran a flow. A run that is paused or goes on is no error: the text says so, and how to go on.
 * `structuredContent` has the outputs that there are, and `_meta` how the run stands.
 */
export function toolResult(row: RunRow, view: InferenceView): JsonObject {
  const { run_id, state, pause, pauses, error } = view;
  const outputs = view.outputs as JsonObject;
  const isError = state === "FAILED" || state === "CANCELLED";
  const text = state === "COMPLETED" ? outputText(outputs) : stateText(row, view);
  return {
    content: [{ type: "text", text }],
    // Clients may check an error against the schema of the outputs, too.
    structuredContent: outputs,
    isError,
    _meta: {
      "millrace/run": { run_id, state, flow_version: row.flow_version, pause, error } as unknown as Json,
      ...(pauses === undefined ? {} : { "millrace/pauses": pauses as unknown as Json }),
    },
  };
}

/** One output is its text; several are JSON, for clients that read no structured content. */
function outputText(outputs: JsonObject): string {
  const values = Object.values(outputs);
  const [only] = values;
  return values.length === 1 && typeof only === "string" ? only : JSON.stringify(outputs);
}

function stateText(row: RunRow, { run_id, state, pause, error }: InferenceView): string {
  const ask = `Ask for it with the tool ${GET_RUN} {"run_id": "${run_id}"}, or with GET ${metadataAddress(row)}`;
  switch (state) {
    case "FAILED":
      return `The run ${run_id} failed. ${error?.code ?? "unknown"}: ${error?.message ?? "nothing more is known"}`;
    case "CANCELLED":
      return `The run ${run_id} was cancelled. ${row.state_reason ?? ""}`.trim();
    case "PAUSED": {
      const actions = pause?.actions.map(({ id }) => id).join(", ") ?? "";
      const answer = `POST /v2/runs/${run_id}/resume {"pause_id": "${pause?.pause_id ?? ""}", "action": one of ${actions}}`;
      return `The run ${run_id} is PAUSED: it waits for a person's answer (${pause?.message ?? ""}). ${answer} gives it. ${ask}.`;
    }
    default:
      return `The run ${run_id} is ${state} and goes on. ${ask}; POST /v2/runs/${run_id}/cancel cancels it.`;
  }
}
