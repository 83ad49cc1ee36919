import type { AddCommands } from "../options.ts";
import { addErasureCommands } from "./erasure-commands.ts";

/** The commands of erasures. */
export const erasures: AddCommands = [addErasureCommands];
