import type { Principal } from "../../domain/accounts/principal.ts";
import { ValidationProblem, type ValidationIssue } from "../../domain/errors.ts";
import { validateRunInputs } from "../../domain/flow/io/run-inputs.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import type { Json } from "../../domain/json.ts";
import { uploadedFile } from "../../domain/media/media.ts";
import type { RanByType, RunType } from "../../domain/runs/run.ts";
import type { Database } from "../../stores/db.ts";
import { findUpload, noUpload, type UploadReader } from "../documents/find-upload.ts";
import type { Parts } from "../parts.ts";

export type RunInputsDeps = Parts<"db" | "maxInputBytes">;

/** The owner of the run, and its flow. */
export interface InputsReader extends Omit<UploadReader, "node_id"> {
  readonly plan: Plan;
  /** The reused nodes by ID; their inputs are not read again. */
  readonly reused?: Readonly<Record<string, unknown>>;
}

type Inputs = Readonly<Record<string, Json>>;

/** Checks the inputs of a run against its flow and the uploads that the caller may use. Throws 422 with every problem. */
export async function requireInputs(
  { db, maxInputBytes }: RunInputsDeps,
  { plan, reused = {}, ...reader }: InputsReader,
  body: unknown,
  options?: Parameters<typeof validateRunInputs>[3],
): Promise<{ readonly inputs: Inputs; readonly ignored: readonly string[] }> {
  const { inputs, ignored, issues } = validateRunInputs(plan, body, { max_input_bytes: maxInputBytes }, options);
  const nodes = plan.nodes.filter(({ id }) => !Object.hasOwn(reused, id));
  const missing = await missingUploads(db, nodes, reader, inputs);
  const all = [
    ...issues,
    ...missing.map(({ id, ...issue }) => ({ loc: [...(options?.loc ?? ["body"]), id], ...issue })),
  ];
  if (all.length > 0) throw new ValidationProblem(all);
  return { inputs, ignored };
}

/** Inputs with an upload that this run cannot use. If an upload is deleted later, its node fails. */
async function missingUploads(
  db: Database,
  nodes: Plan["nodes"],
  reader: Omit<UploadReader, "node_id">,
  inputs: Inputs,
): Promise<Array<Omit<ValidationIssue, "loc"> & { readonly id: string }>> {
  const missing = [];
  for (const { id, type } of nodes) {
    const fileId = type === "audio" || type === "image" ? uploadedFile(inputs[id]) : undefined;
    if (fileId === undefined) continue;
    const asked = { ...reader, node_id: id };
    if (!(await findUpload(db, fileId, asked)))
      missing.push({ id, msg: noUpload(fileId, asked), type: "file_not_found" });
  }
  return missing;
}

/** The caller, in the form of a run's row. */
export function ranBy(principal: Principal): { ran_by_type: RanByType; ran_by_id: string } {
  return { ran_by_type: principal.type, ran_by_id: principal.id };
}

/**
 * The type of a run of `version` that is created from another run. A copy of a child run or of an experiment's run
 * becomes `api`, because no parent waits for it; so does a copy of a draft's run if it has a deployed version.
 */
export function outsideOfOthers(type: RunType, version: number): RunType {
  return type === "sub_workflow" || type === "batch" || (type === "draft" && version > 0) ? "api" : type;
}
