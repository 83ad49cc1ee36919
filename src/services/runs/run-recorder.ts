import { redact, type RedactPath } from "../../domain/flow/redact.ts";
import type { Json, StoredValue } from "../../domain/json.ts";
import {
  isNodeEnd,
  isSettled,
  type CheckpointNode,
  type LongValues,
  type NodeRecord,
  type PauseOpening,
  type Progress,
  type RunError,
  type RunUpdate,
} from "../../domain/runs/run.ts";
import type { NodeReport, RunIdentity, RunReport } from "../../domain/runs/run-report.ts";
import { ANY_LENGTH, loadValue, storeValue, type BlobStore } from "../../platform/blobs/blobs.ts";
import { isConnectionError, type Database, type Db } from "../../stores/db.ts";
import { getNodeRun } from "../../stores/runs/node-runs.ts";
import { listPauses, replaceResolution } from "../../stores/runs/pauses.ts";
import { keepsCheckpoint, recordRun, type RunEventDraft, type RunWriteResult } from "../../stores/runs/run-record.ts";
import { forgetCancelled } from "../../stores/runs/run-restarts.ts";
import { keepFlowOutputs } from "../models/earlier-answers.ts";
import type { LoadedPlan } from "../projects/plans.ts";
import { endOpenNodes } from "./settle-run.ts";
import { nodeEvents, readableError } from "./node-events.ts";
import { recordValue } from "./recorded-values.ts";
import type { RunTraces } from "./run-traces.ts";
import { shareWrites } from "../shared-writes.ts";
import type { Parts } from "../parts.ts";

export type RunRecorder = ReturnType<typeof createRunRecorder>;

/** The run's state after a write, and whether the run must start no further nodes. */
export type Recorded = Pick<RunWriteResult, "state" | "stopped">;

/** A COMPLETED node is returned only if the record has its value complete and unmasked. */
export type EarlierNode =
  | { readonly state: "COMPLETED"; readonly attempts: number; readonly value: StoredValue }
  | { readonly state: "FAILED"; readonly attempts: number; readonly error: RunError }
  | { readonly state: "RETRYING"; readonly attempts: number };

export interface RunRecorderDeps extends Parts<"db" | "blobs" | "feed" | "plans" | "observer"> {
  /** After how long without progress the sweeper checks a run (ms). */
  readonly checkAfterMs: number;
  readonly traces: RunTraces;
}

/** The only writer of run records. It removes values that the flow redacts and texts that look like secrets. */
export function createRunRecorder(deps: RunRecorderDeps) {
  const { db, blobs, feed, plans, observer, traces, checkAfterMs } = deps;
  const recordNodes = shareWrites((reports: readonly RunReport[]) => write(joined(reports)), isConnectionError);

  async function write(given: RunReport): Promise<Recorded> {
    const plan = await plans.get(given.run);
    const report = await withFollowers(db, given, plan);
    await traces.load(report.run);
    const update = await toUpdate(report, plan, blobs);
    const events = withoutRepetitions(report.nodes.flatMap(nodeEvents));
    const { org_id, run_id } = report.run;
    // Stored before the record says that the nodes have finished, so that a finished node always has its output.
    await keepFlowOutputs({ db, blobs }, report.run, latest(report.nodes), plan.redact.length > 0);
    if (report.run.restarted === true) await reopen(db, report);
    const result = await db.org(org_id, (connection) => recordRun(connection, update, events, checkAfterMs));
    if (report.pauses_taken && plan.redact.length > 0) {
      await db.org(org_id, (connection) => maskAnswers(connection, report, plan.redact));
    }
    if (!result) throw new Error(`run ${run_id} has no row`);
    feed.changed(run_id, isSettled(result.state) ? "settled" : "progress", result.row ?? undefined);
    observer.recorded(update, result);
    return { state: result.state, stopped: result.stopped };
  }

  return {
    /** Writes a report. Rejects while the database is down. */
    record: (report: RunReport): Promise<Recorded> =>
      hasNodesOnly(report) ? recordNodes(report.run.run_id, report) : write(report),
    /** A node's earlier end in the record, or how many of its attempts have failed. */
    async earlier(run: RunIdentity, path: string): Promise<EarlierNode | null> {
      const node = await db.org(run.org_id, (connection) => getNodeRun(connection, run.run_id, path));
      if (!node) return null;
      const { state, attempts, error } = node;
      if (state === "FAILED" && error) return { state, attempts, error };
      // Without an error the last attempt was still running, so it has not failed.
      if (state === "RETRYING") return { state, attempts: error ? attempts : attempts - 1 };
      if (state !== "COMPLETED" || (await plans.get(run)).redact.length > 0) return null;
      const whole = node.long_values?.output;
      if (node.truncated) return whole ? { state, attempts, value: { ref: whole } } : null;
      return { state, attempts, value: { v: node.output } };
    },
  };
}

/** Adds to a stopped run's end the open nodes that an activity had started after its own; the workflow does not know them. */
async function withFollowers(db: Database, report: RunReport, { plan }: LoadedPlan): Promise<RunReport> {
  const { state, run, nodes } = report;
  const isStopped = state === "CANCELLED" || state === "FAILED";
  if (!isStopped || !plan.nodes.some(({ next }) => next !== undefined)) return report;
  const told = new Set(nodes.map(({ path }) => path));
  const open = await db.org(run.org_id, (connection) => endOpenNodes(connection, run.run_id));
  const followers = open.filter(({ path, node_id }) => path === node_id && !told.has(path));
  return followers.length === 0 ? report : { ...report, nodes: [...nodes, ...followers] };
}

/** Whether a report contains only nodes and progress, so that it can be joined with others of the same run. */
function hasNodesOnly({ run: _run, progress: _progress, nodes: _nodes, ...more }: RunReport): boolean {
  return Object.values(more).every((value) => value === undefined);
}

/** Joins reports of one run, in their order. */
function joined(reports: readonly RunReport[]): RunReport {
  const [first, ...others] = reports;
  if (!first) throw new Error("there is no report");
  return others.reduce(
    (all, { progress, nodes }) => ({
      run: all.run,
      progress: furthest(all.progress, progress),
      nodes: [...all.nodes, ...nodes],
    }),
    first,
  );
}

function furthest(one: Progress, other: Progress): Progress {
  return {
    total_nodes: Math.max(one.total_nodes, other.total_nodes),
    started_nodes: Math.max(one.started_nodes, other.started_nodes),
    completed_nodes: Math.max(one.completed_nodes, other.completed_nodes),
    skipped_nodes: Math.max(one.skipped_nodes, other.skipped_nodes),
    current_node: other.current_node ?? one.current_node,
  };
}

async function toUpdate(report: RunReport, plan: LoadedPlan, blobs: BlobStore): Promise<RunUpdate> {
  const { outputs, checkpoint, nodes, run, pauses_opened, ...rest } = report;
  return {
    ...rest,
    ...(pauses_opened ? { pauses_opened: pauses_opened.map((pause) => withoutSecrets(pause, plan.redact)) } : {}),
    org_id: run.org_id,
    run_id: run.run_id,
    temporal_run_id: run.temporal_run_id,
    started_at: run.started_at,
    ...(report.error ? { error: readableError(report.error) } : {}),
    nodes: await Promise.all(latest(nodes).map((node) => toRecord(node, plan, blobs, run.org_id))),
    ...(outputs ? { outputs: await redactOutputs(outputs, plan, blobs, run.org_id) } : {}),
    ...(checkpoint && keepsCheckpoint(report.state)
      ? { checkpoint: await withoutRedacted(checkpoint, plan, blobs) }
      : {}),
  };
}

/** Redacts the data of a pause that people see. */
function withoutSecrets(pause: PauseOpening, paths: readonly RedactPath[]): PauseOpening {
  return { ...pause, data: redact(pause.data, paths, ["nodes", pause.node_id, "inputs", "data"]) };
}

/** Masks answers that their run has received; until then they are kept whole, because a lost answer is sent again. */
async function maskAnswers(db: Db, { run, pauses_taken = [] }: RunReport, paths: readonly RedactPath[]): Promise<void> {
  for (const { pause_id, node_id, resolution } of await listPauses(db, run.run_id)) {
    if (!resolution || !pauses_taken.includes(pause_id)) continue;
    const data = redact(resolution.data, paths, ["nodes", node_id, "output", "data"]);
    if (data !== resolution.data) await replaceResolution(db, pause_id, { ...resolution, data });
  }
}

/** Removes the cancelled records that a lost workflow's slices left, for nodes that the restarted run reports. */
async function reopen(db: Database, { run, nodes, pauses_opened = [] }: RunReport): Promise<void> {
  const reported = nodes.flatMap(({ path, state }) => (state === "CANCELLED" ? [] : [path]));
  const paths = [...reported, ...pauses_opened.map(({ path }) => path)];
  if (paths.length > 0)
    await db.org(run.org_id, (connection) => forgetCancelled(connection, run.run_id, paths, run.started_at));
}

/** One report per node, its end or else the last one, because a statement cannot write a row twice. */
function latest(reports: readonly NodeReport[]): NodeReport[] {
  const byPath = new Map<string, NodeReport>();
  for (const report of reports) {
    const known = byPath.get(report.path);
    if (!known || !isNodeEnd(known.state)) byPath.set(report.path, report);
  }
  return [...byPath.values()];
}

/**
 * Events without repetitions, and without events of a node after its end, because an attempt whose worker was
 * considered dead may still report. The SQL statement skips events that earlier writes recorded.
 */
function withoutRepetitions(events: readonly RunEventDraft[]): RunEventDraft[] {
  const ended = new Set<unknown>();
  const seen = new Set<string>();
  return events.filter(({ type, data: { path, attempt, error } }) => {
    const key = JSON.stringify([type, path, attempt, error !== undefined && error !== null]);
    if (ended.has(path) || seen.has(key)) return false;
    seen.add(key);
    if (type === "node.finished") ended.add(path);
    return true;
  });
}

async function toRecord(
  { value, inputs, citations, announced: _announced, failed_at: _failed_at, ...node }: NodeReport,
  { redact: paths }: LoadedPlan,
  blobs: BlobStore,
  orgId: string,
): Promise<NodeRecord> {
  const recorded = (member: "inputs" | "output", stored: StoredValue | undefined) =>
    stored &&
    recordValue(
      blobs,
      orgId,
      stored,
      paths.length === 0 ? null : (json) => redact(json, paths, ["nodes", node.node_id, member]),
    );
  const [given, output] = await Promise.all([
    recorded("inputs", inputs === undefined ? undefined : { v: inputs }),
    recorded("output", value),
  ]);
  const whole: LongValues = {
    ...(given?.whole && { inputs: given.whole }),
    ...(output?.whole && { output: output.whole }),
  };
  return {
    ...node,
    ...(output && { output: output.shown, ...(output.isCut && { truncated: true }) }),
    ...(given && { inputs: given.shown }),
    ...(Object.keys(whole).length > 0 && { long_values: whole }),
    ...(citations === undefined ? {} : { citations: maskedCitations(citations, node.node_id, paths) }),
    ...(node.error ? { error: readableError(node.error) } : {}),
  };
}

/** Redacts citations by the paths of `citations` in the node's output, which contains them. */
function maskedCitations(citations: readonly Json[], nodeId: string, paths: readonly RedactPath[]): readonly Json[] {
  if (paths.length === 0) return citations;
  const output = redact({ citations: [...citations] }, paths, ["nodes", nodeId, "output"]);
  const { citations: kept } = (output ?? {}) as { readonly citations?: Json };
  return Array.isArray(kept) ? kept : [];
}

async function redactOutputs(
  outputs: Readonly<Record<string, StoredValue>>,
  { redact: paths }: LoadedPlan,
  blobs: BlobStore,
  orgId: string,
): Promise<Record<string, StoredValue>> {
  const masked = await Promise.all(
    Object.entries(outputs).map(async ([id, value]): Promise<[string, StoredValue]> => {
      if (paths.length === 0) return [id, value];
      const json = await loadValue(blobs, value);
      const kept = redact(json, paths, ["outputs", id]);
      // Any length, because a masked output is not longer than its source, which was already checked.
      return [id, kept === json ? value : await storeValue(blobs, orgId, kept, ANY_LENGTH)];
    }),
  );
  return Object.fromEntries(masked);
}

/** Omits nodes whose value has a redacted part, so that a resumed run executes them again. */
async function withoutRedacted(
  nodes: Readonly<Record<string, CheckpointNode>>,
  { redact: paths }: LoadedPlan,
  blobs: BlobStore,
): Promise<Record<string, CheckpointNode>> {
  if (paths.length === 0) return nodes;
  const kept = await Promise.all(
    Object.entries(nodes).map(async ([id, node]) => {
      const json = await loadValue(blobs, node.value);
      return redact(json, paths, ["nodes", id, "output"]) === json ? [[id, node] as const] : [];
    }),
  );
  return Object.fromEntries(kept.flat());
}
