import { page } from "../../page.ts";

export const runs = [
  page("/runs", "Runs", async () => (await import("./runs-page.tsx")).RunsPage, { group: "", icon: "runs" }),
  page("/runs/:runId", "Run", async () => (await import("./run-page.tsx")).RunPage),
  page(
    "/runs/:runId/compare/:otherId",
    "Compare two runs",
    async () => (await import("./compare-page.tsx")).ComparePage,
  ),
];
