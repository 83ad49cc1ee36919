import { page } from "../../page.ts";

export const flows = [
  page("/flows", "Flows", async () => (await import("./flows-page.tsx")).FlowsPage, {
    group: "Build",
    icon: "flows",
  }),
  page("/flows/:projectId", "Flow", async () => (await import("./flow-page.tsx")).FlowPage),
  page("/flows/:projectId/versions/:version", "Version", async () => (await import("./version-page.tsx")).VersionPage),
  page(
    "/flows/:projectId/compare/:from/:to",
    "Compare versions",
    async () => (await import("./compare-page.tsx")).CompareVersionsPage,
  ),
  page(
    "/flows/:projectId/environments",
    "Environments",
    async () => (await import("./environments-page.tsx")).EnvironmentsPage,
  ),
  page("/flows/:projectId/call", "Call it", async () => (await import("./call-page.tsx")).CallPage),
];
