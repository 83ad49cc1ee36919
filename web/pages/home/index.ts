import { page } from "../../page.ts";

export const home = [
  page("/", "Home", async () => (await import("./home-page.tsx")).HomePage, { group: "", icon: "home" }),
];
