import { page } from "../../page.ts";

export const settings = [
  page("/settings", "Settings", async () => (await import("./settings-page.tsx")).SettingsPage, {
    group: "Settings",
    icon: "settings",
    name: "General",
  }),
];
