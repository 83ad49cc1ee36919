import { edgeKind } from "./text-options.ts";

export const startsWith = edgeKind(
  "The output begins with a text",
  { name: "Starts with", description: "The output starts with the row's expected output", config: {} },
  (text, wanted) => text.startsWith(wanted),
);
