import type { AddCommands } from "../options.ts";
import { addTriggerCommands } from "./trigger-commands.ts";

/** The commands of triggers. */
export const triggers: AddCommands = [addTriggerCommands];
