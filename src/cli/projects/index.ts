import type { AddCommands } from "../options.ts";
import { addFlowCommands } from "./flow-commands.ts";
import { addEnvironmentCommands } from "./environment-commands.ts";

export const projects: AddCommands = [addFlowCommands, addEnvironmentCommands];
