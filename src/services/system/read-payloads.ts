import { PayloadUnreadable } from "../../platform/secrets/payload-cipher.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { Database } from "../../stores/db.ts";
import { getRun } from "../../stores/runs/runs.ts";
import { labelsOf } from "../../temporal/payloads.ts";
import type { Payloads } from "../secrets/payloads.ts";

/** A payload as Temporal stores it. */
export interface RawPayload {
  readonly metadata: Readonly<Record<string, Uint8Array>>;
  readonly data: Uint8Array;
}

export interface PayloadReader {
  /**
   * Decrypts payloads; if an organisation is named, only those of its runs. Throws PayloadUnreadable, with the
   * payload's place in `at`.
   */
  decode(payloads: readonly RawPayload[], orgId: string | null): Promise<RawPayload[]>;
  encode(payloads: readonly RawPayload[]): Promise<RawPayload[]>;
}

/** Thrown for a payload that claims our encryption but does not have it. */
export class UnreadablePayloadAt extends Error {
  readonly at: number;

  constructor(at: number, cause: PayloadUnreadable) {
    super(cause.message, { cause });
    this.name = "UnreadablePayloadAt";
    this.at = at;
  }
}

/** Reads the inputs and results of workflows, for Temporal's UI and command line. */
export function createPayloadReader(db: Database, { codec }: Pick<Payloads, "codec">): PayloadReader {
  /** A workflow's id names its run; decryption authenticates the payload's label. */
  async function isOf(orgId: string, workflowId: string): Promise<boolean> {
    const runId = /^run-([0-9a-f-]{36})(?:\/|$)/.exec(workflowId)?.[1] ?? "";
    return isUuid(runId) && (await db.org(orgId, (connection) => getRun(connection, runId))) !== null;
  }

  return {
    async decode(payloads, orgId) {
      const known = new Map<string, boolean>();
      const opened: RawPayload[] = [];
      for (const [at, payload] of payloads.entries()) {
        const labels = labelsOf(payload);
        if (labels !== null && orgId !== null && !known.has(labels.workflow_id))
          known.set(labels.workflow_id, await isOf(orgId, labels.workflow_id));
        const mayRead = labels !== null && (orgId === null || known.get(labels.workflow_id) === true);
        opened.push(mayRead ? await open(payload, at) : payload);
      }
      return opened;
    },
    encode: async (payloads) => (await codec.encode([...payloads])).map(whole),
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
