import type { AddCommands } from "../options.ts";
import { addPageCommands } from "./page-commands.ts";

/** The commands of published pages. */
export const pages: AddCommands = [addPageCommands];
