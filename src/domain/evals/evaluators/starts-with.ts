import { edgeKind } from "./text-options.ts";

export const startsWith = edgeKind(
  "The output begins with a text",
  { name: "Starts with", description: "The output begins with what the row expects", config: {} },
  (text, wanted) => text.startsWith(wanted),
);
