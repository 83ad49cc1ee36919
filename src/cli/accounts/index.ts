import type { AddCommands } from "../options.ts";
import { addAccountCommands } from "./account-commands.ts";
import { addQuotaCommands } from "./quota-commands.ts";

/** The commands of accounts, keys and quotas. */
export const accounts: AddCommands = [addAccountCommands, addQuotaCommands];
