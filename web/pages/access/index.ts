import { page } from "../../page.ts";

export const access = [
  page("/access", "Access", async () => (await import("./access-page.tsx")).AccessPage, {
    group: "Settings",
    icon: "access",
  }),
];
