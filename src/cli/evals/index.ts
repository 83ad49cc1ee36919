import type { AddCommands } from "../options.ts";
import { addEvalCommands } from "./eval-commands.ts";

/** The commands of evals. */
export const evals: AddCommands = [addEvalCommands];
