import { textInput } from "./input.ts";

export const stringSpec = textInput({
  title: "Long text",
  icon: "paragraph",
  description: "A long text given to the run, such as the contents of a document",
  example: { description: "The contract to check" },
});
