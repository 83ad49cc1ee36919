import type { Principal } from "../../domain/accounts/principal.ts";
import { ValidationProblem } from "../../domain/errors.ts";
import type { ValidationIssue } from "../../domain/errors.ts";
import { validateRunInputs } from "../../domain/flow/io/run-inputs.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import type { Json } from "../../domain/json.ts";
import { uploadedFile } from "../../domain/media/media.ts";
import type { RanByType, RunType } from "../../domain/runs/run.ts";
import type { Database } from "../../stores/db.ts";
import { findUpload, noUpload } from "../documents/find-upload.ts";
import type { UploadReader } from "../documents/find-upload.ts";

export interface RunInputsDeps {
  readonly db: Database;
  readonly maxInputBytes: number;
}

/** Whose run it is, of what flow. */
export interface InputsReader extends Omit<UploadReader, "node_id"> {
  readonly plan: Plan;
  /** By node id: nodes whose values are taken over, so that what they were given is not read again. */
  readonly reused?: Readonly<Record<string, unknown>>;
}

type Inputs = Readonly<Record<string, Json>>;

/**
 * The inputs of a run, checked against its flow and against the uploads that whoever asks may see. Throws the 422 with
 * every offending input.
 */
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

/** Inputs that name an upload which is not there for this run; one that goes before its node runs is the node's failure. */
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

/** Who runs it, as the run's row says it. */
export function ranBy(principal: Principal): { ran_by_type: RanByType; ran_by_id: string } {
  return { ran_by_type: principal.type, ran_by_id: principal.id };
}

/** What a run is called that another one is made of: one of a sub-flow, or of an experiment, has nobody any more who waits for it. */
export function outsideOfOthers(type: RunType): RunType {
  return type === "sub_workflow" || type === "batch" ? "api" : type;
}
