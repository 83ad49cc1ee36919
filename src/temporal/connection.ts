import { Client } from "@temporalio/client";
import { NativeConnection } from "@temporalio/worker";
import type { Config } from "../config.ts";

export interface TemporalConnection {
  readonly connection: NativeConnection;
  readonly client: Client;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Connects to Temporal. Client and workers of a process share the connection: eager start needs that. */
export async function connectTemporal(config: Config): Promise<TemporalConnection> {
  const connection = await NativeConnection.connect({
    address: config.TEMPORAL_ADDRESS,
    ...(config.TEMPORAL_TLS || config.TEMPORAL_API_KEY ? { tls: true } : {}),
    ...(config.TEMPORAL_API_KEY ? { apiKey: config.TEMPORAL_API_KEY } : {}),
  });
  const client = new Client({ connection, namespace: config.TEMPORAL_NAMESPACE });
  return {
    connection,
    client,
    async ping() {
      await connection.workflowService.describeNamespace({ namespace: config.TEMPORAL_NAMESPACE });
    },
    close: () => connection.close(),
  };
}
