import { PRODUCTION } from "../../domain/projects/environments.ts";
import { Problem, ValidationProblem } from "../../domain/errors.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { GET_RUN } from "../../domain/flow/io/tool-names.ts";
import type { JsonObject } from "../../domain/json.ts";
import { INVALID_PARAMS, rpcResult, RpcRefused } from "../../domain/runs/tool-protocol.ts";
import type { RpcId } from "../../domain/runs/tool-protocol.ts";
import { isSettled } from "../../domain/runs/run.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { FlowTools, WantedTools } from "../../services/projects/flow-tools.ts";
import type { StartedBy } from "../../services/triggers/chain.ts";
import { requireRun, requireRunFor } from "../../services/runs/require-run.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { SSE_COMMENT } from "../http/event-stream.ts";
import { limitedSignal } from "../../platform/linked-abort.ts";
import { createFlowCall, flowBody } from "./flow-call.ts";
import type { CalledRun } from "./flow-call.ts";
import { followRun } from "./follow-run.ts";
import { viewInference } from "./run-views.ts";
import { refusedResult, toolResult } from "./tool-result.ts";

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

export interface ToolCalls {
  /** The run of a call, or a result if the call starts no run. Throws RpcRefused and Problems. */
  begin(call: ToolCall): Promise<CalledRun | { readonly result: JsonObject }>;
  /** Waits for the run and returns the result. */
  settled(call: ToolCall, run: CalledRun): Promise<JsonObject>;
  /** The result as server-sent events: notifications of progress, then the response. */
  events(call: ToolCall, run: CalledRun): AsyncGenerator<string, void>;
}

export function createToolCalls(deps: ApiDeps, services: ApiServices, tools: FlowTools): ToolCalls {
  const { config, db } = deps;
  const { flows, runService } = services;
  const callFlow = createFlowCall(deps, services);

  async function begin(call: ToolCall): Promise<CalledRun | { readonly result: JsonObject }> {
    const { principal, wanted, started_by, run_id, repeated } = call;
    const { org_id } = principal;
    if (call.name === GET_RUN) return knownRun(call);
    const isProduction = wanted.environment === PRODUCTION;
    const flow_id = await tools.find(org_id, wanted, call.name);
    if (flow_id === null) throw new RpcRefused(INVALID_PARAMS, `Unknown tool: ${call.name.slice(0, 100)}`);
    const body = flowBody.safeParse(call.arguments);
    if (!body.success) return { result: refusedResult("user_id: must be text") };
    try {
      const params = { org_id, flow_id };
      return await callFlow({
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

  async function knownRun({ arguments: given, principal, wanted }: ToolCall) {
    const { run_id } = given;
    const refused = { result: refusedResult("run_id: run not found") };
    if (typeof run_id !== "string" || !isUuid(run_id)) return refused;
    try {
      const row = await requireRunFor({ db, flows }, principal, run_id.toLowerCase());
      return wanted.flows === null || wanted.flows.includes(row.project_id) ? { row, replayed: false } : refused;
    } catch (error) {
      if (!(error instanceof Problem && error.code === "not_found")) throw error;
      return refused;
    }
  }

  /** How long to wait for a call. A call that reads a run waits as long as it requests, by default not at all. */
  function waitMs({ name, arguments: given, progressToken }: ToolCall): number {
    const most = config.MILLRACE_SYNC_WAIT_MS;
    if (name !== GET_RUN) return progressToken === undefined ? Math.min(most, QUIET_WAIT_MS) : most;
    const seconds = Number(given["wait_seconds"] ?? 0);
    return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0) * 1000, config.MILLRACE_SYNC_WAIT_MS) : 0;
  }

  return {
    begin,
    async settled(call, { row: run, replayed }) {
      const row = await runService.settled(run, waitMs(call), call.gone);
      return toolResult({ row, replayed }, await viewInference(deps, row));
    },
    async *events(call, { row: run, replayed }) {
      const { id, progressToken, gone, cancelled } = call;
      const { signal: waits, end } = limitedSignal([gone, cancelled], waitMs(call));
      const follow = {
        db,
        waiter: runService.waiter,
        texts: runService.texts,
        keepAliveMs: Math.min(config.MILLRACE_STREAM_KEEP_ALIVE_MS, PROGRESS_MS),
      };
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
    },
  };
}

/** The event has no ID: a broken stream is not resumed, and the client reads the run instead. */
function event(message: JsonObject): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
