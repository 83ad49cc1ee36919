import type { StoredValue } from "../../domain/json.ts";
import type { RunInput } from "../../domain/runs/run.ts";
import type { PayloadCipher } from "../../platform/secrets/payload-cipher.ts";
import type { NewRun } from "../../stores/runs/runs.ts";

export type StartableRun = Pick<
  NewRun,
  | "org_id"
  | "run_id"
  | "project_id"
  | "flow_version"
  | "user_id"
  | "metadata"
  | "inputs"
  | "timeout_seconds"
  | "start_input"
>;

/**
 * The inputs that a flow redacts: the row keeps them only to start the run, never for readers. They are encrypted by
 * the same keys as Temporal's payloads.
 */
export interface StartInputs {
  /** Returns the row as it is stored. */
  seal(row: NewRun): Promise<NewRun>;
  /** The input of a stored row's workflow. Throws PayloadUnreadable. */
  open(row: StartableRun): Promise<Omit<RunInput, "plan">>;
}

/** `seals` false, for the first step of an upgrade: it reads sealed rows but does not seal new ones. */
export function createStartInputs(cipher: PayloadCipher, { seals }: { readonly seals: boolean }): StartInputs {
  return {
    async seal(row) {
      const { inputs } = row.start_input;
      if (!seals || inputs === undefined) return row;
      const { key_id, data } = await cipher.seal(Buffer.from(JSON.stringify(inputs)), placeOf(row));
      const sealed = { key_id, data: data.toString("base64") };
      return { ...row, start_input: { ...row.start_input, inputs: referencesIn(inputs), sealed } };
    },
    async open(row) {
      const { sealed, ...start_input } = row.start_input;
      if (sealed === undefined) return startInput(row);
      const bytes = await cipher.open(sealed.key_id, Buffer.from(sealed.data, "base64"), placeOf(row));
      const inputs = JSON.parse(bytes.toString()) as Record<string, StoredValue>;
      return startInput({ ...row, start_input: { ...start_input, inputs } });
    },
  };
}

/** Binds it to its row: it cannot be opened in another run's. */
function placeOf({ run_id }: Pick<NewRun, "run_id">): string {
  return `runs/${run_id}/start_input`;
}

/** In clear text, because a blob is kept as long as a row names it. */
function referencesIn(inputs: Readonly<Record<string, StoredValue>>): Readonly<Record<string, StoredValue>> {
  return Object.fromEntries(Object.entries(inputs).filter(([, value]) => "ref" in value));
}

/** The input of a new row's workflow. A child run loads its own plan. */
export function startInput(row: StartableRun): Omit<RunInput, "plan"> {
  const { limits, depth, reuse, resumes, inputs } = row.start_input;
  return {
    org_id: row.org_id,
    run_id: row.run_id,
    project_id: row.project_id,
    flow_version: row.flow_version,
    user_id: row.user_id,
    metadata: row.metadata,
    // If the row's inputs are redacted, it keeps the original ones until the run has started.
    inputs: inputs ?? row.inputs,
    timeout_seconds: row.timeout_seconds,
    limits: limits ?? { max_iterations: 10_000 },
    depth: depth ?? 0,
    ...(reuse ? { reuse } : {}),
    ...(resumes ? { resumes } : {}),
  };
}
