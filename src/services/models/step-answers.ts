import { loadValue, storeReference } from "../../platform/blobs/blobs.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";
import type { Database } from "../../stores/db.ts";
import { findStepAnswer, keepStepAnswer } from "../../stores/models/agent-steps.ts";
import type { ModelCall, ModelReply } from "./call-model.ts";

/** A step of a node that calls tools. */
export interface StepPlace {
  readonly org_id: string;
  readonly run_id: string;
  readonly path: string;
  /** Whether this attempt was begun before, by a process that may have got the answer. */
  readonly repeated?: boolean;
}

/** Has the model asked, and keeps what it answers: an answer that is kept is not paid for again. */
export async function answerOnce(
  { db, blobs }: { readonly db: Database; readonly blobs: BlobStore },
  { org_id, run_id, path, repeated = false }: StepPlace,
  ask: (keep: NonNullable<ModelCall["keep"]>) => Promise<ModelReply>,
): Promise<ModelReply> {
  const known = repeated ? await db.org(org_id, (each) => findStepAnswer(each, run_id, path)) : null;
  if (known) return (await loadValue(blobs, known)) as unknown as ModelReply;
  return ask(async (reply) => {
    const answer = await storeReference(blobs, org_id, JSON.stringify(reply));
    return (each) => keepStepAnswer(each, { org_id, run_id, path, answer });
  });
}
