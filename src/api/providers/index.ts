import type { CreateOperations } from "../deps.ts";
import { createProviderOperations } from "./providers.ts";
import { createProviderImportOperations } from "./imports.ts";
import { createActionRunOperations } from "./action-runs.ts";
import { createConnectionOperations } from "./connections.ts";

/** The operations of providers, their actions and connections. */
export const providers: CreateOperations = [
  createProviderOperations,
  createProviderImportOperations,
  createActionRunOperations,
  createConnectionOperations,
];
