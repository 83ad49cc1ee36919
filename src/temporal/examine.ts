import { Client, Connection } from "@temporalio/client";
import type { DataConverter } from "@temporalio/common";
import type { Config } from "../config.ts";
import { temporalAddress } from "./address.ts";
import { keepsFairness } from "./probe-fairness.ts";
import { describeQueues, type QueueStats } from "./queues.ts";

/** How long the server may take to accept a connection (ms). */
const CONNECT_MS = 5000;

/** The result of examining Temporal. */
export type TemporalView =
  | { readonly unreachable: string }
  /** The server is available, but does not serve the namespace. */
  | { readonly refused: string }
  | {
      readonly version: string;
      readonly queues: readonly QueueStats[];
      /** Whether its queues are fair between organisations; null if this could not be tested. */
      readonly fair: boolean | null;
    };

/** Thrown if Temporal does not respond, or does not serve the namespace. The message is Temporal's reason. */
export class TemporalDenied extends Error {
  readonly why: "unreachable" | "refused";

  constructor(why: "unreachable" | "refused", cause: unknown) {
    super(messageOf(cause), { cause });
    this.name = "TemporalDenied";
    this.why = why;
  }
}

/** Runs `work` with a client on its own connection. Throws TemporalDenied. */
export async function withClient<T>(
  config: Config,
  dataConverter: DataConverter,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { TEMPORAL_NAMESPACE: namespace } = config;
  const address = { ...temporalAddress(config), connectTimeout: CONNECT_MS };
  const connection = await Connection.connect(address).catch((error: unknown) => {
    throw new TemporalDenied("unreachable", error);
  });
  try {
    await connection.workflowService.describeNamespace({ namespace }).catch((error: unknown) => {
      throw new TemporalDenied("refused", error);
    });
    return await work(new Client({ connection, namespace, dataConverter }));
  } finally {
    await connection.close();
  }
}

/** Checks once whether Temporal is available and serves the namespace, and which processes poll the task queues. Never rejects. */
export async function examineTemporal(config: Config): Promise<TemporalView> {
  const namespace = config.TEMPORAL_NAMESPACE;
  try {
    return await withClient(config, {}, async (client) => {
      const { serverVersion } = await client.workflowService.getSystemInfo({});
      const queues = await describeQueues(client, namespace, config.MILLRACE_TASK_QUEUE);
      // The test mistakes a fair server for an unfair one about once in sixteen times, so it runs twice.
      const isFair = async (): Promise<boolean> =>
        (await keepsFairness(client, namespace)) || keepsFairness(client, namespace);
      const fair = await isFair().catch(() => null);
      return { version: serverVersion, queues, fair };
    });
  } catch (error) {
    if (error instanceof TemporalDenied && error.why === "unreachable") return { unreachable: error.message };
    return { refused: messageOf(error) };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
