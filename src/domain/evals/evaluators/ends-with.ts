import { edgeKind } from "./text-options.ts";

export const endsWith = edgeKind(
  "The output ends with a text",
  { name: "Ends with", description: "The output ends with what the row expects", config: {} },
  (text, wanted) => text.endsWith(wanted),
);
