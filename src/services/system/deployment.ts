import type { Config } from "../../config.ts";
import { createDeployment } from "../../temporal/deployments.ts";
import type { Deployment } from "../../temporal/deployments.ts";
import { withClient } from "../../temporal/examine.ts";

/** Runs `work` with the worker deployment of that name, over its own connection. */
export function withDeployment<T>(
  config: Config,
  name: string,
  work: (deployment: Deployment) => Promise<T>,
): Promise<T> {
  return withClient(config, {}, (client) => work(createDeployment(client, name, config.MILLRACE_TASK_QUEUE)));
}
