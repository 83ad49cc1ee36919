import type { Config } from "../../config.ts";
import { providerOperations } from "./providers.ts";
import { providerImportOperations } from "./imports.ts";
import { actionRunOperations } from "./action-runs.ts";
import { connectionOperations } from "./connections.ts";

/** The operations of providers, their actions and connections. */
export const providers = (config: Config) => [
  ...providerOperations,
  ...providerImportOperations,
  ...actionRunOperations(config),
  ...connectionOperations,
];
