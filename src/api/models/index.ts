import type { CreateOperations } from "../deps.ts";
import { createSettingsOperations } from "./settings.ts";
import { createConversationOperations } from "./conversations.ts";
import { createUsageOperations } from "./usage.ts";

/** The operations of models. */
export const models: CreateOperations = [createSettingsOperations, createConversationOperations, createUsageOperations];
