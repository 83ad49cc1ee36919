import { settingsOperations } from "./settings.ts";
import { conversationOperations } from "./conversations.ts";
import { usageOperations } from "./usage.ts";

export const models = [...settingsOperations, ...conversationOperations, ...usageOperations];
