import { setTimeout as delay } from "node:timers/promises";
import { Client } from "@temporalio/client";
import type { DataConverter } from "@temporalio/common";
import { NativeConnection } from "@temporalio/worker";
import type { Config } from "../config.ts";
import { adviceOnNamespace, temporalAddress } from "./address.ts";
import { createDeployment, versionOf } from "./deployments.ts";
import { describeQueues } from "./queues.ts";

export type TemporalConnection = Awaited<ReturnType<typeof connect>>;

/** gRPC's codes for errors that waiting does not resolve: NOT_FOUND (the namespace), PERMISSION_DENIED, UNAUTHENTICATED. */
const FINAL_CODES: readonly unknown[] = [5, 7, 16];
const MAX_WAIT_MS = 5000;

/**
 * Connects to Temporal, and waits until it is available; `onWait` gets the reason. Throws if waiting is useless. Client and workers of a
 * process share the connection, because eager start needs that. `dataConverter` is that of payloads.ts.
 */
export async function connectTemporal(
  config: Config,
  dataConverter: DataConverter,
  onWait: (error: unknown, message: string) => void = () => undefined,
): Promise<TemporalConnection> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = config;
  for (let wait = 250; ; wait = Math.min(wait * 2, MAX_WAIT_MS)) {
    let connected: TemporalConnection | undefined;
    try {
      connected = await connect(config, dataConverter);
      await connected.ping();
      return connected;
    } catch (error) {
      await connected?.close();
      if (FINAL_CODES.includes((error as { code?: unknown }).code))
        throw new Error(
          `Temporal at ${address} does not give access to namespace ${namespace}: ${(error as Error).message} ${adviceOnNamespace(namespace)}`,
          { cause: error },
        );
      onWait(error, `Temporal at ${address} does not respond; waiting for it`);
      await delay(wait);
    }
  }
}

async function connect(config: Config, dataConverter: DataConverter) {
  const connection = await NativeConnection.connect(temporalAddress(config));
  const client = new Client({ connection, namespace: config.TEMPORAL_NAMESPACE, dataConverter });
  const version = versionOf(config);
  return {
    connection,
    client,
    dataConverter,
    async ping(): Promise<void> {
      await connection.workflowService.describeNamespace({ namespace: config.TEMPORAL_NAMESPACE });
    },
    /** The state of the installation's task queues. */
    describeQueues: () => describeQueues(client, config.TEMPORAL_NAMESPACE, config.MILLRACE_TASK_QUEUE),
    /** Undefined if the processes do not belong to a deployment. */
    deployment: version && createDeployment(client, version.deploymentName, config.MILLRACE_TASK_QUEUE),
    close: () => connection.close(),
  };
}
