import type { AddCommands } from "../options.ts";
import { addWebhookCommands } from "./webhook-commands.ts";

/** The commands of webhooks. */
export const webhooks: AddCommands = [addWebhookCommands];
