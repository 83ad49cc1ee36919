import { page } from "../../page.ts";

export const chat = [
  page("/flows/:projectId/chat/:conversationId?", "Chat", async () => (await import("./chat-page.tsx")).ChatPage),
];
