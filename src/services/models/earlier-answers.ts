import { RECORDED_CHARS, type Json, type JsonObject, type StoredValue } from "../../domain/json.ts";
import { isToolPath, type ReusedAnswer } from "../../domain/models/agent.ts";
import { statusIn } from "../../domain/runs/failure.ts";
import type { NodeReport } from "../../domain/runs/run-report.ts";
import { createInlineBudget, storeReference } from "../../platform/blobs/blobs.ts";
import type { Db } from "../../stores/db.ts";
import { findStepAnswer, keepStepAnswer } from "../../stores/models/agent-steps.ts";
import { getNodeRun, type NodeRunRow } from "../runs/require-run.ts";
import type { Parts } from "../parts.ts";

type ReuseDeps = Parts<"db" | "blobs">;

interface Place {
  readonly org_id: string;
  readonly run_id: string;
  readonly path: string;
}

/** Longest outputs of one step's calls that the workflow carries by value (characters of JSON). */
const MAX_CARRIED = 128 * 1024;

/**
 * Stores the output of a tool call if its record does not contain it completely, so that a run that resumes this one
 * can reuse it.
 */
export async function keepOutput(
  { db, blobs }: ReuseDeps,
  { org_id, run_id, path, masked }: Place & { readonly masked?: boolean },
  output: Json,
): Promise<void> {
  const text = JSON.stringify(output);
  if (masked !== true && text.length <= RECORDED_CHARS) return;
  const answer = await storeReference(blobs, org_id, text);
  await db.org(org_id, (connection) => keepStepAnswer(connection, { org_id, run_id, path, answer, asked: null }));
}

/**
 * The same for tool calls that child runs answer. No activity ends these, so their outputs are stored when their ends
 * are recorded.
 */
export async function keepFlowOutputs(
  deps: ReuseDeps,
  { org_id, run_id }: Omit<Place, "path">,
  nodes: readonly NodeReport[],
  masked: boolean,
): Promise<void> {
  for (const { type, path, state, value } of nodes) {
    if (type !== "subflow" || state !== "COMPLETED" || value === undefined || !isToolPath(path)) continue;
    const place = { org_id, run_id, path };
    if ("v" in value) await keepOutput(deps, { ...place, masked }, value.v);
    else
      await deps.db.org(org_id, (connection) => keepStepAnswer(connection, { ...place, answer: value, asked: null }));
  }
}

/**
 * Results of an earlier run's tool calls, in the order of `paths`; null for a call that had not finished or failed with
 * an internal error.
 */
export async function earlierAnswers(
  { db, blobs }: ReuseDeps,
  { org_id, run_id }: Omit<Place, "path">,
  earlierRun: string,
  paths: readonly string[],
): Promise<Array<ReusedAnswer | null>> {
  const carry = createInlineBudget(blobs, org_id, MAX_CARRIED);
  const answers: Array<ReusedAnswer | null> = [];
  for (const path of paths) {
    const found = await db.org(org_id, (connection) => earlierAnswer(connection, { org_id, run_id, path }, earlierRun));
    answers.push(found && { ...found, output: await carry(found.output) });
  }
  return answers;
}

async function earlierAnswer(db: Db, place: Place, earlierRun: string): Promise<ReusedAnswer | null> {
  const node = await getNodeRun(db, earlierRun, place.path);
  if (node?.state === "FAILED" && node.error && node.error.code !== "internal_error") {
    const { code, message, retryable, upstream_status } = node.error;
    return { output: { v: { error: { code, message, retryable } } }, failed: true, ...statusIn(upstream_status) };
  }
  if (node?.state !== "COMPLETED") return null;
  const output = await outputOf(db, place, earlierRun, node);
  return output && { output, failed: false, ...editedOf(node) };
}

/** The complete output of a call; null if it is not stored. */
async function outputOf(db: Db, place: Place, earlierRun: string, node: NodeRunRow): Promise<StoredValue | null> {
  const kept = await findStepAnswer(db, earlierRun, place.path);
  // Copied to this run, so that a run that resumes this one finds it too.
  if (kept) await keepStepAnswer(db, { ...place, answer: kept, asked: null });
  return kept ?? (node.truncated ? null : { v: node.output });
}

/** The arguments that a person approved in place of the model's. */
function editedOf({ inputs }: NodeRunRow): Pick<ReusedAnswer, "edited"> {
  const edited = (inputs as JsonObject | null)?.["edited"];
  return edited === undefined ? {} : { edited };
}
