import { page } from "../../page.ts";

export const usage = [
  page("/usage", "Model usage", async () => (await import("./usage-page.tsx")).UsagePage, {
    group: "Operate",
    icon: "usage",
    name: "Usage",
    role: "viewer",
  }),
];
