import { page } from "../../page.ts";

export const retention = [
  page("/retention", "Retention", async () => (await import("./retention-page.tsx")).RetentionPage, {
    group: "Settings",
    icon: "retention",
  }),
];
