import { edgeKind } from "./text-options.ts";

export const endsWith = edgeKind(
  "The output ends with a text",
  { name: "Ends with", description: "The output ends with the row's expected output", config: {} },
  (text, wanted) => text.endsWith(wanted),
);
