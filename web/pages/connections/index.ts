import { page } from "../../page.ts";

export const connections = [
  page("/connections", "Connections", async () => (await import("./connections-page.tsx")).ConnectionsPage, {
    group: "Build",
    icon: "connections",
    role: "viewer",
  }),
];
