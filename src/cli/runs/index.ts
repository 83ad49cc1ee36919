import type { AddCommands } from "../options.ts";
import { addRunCommand } from "./run-command.ts";
import { addRunsCommands } from "./runs-commands.ts";

export const runs: AddCommands = [addRunCommand, addRunsCommands];
