import type { Config } from "../../config.ts";
import { createDeployment, type Deployment } from "../../temporal/deployments.ts";
import { TemporalDenied, withClient } from "../../temporal/examine.ts";
import { denied } from "./checks/temporal.ts";
import type { Finding } from "./checks/finding.ts";

/** gRPC's codes for a server that does not respond: UNAVAILABLE, DEADLINE_EXCEEDED. */
const SILENT: readonly unknown[] = [14, 4];

/** Runs `work` with the named worker deployment, over a separate connection. */
export function withDeployment<T>(
  config: Config,
  name: string,
  work: (deployment: Deployment) => Promise<T>,
): Promise<T> {
  return withClient(config, {}, (client) => work(createDeployment(client, name, config.MILLRACE_TASK_QUEUE)));
}

/** The finding if an error concerns Temporal itself; undefined if it concerns the request. */
export function whyDenied(config: Config, error: unknown): Finding | undefined {
  if (error instanceof TemporalDenied) return denied(config, error.why, error.message);
  if (error instanceof Error && SILENT.includes((error as { code?: unknown }).code))
    return denied(config, "unreachable", error.message);
  return undefined;
}
