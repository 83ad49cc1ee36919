import { page } from "../../page.ts";

export const editor = [
  page("/flows/:projectId/edit", "Editor", async () => (await import("./editor-page.tsx")).EditorPage),
];
