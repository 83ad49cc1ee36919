import { page } from "../../page.ts";

export const published = [
  page("/flows/:projectId/pages", "Pages", async () => (await import("./pages-page.tsx")).PagesPage),
];
