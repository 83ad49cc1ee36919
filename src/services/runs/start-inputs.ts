import type { StoredValue } from "../../domain/json.ts";
import type { RunInput } from "../../domain/runs/run.ts";
import type { PayloadCipher } from "../../platform/secrets/payload-cipher.ts";
import type { NewRun } from "../../stores/runs/runs.ts";

type StartableRun = Omit<NewRun, "trace">;

/**
 * Handles inputs that a flow redacts: the row keeps them only to start the run, encrypted with the same keys as
 * Temporal's payloads.
 */
export type StartInputs = ReturnType<typeof createStartInputs>;

/** With `seals` false, for the first step of an upgrade, sealed rows can be read but new ones are not sealed. */
export function createStartInputs(cipher: PayloadCipher, { seals }: { readonly seals: boolean }) {
  return {
    /** Returns the row in its stored form, with redacted inputs encrypted. */
    async seal(row: NewRun): Promise<NewRun> {
      const { inputs } = row.start_input;
      if (!seals || inputs === undefined) return row;
      const { key_id, data } = await cipher.seal(Buffer.from(JSON.stringify(inputs)), placeOf(row));
      const sealed = { key_id, data: data.toString("base64") };
      return { ...row, start_input: { ...row.start_input, inputs: referencesIn(inputs), sealed } };
    },
    /** The input of a stored row's workflow. Throws PayloadUnreadable. */
    async open(row: StartableRun): Promise<Omit<RunInput, "plan">> {
      const { sealed, ...start_input } = row.start_input;
      if (sealed === undefined) return startInput(row);
      const bytes = await cipher.open(sealed.key_id, Buffer.from(sealed.data, "base64"), placeOf(row));
      const inputs = JSON.parse(bytes.toString()) as Record<string, StoredValue>;
      return startInput({ ...row, start_input: { ...start_input, inputs } });
    },
  };
}

/** Binds the ciphertext to its run: it cannot be opened in another run's row. */
function placeOf({ run_id }: Pick<NewRun, "run_id">): string {
  return `runs/${run_id}/start_input`;
}

/** References to blobs, which stay in clear text because a blob is kept as long as a row names it. */
function referencesIn(inputs: Readonly<Record<string, StoredValue>>): Readonly<Record<string, StoredValue>> {
  return Object.fromEntries(Object.entries(inputs).filter(([, value]) => "ref" in value));
}

/** The input of a new run's workflow, without the plan. */
export function startInput(row: StartableRun): Omit<RunInput, "plan"> {
  const { org_id, run_id, project_id, flow_version, bindings_id, user_id, metadata, timeout_seconds } = row;
  const { limits, depth, reuse, resumes, inputs } = row.start_input;
  return {
    org_id,
    run_id,
    project_id,
    flow_version,
    ...(bindings_id == null ? {} : { bindings_id }),
    user_id,
    metadata,
    // The original inputs, if those in the row are redacted.
    inputs: inputs ?? row.inputs,
    timeout_seconds,
    limits: limits ?? { max_iterations: 10_000 },
    depth: depth ?? 0,
    ...(reuse ? { reuse } : {}),
    ...(resumes ? { resumes } : {}),
  };
}

/** How long the start of a run waits for its time (ms); undefined without such a time. */
export const delayUntil = (run_at: string | null | undefined): number | undefined =>
  run_at == null ? undefined : Math.max(0, Date.parse(run_at) - Date.now());
