import { page } from "../../page.ts";

export const inbox = [
  page("/inbox/:pauseId?", "Inbox", async () => (await import("./inbox-page.tsx")).InboxPage, {
    group: "",
    icon: "inbox",
  }),
];
