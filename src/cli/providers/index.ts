import type { AddCommands } from "../options.ts";
import { addProviderCommands } from "./provider-commands.ts";

/** The commands of providers and connections. */
export const providers: AddCommands = [addProviderCommands];
