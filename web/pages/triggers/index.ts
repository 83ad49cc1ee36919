import { page } from "../../page.ts";

export const triggers = [
  page(
    "/flows/:projectId/triggers/:triggerId",
    "Trigger",
    async () => (await import("./trigger-page.tsx")).TriggerPage,
  ),
];
