import type { AuditActor } from "../../domain/audit/audit.ts";
import { digestId } from "../../domain/derived-id.ts";
import { PayloadUnreadable } from "../../platform/secrets/payload-cipher.ts";
import { firstIdOf, isUuid } from "../../domain/uuid.ts";
import type { Logger } from "../../platform/logging/logger.ts";
import type { Database } from "../../stores/db.ts";
import { organisationsOfRuns } from "../../stores/runs/runs.ts";
import { labelsOf } from "../../temporal/payloads.ts";
import { recordAudit } from "../audit/audit.ts";
import type { Payloads } from "../secrets/payloads.ts";

/** A payload as Temporal stores it. */
export interface RawPayload {
  readonly metadata: Readonly<Record<string, Uint8Array>>;
  readonly data: Uint8Array;
}

/** The caller, who may decrypt the payloads of one organisation's runs or, without an organisation, of every workflow. */
export type PayloadCaller = Omit<AuditActor, "org_id"> & { readonly org_id: string | null };

/** Thrown for a payload that is marked as encrypted by Millrace but is not. */
export class UnreadablePayloadAt extends Error {
  readonly at: number;

  constructor(at: number, cause: PayloadUnreadable) {
    super(cause.message, { cause });
    this.name = "UnreadablePayloadAt";
    this.at = at;
  }
}

/** Time in which a caller gets only one audit entry per run (ms), because viewing a history sends one request per event. */
const ENTRY_MS = 60_000;

/** Reads the inputs and results of workflows, for Temporal's UI and command line. */
export function createPayloadReader(
  { db, logger }: { readonly db: Database; readonly logger: Pick<Logger, "info"> },
  { codec }: Pick<Payloads, "codec">,
) {
  /**
   * Writes an entry for each run to its organisation's audit log, and a log line for workflows that belong to no
   * organisation.
   */
  async function record(caller: PayloadCaller, workflowIds: readonly string[], runs: Runs): Promise<void> {
    const orphans = workflowIds.filter((id) => !runs.has(runOf(id)));
    if (orphans.length > 0)
      logger.info({ workflow_ids: orphans.slice(0, 20), address: caller.address }, "payloads of no run were decrypted");
    const since = firstIdOf(Math.floor(Date.now() / ENTRY_MS) * ENTRY_MS);
    for (const run_id of new Set(workflowIds.map(runOf))) {
      const org_id = runs.get(run_id);
      if (org_id === undefined) continue;
      const { actor_id, session_id, address } = caller;
      const entryId = digestId(since, JSON.stringify([run_id, actor_id, session_id, address]));
      const change = { target: { type: "run", id: run_id } };
      await db.org(org_id, (connection) =>
        recordAudit(connection, { ...caller, org_id }, "decodePayloads", change, "success", entryId),
      );
    }
  }

  return {
    /**
     * Decrypts payloads that the caller may read, and records it in the audit logs. Throws UnreadablePayloadAt, with the
     * payload's index in `at`.
     */
    async decode(payloads: readonly RawPayload[], caller: PayloadCaller): Promise<RawPayload[]> {
      const labels = payloads.map((payload) => labelsOf(payload)?.workflow_id);
      const ids = [...new Set(labels.flatMap((id) => id ?? []))];
      const runIds = [...new Set(ids.map(runOf).filter(isUuid))];
      const runs: Runs = await db.system((connection) => organisationsOfRuns(connection, runIds));
      // The workflow's ID names its run, and can be trusted because decryption authenticates it.
      const readable = ids.filter((id) => caller.org_id === null || runs.get(runOf(id)) === caller.org_id);
      const opened: RawPayload[] = [];
      for (const [at, payload] of payloads.entries()) {
        const label = labels[at];
        opened.push(label !== undefined && readable.includes(label) ? await open(payload, at) : payload);
      }
      await record(caller, readable, runs);
      return opened;
    },
    encode: async (payloads: readonly RawPayload[]) => (await codec.encode([...payloads])).map(whole),
  };

  async function open(payload: RawPayload, at: number): Promise<RawPayload> {
    try {
      const [clear] = await codec.decode([payload]);
      return whole(clear ?? {});
    } catch (error) {
      throw error instanceof PayloadUnreadable ? new UnreadablePayloadAt(at, error) : error;
    }
  }
}

function whole({ metadata, data }: { metadata?: RawPayload["metadata"] | null; data?: Uint8Array | null }): RawPayload {
  return { metadata: metadata ?? {}, data: data ?? Buffer.alloc(0) };
}

/** The organisation of each run, by run ID. */
type Runs = ReadonlyMap<string, string>;

/** The run of a workflow, in lower case; "" for any other workflow. */
function runOf(workflowId: string): string {
  return /^run-([0-9a-f-]{36})(?:\/|$)/.exec(workflowId)?.[1] ?? "";
}
