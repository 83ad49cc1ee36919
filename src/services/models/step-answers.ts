import type { StoredValue } from "../../domain/json.ts";
import { loadValue, storeReference } from "../../platform/blobs/blobs.ts";
import { findStepAnswer, keepStepAnswer } from "../../stores/models/agent-steps.ts";
import type { ModelCall, ModelReply } from "./call-model.ts";
import type { Parts } from "../parts.ts";

/** A step of a node that calls tools. */
export interface StepPlace {
  readonly org_id: string;
  readonly run_id: string;
  readonly path: string;
  /** Whether this attempt was started before, by a process that may have stored the answer. */
  readonly repeated?: boolean;
  /** Digests of the node's question. */
  readonly asked: string;
  /** The run that this one resumes. Its answer is reused if the digests are the same. */
  readonly earlier_run?: string | undefined;
}

export interface StepReply {
  readonly reply: ModelReply;
  readonly reused: boolean;
}

/** Asks the model and stores its answer; a stored answer is not paid for again. */
export async function answerOnce(
  { db, blobs }: Parts<"db" | "blobs">,
  { org_id, run_id, path, repeated = false, asked, earlier_run }: StepPlace,
  ask: (keep: NonNullable<ModelCall["keep"]>) => Promise<ModelReply>,
): Promise<StepReply> {
  const read = async (kept: StoredValue) => (await loadValue(blobs, kept)) as unknown as ModelReply;
  const earlier =
    earlier_run === undefined
      ? null
      : await db.org(org_id, (connection) => findStepAnswer(connection, earlier_run, path, asked));
  if (earlier) {
    // Copied to this run, so that a run that resumes this one finds it too.
    await db.org(org_id, (connection) => keepStepAnswer(connection, { org_id, run_id, path, answer: earlier, asked }));
    return { reply: await read(earlier), reused: true };
  }
  const known = repeated ? await db.org(org_id, (connection) => findStepAnswer(connection, run_id, path)) : null;
  if (known) return { reply: await read(known), reused: false };
  const reply = await ask(async (given) => {
    const answer = await storeReference(blobs, org_id, JSON.stringify(given));
    return (each) => keepStepAnswer(each, { org_id, run_id, path, answer, asked });
  });
  return { reply, reused: false };
}
