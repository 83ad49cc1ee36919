import type { AddCommands } from "../options.ts";
import { addFlowCommands } from "./flow-commands.ts";
import { addEnvironmentCommands } from "./environment-commands.ts";

/** The commands of flows and their environments. */
export const projects: AddCommands = [addFlowCommands, addEnvironmentCommands];
