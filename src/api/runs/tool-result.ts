import { GET_RUN } from "../../domain/flow/io/tool-names.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import type { CalledRun } from "./flow-call.ts";
import { metadataAddress } from "./inference-answer.ts";
import type { InferenceView } from "./inference-presenter.ts";

/** The result of an invalid tool call: text only. */
export function refusedResult(text: string): JsonObject {
  return { content: [{ type: "text", text }], isError: true };
}

/**
 * The result of a tool call that ran a flow. A paused or unfinished run is not an error: the text says so, and how to continue.
 * `structuredContent` contains the outputs so far, and `_meta` the state of the run.
 */
export function toolResult({ row, replayed }: CalledRun, view: InferenceView): JsonObject {
  const { run_id, state, pause, pauses, error } = view;
  const outputs = view.outputs as JsonObject;
  const isError = state === "FAILED" || state === "CANCELLED";
  const text = state === "COMPLETED" ? outputText(outputs) : stateText(row, view);
  return {
    content: [{ type: "text", text }],
    // Clients may validate an error against the schema of the outputs, too.
    structuredContent: outputs,
    isError,
    _meta: {
      "millrace/run": {
        run_id,
        state,
        flow_version: row.flow_version,
        pause,
        error,
        ...(replayed && { replayed }),
      } as unknown as Json,
      ...(pauses === undefined ? {} : { "millrace/pauses": pauses as unknown as Json }),
    },
  };
}

/** One output is returned as its text; several as JSON, for clients that read no structured content. */
function outputText(outputs: JsonObject): string {
  const values = Object.values(outputs);
  const [only] = values;
  return values.length === 1 && typeof only === "string" ? only : JSON.stringify(outputs);
}

function stateText(row: RunRow, { run_id, state, pause, error }: InferenceView): string {
  const ask = `Check it with the tool ${GET_RUN} {"run_id": "${run_id}"}, or with GET ${metadataAddress(row)}`;
  switch (state) {
    case "FAILED":
      return `The run ${run_id} failed. ${error?.code ?? "unknown"}: ${error?.message ?? "no details"}`;
    case "CANCELLED":
      return `The run ${run_id} was cancelled. ${row.state_reason ?? ""}`.trim();
    case "PAUSED": {
      const actions = pause?.actions.map(({ id }) => id).join(", ") ?? "";
      const answer = `POST /v2/runs/${run_id}/resume {"pause_id": "${pause?.pause_id ?? ""}", "action": one of ${actions}}`;
      return `The run ${run_id} is PAUSED: it is waiting for an approval (${pause?.message ?? ""}). To answer: ${answer}. ${ask}.`;
    }
    default:
      return `The run ${run_id} is ${state} and continues. ${ask}; POST /v2/runs/${run_id}/cancel cancels it.`;
  }
}
