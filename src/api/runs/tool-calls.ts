import { PRODUCTION } from "../../domain/projects/environments.ts";
import { Problem, ValidationProblem } from "../../domain/errors.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { GET_RUN } from "../../domain/flow/io/tool-names.ts";
import type { JsonObject, Json } from "../../domain/json.ts";
import { INVALID_PARAMS, rpcResult, RpcRefused, type RpcId } from "../../domain/runs/tool-protocol.ts";
import { isSettled } from "../../domain/runs/run.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { FlowTools, WantedTools } from "../../services/projects/flow-tools.ts";
import type { StartedBy } from "../../services/triggers/chain.ts";
import { requireRun, requireRunFor } from "../../services/runs/require-run.ts";
import type { HandlerDeps } from "../deps.ts";
import { SSE_COMMENT } from "../http/event-stream.ts";
import { limitedSignal } from "../../platform/linked-abort.ts";
import { callFlow, flowBody, type CalledRun } from "./flow-call.ts";
import { followRun } from "./follow-run.ts";
import { viewInference } from "./run-views.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { metadataAddress, type InferenceView } from "./inference-presenter.ts";

/** The result of an invalid tool call: text only. */
function refusedResult(text: string): JsonObject {
  return { content: [{ type: "text", text }], isError: true };
}

/**
 * The result of a tool call that ran a flow. A paused or unfinished run is not an error: the text says so, and how to continue.
 * `structuredContent` contains the outputs so far, and `_meta` the state of the run.
 */
function toolResult({ row, replayed }: CalledRun, view: InferenceView): JsonObject {
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

/** Interval of progress notifications. The official clients give up after 60 s without one. */
const PROGRESS_MS = 10_000;
/** How long the server waits for a call whose client accepts no progress notifications. */
const QUIET_WAIT_MS = 50_000;
/** Added to the progress if no node has finished, because progress must rise, but stays below that of the next node. */
const TICK = 1 / 1024;

/** Growing texts are not streamed, because a result is sent as a whole. */
const NO_PATHS: ReadonlySet<string> = new Set();

/** A `tools/call`. */
export interface ToolCall {
  readonly id: RpcId;
  readonly name: string;
  readonly arguments: JsonObject;
  /** The calling run, or the depth that the caller declares. */
  readonly started_by: StartedBy | undefined;
  /** The token for notifications of progress. */
  readonly progressToken: string | number | undefined;
  readonly principal: Principal;
  readonly wanted: WantedTools;
  readonly run_id: string;
  readonly repeated: boolean;
  /** Ends the wait, but not the run: the client has disconnected or cancelled the call. */
  readonly gone: AbortSignal;
  readonly cancelled: AbortSignal;
}

/** The run of a call, or a result if the call starts no run. Throws RpcRefused and Problems. */
export async function beginCall(
  deps: HandlerDeps,
  tools: FlowTools,
  call: ToolCall,
): Promise<CalledRun | { readonly result: JsonObject }> {
  const { principal, wanted, started_by, run_id, repeated } = call;
  const { org_id } = principal;
  if (call.name === GET_RUN) return knownRun(deps, call);
  const isProduction = wanted.environment === PRODUCTION;
  const flow_id = await tools.find(org_id, wanted, call.name);
  if (flow_id === null) throw new RpcRefused(INVALID_PARAMS, `Unknown tool: ${call.name.slice(0, 100)}`);
  const body = flowBody.safeParse(call.arguments);
  if (!body.success) return { result: refusedResult("user_id: must be text") };
  try {
    const params = { org_id, flow_id };
    return await callFlow(deps, {
      params,
      query: { version: -1, run_draft: false, ...(isProduction ? {} : { environment: wanted.environment }) },
      body: body.data,
      principal,
      run_id,
      started_by,
      repeated,
    });
  } catch (error) {
    if (error instanceof Problem && error.code === "too_many_nested_runs")
      return { result: refusedResult(error.message) };
    // The calling model can correct this error, so it is returned as a result.
    if (!(error instanceof ValidationProblem)) throw error;
    const places = error.issues.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`);
    return { result: refusedResult(`The inputs are not valid. ${places.join("; ")}`) };
  }
}

async function knownRun(deps: HandlerDeps, { arguments: given, principal, wanted }: ToolCall) {
  const { run_id } = given;
  const refused = { result: refusedResult("run_id: run not found") };
  if (typeof run_id !== "string" || !isUuid(run_id)) return refused;
  try {
    const row = await requireRunFor(deps, principal, run_id.toLowerCase());
    return wanted.flows === null || wanted.flows.includes(row.project_id) ? { row, replayed: false } : refused;
  } catch (error) {
    if (!(error instanceof Problem && error.code === "not_found")) throw error;
    return refused;
  }
}

/** How long to wait for a call. A call that reads a run waits as long as it requests, by default not at all. */
function waitMs({ config }: HandlerDeps, { name, arguments: given, progressToken }: ToolCall): number {
  const most = config.MILLRACE_SYNC_WAIT_MS;
  if (name !== GET_RUN) return progressToken === undefined ? Math.min(most, QUIET_WAIT_MS) : most;
  const seconds = Number(given["wait_seconds"] ?? 0);
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0) * 1000, config.MILLRACE_SYNC_WAIT_MS) : 0;
}

/** Waits for the run of a call and returns the result. */
export async function settledCall(
  deps: HandlerDeps,
  call: ToolCall,
  { row: run, replayed }: CalledRun,
): Promise<JsonObject> {
  const row = await deps.runService.settled(run, waitMs(deps, call), call.gone);
  return toolResult({ row, replayed }, await viewInference(deps, row));
}

/** The result of a call as server-sent events: notifications of progress, then the response. */
export async function* callEvents(
  deps: HandlerDeps,
  call: ToolCall,
  { row: run, replayed }: CalledRun,
): AsyncGenerator<string, void> {
  const { db, runService, config } = deps;
  const { id, progressToken, gone, cancelled } = call;
  const { signal: waits, end } = limitedSignal([gone, cancelled], waitMs(deps, call));
  const follow = { db, ...runService, keepAliveMs: Math.min(config.MILLRACE_STREAM_KEEP_ALIVE_MS, PROGRESS_MS) };
  let row = run;
  let progress = -1;
  try {
    for await (const next of followRun(follow, run, NO_PATHS, waits)) {
      if (next !== null) row = next.row;
      if (isSettled(row.state)) break;
      if (progressToken === undefined) {
        if (next === null) yield SSE_COMMENT;
        continue;
      }
      const done = row.completed_nodes + row.skipped_nodes;
      if (next !== null && done <= progress) continue;
      progress = done > progress ? done : progress + TICK;
      const message = `run ${row.run_id} is ${row.state}`;
      const params = { progressToken, progress, total: row.total_nodes, message };
      yield event({ jsonrpc: "2.0", method: "notifications/progress", params });
    }
  } finally {
    end();
  }
  if (gone.aborted) return;
  const last = isSettled(row.state) ? row : await requireRun(db, row.org_id, row.run_id);
  yield event({ ...rpcResult(id, toolResult({ row: last, replayed }, await viewInference(deps, last))) });
}

/** The event has no ID: a broken stream is not resumed, and the client reads the run instead. */
function event(message: JsonObject): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
