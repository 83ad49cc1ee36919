import { triggerOperations } from "./triggers.ts";
import { firingOperations } from "./firings.ts";
import { hookOperations } from "./hooks.ts";

export const triggers = [...triggerOperations, ...firingOperations, ...hookOperations];
