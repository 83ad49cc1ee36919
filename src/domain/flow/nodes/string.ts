import { textInput, type InputConfig } from "./input.ts";

export type StringConfig = InputConfig;
export const stringSpec = textInput("A long text that the run is given, such as the contents of a document");
