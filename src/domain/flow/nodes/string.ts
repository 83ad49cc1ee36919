import { textInput } from "./input.ts";

export const stringSpec = textInput("A long text that the run is given, such as the contents of a document");
