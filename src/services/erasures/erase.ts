import {
  nextProgress,
  type ErasureProgress,
  type ErasureRest,
  type ErasureSlice,
} from "../../domain/erasures/erasure.ts";
import { UUID_PATTERN } from "../../domain/uuid.ts";
import { BlobNotFound } from "../../platform/blobs/blobs.ts";
import type { Database, Db } from "../../stores/db.ts";
import { deleteDocuments } from "../../stores/documents/documents.ts";
import {
  eraseAnswers,
  eraseAuditValues,
  eraseEvents,
  eraseSettings,
  namesErased,
  removeAnswers,
  type LongAnswer,
} from "../../stores/erasures/erase-mentions.ts";
import {
  eraseDatasetRows,
  eraseExports,
  eraseRuns,
  findRunsOfUser,
  keepBlobs,
  runsToErase,
} from "../../stores/erasures/erase-runs.ts";
import {
  erasedBlobs,
  forgetBlobs,
  insertRemovedItems,
  keptHistories,
  markHistoryGone,
  modelCallsLeft,
  noteExecutions,
  placesOfUser,
} from "../../stores/erasures/erasure-items.ts";
import { addRemoved, lockErasure, type OpenErasure } from "../../stores/erasures/erasures.ts";
import { deleteConversations } from "../../stores/models/conversations.ts";
import type { HistoryEraser, HistoryOf } from "../../temporal/erase-histories.ts";
import { forceCancel, type ForceCancelDeps } from "../runs/settle-run.ts";
import { removeUnreferenced } from "../system/sweep-blobs.ts";
import type { Parts } from "../parts.ts";

export interface EraseDeps extends ForceCancelDeps, Parts<"db" | "blobs"> {
  readonly histories: HistoryEraser;
  /** How long an erasure must find nothing before it ends (ms); activities of cancelled runs stop within this time. */
  readonly quietMs: number;
}

/** The result of one step of an erasure. */
interface Slice extends ErasureSlice {
  /** How long to wait before the next step (ms), because something is not finished yet. */
  readonly waitMs?: number;
}

/** The position from which an erasure continues, and how soon (ms); "end" if it is finished. */
export type Erased = { readonly progress: ErasureProgress; readonly waitMs: number } | "end";

const FOUND_AT_ONCE = 1000;
const RUNS_AT_ONCE = 100;
const ROWS_AT_ONCE = 500;
const SCANNED_AT_ONCE = 2000;
const ANSWERS_AT_ONCE = 200;
const HISTORIES_AT_ONCE = 20;
const BLOBS_AT_ONCE = 5000;
/** Wait before the next look (ms), because Temporal deletes histories in the background. */
const WAIT_MS = 500;
const LONGEST_ANSWER_BYTES = 1024 * 1024 * 1024;
const UUIDS = new RegExp(UUID_PATTERN, "gi");

/** Keys of blobs in the payloads of histories: an organisation's id and a blob's. */
export const BLOB_KEYS = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/**
 * Executes the next step of an erasure. Can be called again after any failure: each step deletes what it finds, and
 * counts it in the same transaction. Throws ErasureMoved if another process has continued the erasure meanwhile.
 */
export async function eraseNext(deps: EraseDeps, erasure: OpenErasure): Promise<Erased> {
  const { progress } = erasure;
  const slice = await STEPS[progress.step](deps, erasure);
  const next = nextProgress(progress, slice, { now: Date.now(), quietMs: deps.quietMs });
  if (next === "end") return next;
  const isRepeated = progress.step === "audit" && next.step === "runs" && !progress.found && slice.found === 0;
  // A pass reads whole logs, so the next one comes only when it may be the last.
  const quietAt = Date.parse(next.found_at ?? "") + deps.quietMs;
  return { progress: next, waitMs: slice.waitMs ?? (isRepeated ? Math.max(WAIT_MS, quietAt - Date.now()) : 0) };
}

const STEPS: Readonly<Record<ErasureProgress["step"], (deps: EraseDeps, erasure: OpenErasure) => Promise<Slice>>> = {
  runs: eraseSomeRuns,
  user: eraseOfUser,
  events: ({ db }, erasure) =>
    held(db, erasure, (connection) => eraseEvents(connection, erasure, erasure.progress.after, SCANNED_AT_ONCE)),
  answers: eraseSomeAnswers,
  audit: ({ db }, erasure) =>
    held(db, erasure, (connection) => eraseAuditValues(connection, erasure, erasure.progress.after, SCANNED_AT_ONCE)),
  histories: eraseHistories,
  blobs: eraseBlobs,
};

/** A transaction in which the erasure stays at its position, so that a process taken for dead neither deletes nor counts. */
async function held<T>(db: Database, erasure: OpenErasure, work: (connection: Db) => Promise<T>): Promise<T> {
  return db.systemTransaction(async (connection) => {
    await lockErasure(connection, erasure);
    return work(connection);
  });
}

/** Cancels unfinished runs, and deletes finished ones with everything derived from them. */
async function eraseSomeRuns(deps: EraseDeps, erasure: OpenErasure): Promise<Slice> {
  const { db } = deps;
  const { erasure_id, org_id } = erasure;
  const noted = await held(db, erasure, (connection) => findRunsOfUser(connection, erasure, FOUND_AT_ONCE));
  const runs = await db.system((connection) => runsToErase(connection, erasure_id, RUNS_AT_ONCE));
  for (const { run_id, open } of runs)
    if (open) await forceCancel(deps, org_id, run_id, "The data of this run's user is being erased.");
  const ids = runs.map(({ run_id }) => run_id);
  const removed = await held(db, erasure, async (connection) => {
    const gone = await eraseRuns(connection, erasure, ids);
    const rows = await eraseDatasetRows(connection, erasure, ROWS_AT_ONCE);
    return gone + rows + (await eraseExports(connection, erasure));
  });
  const found = noted + removed;
  // If nothing was deleted, other processes hold these runs, so wait.
  if (found === 0 && runs.length > 0) return { found, after: null, again: true, waitMs: WAIT_MS };
  return { found, after: null, again: found > 0 };
}

/** The user's conversations and documents outside of runs, and settings that name the user. */
async function eraseOfUser({ db }: EraseDeps, erasure: OpenErasure): Promise<Slice> {
  const { erasure_id, org_id, user_id } = erasure;
  const places = await db.org(org_id, (connection) => placesOfUser(connection, user_id, erasure.project_id));
  let found = 0;
  for (const { project_id, node_id } of places) {
    found += await db.orgTransaction(org_id, async (connection) => {
      await lockErasure(connection, erasure);
      if (node_id === null) {
        const conversations = await deleteConversations(connection, project_id, user_id, ROWS_AT_ONCE);
        await addRemoved(connection, erasure_id, { conversations });
        return conversations;
      }
      const documents = await deleteDocuments(connection, { project_id, node_id, user_id }, null, ROWS_AT_ONCE);
      const keys = documents.flatMap(({ blob_key, text_value }) => [
        blob_key,
        ...(text_value && "ref" in text_value ? [text_value.ref.$blob] : []),
      ]);
      await keepBlobs(connection, erasure, keys);
      const ids = documents.map(({ file_id }) => file_id);
      await insertRemovedItems(connection, erasure, "document", ids);
      await addRemoved(connection, erasure_id, { documents: ids.length });
      return ids.length;
    });
  }
  found += await held(db, erasure, (connection) => eraseSettings(connection, erasure));
  return { found, after: null, again: places.length > 0 };
}

async function eraseSomeAnswers({ db, blobs }: EraseDeps, erasure: OpenErasure): Promise<Slice> {
  const { long, ...scanned } = await held(db, erasure, (connection) =>
    eraseAnswers(connection, erasure, erasure.progress.after, ANSWERS_AT_ONCE),
  );
  const gone: string[] = [];
  for (const answer of long) if (await isErased({ db, blobs }, erasure, answer)) gone.push(answer.key);
  const removed = await held(db, erasure, (connection) => removeAnswers(connection, erasure, gone));
  return { ...scanned, found: scanned.found + removed };
}

/** Whether a response in the blob store names something that is being erased. */
async function isErased(
  { db, blobs }: Pick<EraseDeps, "db" | "blobs">,
  { erasure_id, user_id, project_id }: OpenErasure,
  { blob }: LongAnswer,
): Promise<boolean> {
  const bytes = await blobs.read(blob, LONGEST_ANSWER_BYTES).catch((error: unknown) => {
    // A response that cannot be read now may name the user, so the step is retried.
    if (error instanceof BlobNotFound) return null;
    throw error;
  });
  if (bytes === null) return false;
  const text = bytes.toString("utf8");
  if (project_id === null && text.includes(`"user_id":${JSON.stringify(user_id)}`)) return true;
  const ids = new Set(text.match(UUIDS));
  return db.system((connection) => namesErased(connection, erasure_id, [...ids].join(" ")));
}

/** Deletes the Temporal histories of runs, documents and experiments, once nothing writes to them any more. */
async function eraseHistories({ db, histories }: EraseDeps, erasure: OpenErasure): Promise<Slice> {
  const { erasure_id, progress } = erasure;
  const kept = await db.system((connection) =>
    keptHistories(connection, erasure_id, progress.after, HISTORIES_AT_ONCE),
  );
  for (const { kind, item_id, open } of kept) {
    if (open) continue;
    const gone = await histories.erase(kind as HistoryOf, item_id, ({ executions, matches }) =>
      held(db, erasure, async (connection) => {
        await keepBlobs(connection, erasure, matches);
        const fresh = await noteExecutions(connection, erasure, executions);
        await addRemoved(connection, erasure_id, { histories: fresh });
      }),
    );
    if (gone) await held(db, erasure, (connection) => markHistoryGone(connection, erasure_id, item_id));
  }
  if (kept.length === HISTORIES_AT_ONCE) return { found: 0, after: kept.at(-1)?.item_id ?? null };
  // Starts from the beginning while any history is left.
  const left = await db.system((connection) => keptHistories(connection, erasure_id, null, 1));
  return left.length === 0 ? { found: 0, after: null } : { found: 0, after: null, again: true, waitMs: WAIT_MS };
}

/** Removes the blobs that no other row refers to. */
async function eraseBlobs({ db, blobs }: EraseDeps, erasure: OpenErasure): Promise<Slice> {
  const { erasure_id, org_id } = erasure;
  const keys = await db.system((connection) => erasedBlobs(connection, erasure_id, BLOBS_AT_ONCE));
  if (keys.length === 0) return { found: 0, after: null };
  const removed = new Set(await removeUnreferenced({ db, blobs }, org_id, keys));
  await held(db, erasure, async (connection) => {
    // A process that was taken for dead may have removed the same blobs; whoever deletes a record counts its blob.
    const forgotten = await forgetBlobs(connection, erasure_id, keys);
    await addRemoved(connection, erasure_id, { blobs: forgotten.filter((key) => removed.has(key)).length });
  });
  return { found: 0, after: null, again: true };
}

/** What an erasure leaves in place, and why. */
export async function remainingOf({ db }: Pick<EraseDeps, "db">, erasure: OpenErasure): Promise<ErasureRest[]> {
  const count = await db.system((connection) => modelCallsLeft(connection, erasure));
  const reason = "Tokens and costs by run ID, without values: they are needed for billing.";
  return [
    ...(count > 0 ? [{ store: "model_calls", count, reason }] : []),
    { store: "audit_log", count: null, reason: "Who did what and when, without values of the user." },
    { store: "backups", count: null, reason: "Backups made earlier. After a restore, erase the user again." },
  ];
}
