import type { Config } from "../../config.ts";
import { notFound } from "../../domain/errors.ts";
import { parseRedactPaths, redact } from "../../domain/flow/redact.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import type { Json, StoredValue } from "../../domain/json.ts";
import type { RunEnvironment } from "../../domain/projects/environments.ts";
import { isUuid } from "../../domain/uuid.ts";
import { ANY_LENGTH, createInlineBudget, storeValue, type BlobStore } from "../../platform/blobs/blobs.ts";
import type { Database, Db } from "../../stores/db.ts";
import {
  getRun,
  insertRun,
  insertRunPins,
  type NewRun,
  type ResumedFrom,
  type RunRow,
  type StartInput,
} from "../../stores/runs/runs.ts";
import type { RunStarter } from "../../temporal/runs.ts";
import type { StartedBy } from "../triggers/chain.ts";
import { createQuotaReader, defaultQuotas, type QuotaReader } from "../accounts/quotas.ts";
import { capsOf, findFull, insertWithin, type RunCaps } from "./run-caps.ts";
import { delayUntil, startInput } from "./start-inputs.ts";
import { traceOfNew } from "./run-traces.ts";
import type { Parts } from "../parts.ts";

export interface CreateRunDeps extends Parts<"db" | "blobs" | "starter" | "startInputs"> {
  /** Default: storeInputs. */
  readonly store?: typeof storeInputs;
  /** Called if a run could not be started immediately; the sweeper starts it later. */
  readonly onStartDelayed: (runId: string, error: unknown) => void;
  readonly limits: RunLimits;
}

/** How to create a run that no caller waits for. */
export interface Later {
  /** Inserts a run's row, together with concurrent ones; false if the ID exists. */
  insert(row: NewRun): Promise<boolean>;
  /** Queues a run for its start. */
  add(run: { readonly run_id: string; readonly org_id: string; readonly plan: Plan }): void;
}

/** Limits of runs, by configuration. */
export interface RunLimits {
  readonly max_iterations: number;
  readonly timeout_seconds: number;
  readonly max_timeout_seconds: number;
  readonly quotas: QuotaReader;
  readonly max_nested_runs: number;
}

export function runLimits(config: Config, db: Database): RunLimits {
  return {
    max_iterations: config.MILLRACE_MAX_ITERATIONS,
    timeout_seconds: config.MILLRACE_RUN_TIMEOUT_SECONDS,
    max_timeout_seconds: config.MILLRACE_MAX_RUN_TIMEOUT_SECONDS,
    quotas: createQuotaReader(db, defaultQuotas(config)),
    max_nested_runs: config.MILLRACE_MAX_NESTED_RUNS,
  };
}

/** A request for a run, with its flow resolved and its inputs checked. */
export interface RunRequest
  extends
    Pick<NewRun, "org_id" | "run_id" | "project_id" | "user_id" | "run_type" | "ran_by_type" | "ran_by_id" | "key_id">,
    Partial<Pick<NewRun, "metadata" | "tags" | "timeout_seconds" | "ignored_inputs">>,
    Pick<StartInput, "reuse" | "resumes"> {
  readonly version: number;
  /** With the connections of the environment. */
  readonly plan: Plan;
  /** The environment that the version was taken from; absent for drafts and explicit versions. */
  readonly environment?: RunEnvironment | null;
  readonly inputs: Readonly<Record<string, Json>>;
  /** The time at which the run starts (RFC 3339). */
  readonly run_at?: string;
  readonly resumed_from?: ResumedFrom;
  /** The run that requests this one or whose values it gets, or only that run's depth. */
  readonly started_by?: StartedBy | undefined;
  /** The different runs that pinned values were copied from. */
  readonly pinned_from?: readonly string[];
}

/** Inputs longer than this in total (bytes) go to the blob store, even if each alone is short. */
const INLINE_INPUTS_BYTES = 256 * 1024;

/**
 * Inserts a run and starts its workflow, or queues it with `later`. Once the row exists, the run is certain to start:
 * if Temporal does not respond, the sweeper starts it later. The same `run_id` again returns the existing run. Throws
 * Problems `too_many_concurrent_runs` and `quota_exceeded`.
 */
export async function createRun(
  deps: Omit<CreateRunDeps, "starter"> & { readonly starter: Pick<RunStarter, "start"> },
  request: RunRequest,
  later?: Later,
): Promise<RunRow> {
  const { db, starter } = deps;
  const { org_id, run_id, pinned_from = [] } = request;
  const caps = await capsOf(deps.limits.quotas, request);
  if (caps !== null) {
    // Checked before anything is stored, so that a run beyond a limit costs only one query.
    const full = await db.org(org_id, (connection) => findFull(connection, caps));
    const known = full && (await db.org(org_id, (connection) => getRun(connection, run_id)));
    if (known) return known;
    if (full) throw full;
  }
  const inputs = await (deps.store ?? storeInputs)(deps.blobs, org_id, request.inputs);
  const row = newRunRow(request, inputs, deps.limits, 0);
  const stored = await deps.startInputs.seal(row);
  const insert = (): Promise<boolean> => {
    if (caps !== null || pinned_from.length > 0)
      return db.orgTransaction(org_id, (connection) => insertPinned(connection, stored, pinned_from, caps));
    return later ? later.insert(stored) : db.org(org_id, (connection) => insertRun(connection, stored));
  };
  const isNew = await insert();
  const run = isNew ? asRow(stored) : await db.org(org_id, (connection) => getRun(connection, run_id));
  if (!run) throw new Error(`run ${request.run_id} was inserted before, but cannot be read`);
  if (later) {
    later.add({ run_id, org_id, plan: request.plan });
    return run;
  }
  const delayMs = delayUntil(request.run_at);
  // Runs of API calls and actions are urgent, because a caller waits for them.
  const urgency =
    (request.run_type === "api" || request.run_type === "draft") && delayMs === undefined ? "awaited" : "later";
  try {
    await starter.start({ ...startInput(row), plan: request.plan }, { urgency, delayMs });
  } catch (error) {
    deps.onStartDelayed(request.run_id, error);
  }
  return run;
}

/** Inserts a run within its limits and records where its pinned values come from. Throws 404 if such a run was deleted meanwhile. */
async function insertPinned(db: Db, row: NewRun, sources: readonly string[], caps: RunCaps | null): Promise<boolean> {
  const isNew = caps === null ? await insertRun(db, row) : await insertWithin(db, row, caps);
  if (isNew && sources.length > 0 && (await insertRunPins(db, row.run_id, sources)) < sources.length)
    throw notFound("run");
  return isNew;
}

const UNLESS_GIVEN = { key_id: null, parent_run_id: null, resumed_from: null, run_at: null, metadata: {}, tags: [] };

/** The row of a run about to be inserted. Redacted values are not in the readable columns. */
export function newRunRow(
  request: Omit<RunRequest, "inputs"> & { readonly parent_run_id?: string },
  inputs: Readonly<Record<string, StoredValue>>,
  limits: Pick<RunLimits, "max_iterations" | "timeout_seconds" | "max_timeout_seconds">,
  depth: number,
): NewRun {
  const { version, plan, environment, started_by, pinned_from: _pinned, reuse, resumes, ...given } = request;
  const wanted = request.timeout_seconds ?? plan.settings.timeout_seconds ?? limits.timeout_seconds;
  const readable = withoutRedacted(inputs, plan);
  return {
    ...UNLESS_GIVEN,
    ignored_inputs: [],
    ...given,
    flow_version: version,
    inputs: readable,
    environment: environment?.name ?? null,
    bindings_id: environment?.bindings_id ?? null,
    caused_by: typeof started_by === "string" && isUuid(started_by) ? started_by : null,
    start_input: {
      limits: { max_iterations: limits.max_iterations },
      depth,
      // The original values, which the row keeps only until the run has started.
      ...(readable === inputs ? {} : { inputs }),
      ...(reuse && { reuse }),
      ...(resumes && { resumes }),
    },
    timeout_seconds: Math.min(wanted, limits.max_timeout_seconds),
    total_nodes: plan.nodes.length,
    trace: traceOfNew(),
  };
}

/** The inputs in the form that a run carries: long ones by reference, and all of them beyond a total. */
export async function storeInputs(
  blobs: BlobStore,
  orgId: string,
  inputs: Readonly<Record<string, Json>>,
): Promise<Record<string, StoredValue>> {
  const within = createInlineBudget(blobs, orgId, INLINE_INPUTS_BYTES);
  const stored: Record<string, StoredValue> = {};
  for (const [id, input] of Object.entries(inputs)) {
    // Any length, because the text's length was already checked and its JSON may be a few times longer.
    stored[id] = await within(await storeValue(blobs, orgId, input, ANY_LENGTH));
  }
  return stored;
}

function withoutRedacted(
  inputs: Readonly<Record<string, StoredValue>>,
  plan: Plan,
): Readonly<Record<string, StoredValue>> {
  const parsed = parseRedactPaths(plan.settings.redact ?? []);
  if (!parsed.ok || parsed.paths.length === 0) return inputs;
  let changed = false;
  const readable = Object.entries(inputs).map(([id, value]): [string, StoredValue] => {
    // A long input need not be loaded: inputs are texts, so a path hides all of it or nothing.
    const before = "v" in value ? value.v : "";
    const after = redact(before, parsed.paths, ["inputs", id]);
    if (after === before) return [id, value];
    changed = true;
    return [id, { v: after }];
  });
  return changed ? Object.fromEntries(readable) : inputs;
}

/** Builds the inserted row without reading it again. */
function asRow(run: NewRun): RunRow {
  const now = new Date().toISOString();
  return {
    ...run,
    environment: run.environment ?? null,
    bindings_id: run.bindings_id ?? null,
    state: "PENDING",
    state_reason: null,
    outputs: null,
    citations: null,
    error: null,
    usage: {},
    started_nodes: 0,
    completed_nodes: 0,
    skipped_nodes: 0,
    current_node: null,
    event_seq: 0,
    created_at: now,
    started_at: null,
    paused_at: null,
    finished_at: null,
    updated_at: now,
    temporal_run_id: null,
    cancel_requested: null,
    ignored_inputs: run.ignored_inputs ?? [],
  };
}
