import { page } from "../../page.ts";

export const background = [
  page("/background", "Background work", async () => (await import("./background-page.tsx")).BackgroundPage, {
    group: "Operate",
    icon: "background",
    role: "viewer",
  }),
  page(
    "/background/knowledge-bases/:knowledgeBaseId",
    "Knowledge base",
    async () => (await import("./knowledge-base-page.tsx")).KnowledgeBasePage,
  ),
  page(
    "/background/experiments/:experimentId",
    "Experiment",
    async () => (await import("./experiment-page.tsx")).ExperimentPage,
  ),
];
