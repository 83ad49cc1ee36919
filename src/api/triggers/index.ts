import type { CreateOperations } from "../deps.ts";
import { createTriggerOperations } from "./triggers.ts";
import { createFiringOperations } from "./firings.ts";
import { createHookOperations } from "./hooks.ts";

/** The operations of triggers. */
export const triggers: CreateOperations = [createTriggerOperations, createFiringOperations, createHookOperations];
