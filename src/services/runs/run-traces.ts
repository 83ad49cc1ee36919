import { LRUCache } from "lru-cache";
import { isToolPath, stepPath } from "../../domain/models/agent.ts";
import { isNodeEnd, isTerminal, type NodeRecord, type RunUpdate } from "../../domain/runs/run.ts";
import { currentSpan, withinSpan } from "../../platform/tracing/current.ts";
import { isSampled, spanIdOf, traceIdOf } from "../../platform/tracing/trace-context.ts";
import { beginSpan, type Tracer } from "../../platform/tracing/tracer.ts";
import type { Database } from "../../stores/db.ts";
import { getNodeRun } from "../../stores/runs/node-runs.ts";
import type { RunWriteResult } from "../../stores/runs/run-record.ts";
import { getRunTrace, type RunTraceRow } from "../../stores/runs/run-traces.ts";

interface RunOf {
  readonly org_id: string;
  readonly run_id: string;
}

interface RunTrace {
  readonly trace_id: string;
  readonly parent_id: string | null;
  readonly sampled: boolean;
  readonly linked_run_id: string | null;
}

/** An attempt of a node or of one of its parts. */
export interface TracedAttempt extends RunOf {
  readonly path: string;
  readonly node_id: string;
  readonly type: string;
  readonly attempt: number;
  /** Whether the flow redacts anything, in which case no content is exported. */
  readonly redacts: boolean;
}

/** The traces of runs. Spans of runs and nodes are created when their ends are recorded, spans of attempts while these run. */
export type RunTraces = ReturnType<typeof createRunTraces>;

/** For processes that export no traces. */
export const NO_TRACES: RunTraces = {
  load: async () => undefined,
  idOf: () => undefined,
  attempt: (_attempt, work) => work(),
  within: (_run, _path, work) => work(),
  recorded: () => undefined,
  settled: async () => undefined,
};

/** The trace of a new run, taken from the current span. Undefined if the trace is derived from the run alone. */
export function traceOfNew(): RunTraceRow | undefined {
  const span = currentSpan();
  if (span === undefined) return undefined;
  const { trace_id, span_id: parent_id, sampled } = span;
  return { trace_id, parent_id, sampled, linked_run_id: null };
}

/** Most run traces kept in memory. */
const MAX_KNOWN = 5000;
/** Most writes whose spans wait for the database. */
const MAX_PENDING = 1000;

export function createRunTraces(db: Database, tracer: Tracer) {
  const known = new LRUCache<string, RunTrace>({ max: MAX_KNOWN });
  const pending = new Set<Promise<void>>();

  async function traceOf({ org_id, run_id }: RunOf): Promise<RunTrace> {
    const before = known.get(run_id);
    if (before) return before;
    const row = await db.org(org_id, (connection) => getRunTrace(connection, run_id));
    const { trace_id = null, parent_id = null, sampled = null, linked_run_id = null } = row ?? {};
    const own = ownTrace(run_id);
    const trace =
      trace_id === null ? { ...own, linked_run_id } : { trace_id, parent_id, sampled: sampled === true, linked_run_id };
    known.set(run_id, trace);
    return trace;
  }

  function ownTrace(runId: string): RunTrace {
    const trace_id = traceIdOf(runId);
    return { trace_id, parent_id: null, sampled: isSampled(trace_id, tracer.ratio), linked_run_id: null };
  }

  /** A missing trace must not fail a run, so without the database the run gets its own trace. */
  const traceOrOwn = (run: RunOf): Promise<RunTrace> => traceOf(run).catch(() => ownTrace(run.run_id));

  async function makeSpans(
    update: RunUpdate,
    { old_state, state, project_id, changed_nodes, ...result }: RunWriteResult,
  ) {
    const trace = await traceOf(update);
    if (!trace.sampled) return;
    const { run_id, org_id } = update;
    const common = { "millrace.org.id": org_id, "millrace.project.id": project_id, "millrace.run.id": run_id };
    const changed = new Set(changed_nodes);
    for (const node of update.nodes) {
      if (!changed.has(node.path) || !isNodeEnd(node.state)) continue;
      if (node.started_at === null || node.finished_at === null) continue;
      const { name, attributes } = await described(update, node);
      tracer.emit({
        trace_id: trace.trace_id,
        span_id: spanIdOf(run_id, node.path),
        parent_id: parentSpan(run_id, node.path),
        name,
        kind: "internal",
        start_ms: Date.parse(await firstStart(update, node, node.started_at)),
        end_ms: Date.parse(node.finished_at),
        error: node.state === "FAILED" ? (node.error?.code ?? "failed") : undefined,
        attributes: {
          ...common,
          "millrace.node.id": node.node_id,
          "millrace.node.type": node.type,
          "millrace.node.path": node.path,
          "millrace.node.state": node.state,
          "millrace.node.attempts": node.attempts,
          ...attributes,
        },
      });
    }
    if (state === old_state || !isTerminal(state)) return;
    const end_ms = Date.now();
    const linked = [trace.linked_run_id, result.row?.resumed_from?.run_id].find((id) => typeof id === "string");
    const link = linked === undefined || linked === null ? null : await traceOf({ org_id, run_id: linked });
    tracer.emit({
      trace_id: trace.trace_id,
      span_id: spanIdOf(run_id),
      parent_id: trace.parent_id,
      name: "run",
      kind: "internal",
      start_ms: end_ms - result.latency_ms,
      end_ms,
      error: state === "FAILED" ? (update.error?.code ?? update.state_reason ?? "failed") : undefined,
      attributes: {
        ...common,
        "millrace.run.state": state,
        "millrace.run.type": result.row?.run_type,
        "millrace.flow.version": result.row?.flow_version,
        "millrace.run.parent_id": result.row?.parent_run_id ?? undefined,
      },
      ...(link && linked ? { links: [{ trace_id: link.trace_id, span_id: spanIdOf(linked) }] } : {}),
    });
  }

  /** The start of a node's first attempt, with which the span of a retried node begins. */
  async function firstStart({ org_id, run_id }: RunOf, node: NodeRecord, started: string): Promise<string> {
    if (node.attempts < 2) return started;
    return (await db.org(org_id, (connection) => getNodeRun(connection, run_id, node.path)))?.started_at ?? started;
  }

  /** A node's attributes by OpenTelemetry's conventions for generative AI, if these apply. */
  async function described({ org_id, run_id }: RunOf, node: NodeRecord) {
    const { node_id, type, path } = node;
    const named = (operation: string, subject: string, more: Readonly<Record<string, string>> = {}) => ({
      name: `${operation} ${subject}`,
      attributes: { "gen_ai.operation.name": operation, ...more },
    });
    if (isToolPath(path)) {
      const tool = (node.inputs as { readonly tool?: unknown } | null | undefined)?.tool;
      const name = typeof tool === "string" ? tool : type;
      return named("execute_tool", name, { "gen_ai.tool.name": name, "gen_ai.tool.type": "function" });
    }
    if (type === "knowledge") return named("retrieval", node_id);
    const mayBeAgent = type === "llm" && !path.endsWith("]");
    if (mayBeAgent && (await db.org(org_id, (connection) => getNodeRun(connection, run_id, stepPath(path, 1)))))
      return named("invoke_agent", node_id, { "gen_ai.agent.name": node_id });
    return { name: `${type} ${node_id}`, attributes: {} };
  }

  return {
    /** Loads the trace of a run for `idOf`. */
    load: async (run: RunOf): Promise<void> => void (await traceOrOwn(run)),
    /** The trace of a run that has been loaded. */
    idOf: (runId: string): string | undefined => known.get(runId)?.trace_id,
    /** Runs the work of an attempt within its span. */
    async attempt<T>(
      { org_id, run_id, path, node_id, type, attempt, redacts }: TracedAttempt,
      work: () => Promise<T>,
      failed: (result: T) => string | undefined,
    ): Promise<T> {
      const { trace_id, sampled } = await traceOrOwn({ org_id, run_id });
      const span_id = spanIdOf(run_id, path, attempt);
      const place = { trace_id, span_id, parent_id: spanIdOf(run_id, path), sampled };
      const endSpan = beginSpan(tracer, { ...place, name: `attempt ${node_id}`, kind: "internal" });
      const end = (error: string | undefined): void =>
        endSpan(error, {
          "millrace.run.id": run_id,
          "millrace.node.path": path,
          "millrace.node.type": type,
          "millrace.attempt": attempt,
        });
      try {
        const content = tracer.content && !redacts;
        const result = await withinSpan({ tracer, trace_id, span_id, sampled, outbound: true, content }, work);
        end(failed(result));
        return result;
      } catch (error) {
        end("interrupted");
        throw error;
      }
    },
    /** Runs some work within the span of the node at `path`, or else of the run itself. */
    async within<T>(run: RunOf, path: string | null, work: () => Promise<T>): Promise<T> {
      const { trace_id, sampled } = await traceOrOwn(run);
      const span_id = path === null ? spanIdOf(run.run_id) : spanIdOf(run.run_id, path);
      return withinSpan({ tracer, trace_id, span_id, sampled, outbound: true }, work);
    },
    /** Creates the spans of all runs and nodes that a write has ended. */
    recorded(update: RunUpdate, result: RunWriteResult): void {
      if (pending.size >= MAX_PENDING) return tracer.lost();
      const made = makeSpans(update, result)
        .catch(() => tracer.lost())
        .finally(() => pending.delete(made));
      pending.add(made);
    },
    /** Resolves once the spans of all writes so far exist. */
    settled: async (): Promise<void> => void (await Promise.all(pending)),
  };
}

/** The parent span of a node: the map or model it is part of, or else its run. */
function parentSpan(runId: string, path: string): string {
  const end = path.lastIndexOf("/");
  return end === -1 ? spanIdOf(runId) : spanIdOf(runId, path.slice(0, end).replace(/\[\d+\]$/, ""));
}
