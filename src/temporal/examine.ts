import { Client, Connection } from "@temporalio/client";
import type { Config } from "../config.ts";
import { describeQueues } from "./queues.ts";
import type { QueueStats } from "./queues.ts";

/** How long the server has to take a connection (ms). */
const CONNECT_MS = 5000;

/** What became of a look at Temporal. */
export type TemporalView =
  | { readonly unreachable: string }
  /** The server is there, and does not serve the namespace. */
  | { readonly refused: string }
  | { readonly version: string; readonly queues: readonly QueueStats[] };

/** Looks once whether Temporal is there, serves the namespace, and who polls the task queues. Never rejects. */
export async function examineTemporal(config: Config): Promise<TemporalView> {
  const namespace = config.TEMPORAL_NAMESPACE;
  let connection: Connection;
  try {
    connection = await Connection.connect({
      address: config.TEMPORAL_ADDRESS,
      connectTimeout: CONNECT_MS,
      ...(config.TEMPORAL_TLS || config.TEMPORAL_API_KEY ? { tls: true } : {}),
      ...(config.TEMPORAL_API_KEY ? { apiKey: config.TEMPORAL_API_KEY } : {}),
    });
  } catch (error) {
    return { unreachable: messageOf(error) };
  }
  try {
    const { serverVersion } = await connection.workflowService.getSystemInfo({});
    await connection.workflowService.describeNamespace({ namespace });
    const queues = await describeQueues(new Client({ connection, namespace }), namespace, config.MILLRACE_TASK_QUEUE);
    return { version: serverVersion, queues };
  } catch (error) {
    return { refused: messageOf(error) };
  } finally {
    await connection.close();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
