import { chatEnds } from "../../src/domain/pages/chat-ends.ts";
import { inputFields, type InputField } from "./input-fields.ts";

/** How a flow is used as a chat. */
export interface ChatFlow {
  /** The input that takes the question. */
  readonly input: InputField;
  /** Inputs that take documents. */
  readonly documents: readonly InputField[];
  /** Optional inputs of text, which keep their values from question to question. */
  readonly others: readonly InputField[];
  /** ID of the output that is the answer. */
  readonly output: string;
}

/** How a flow is used as a chat, or why it cannot be; the API has the same rule for published pages. */
export function chatFlow(io: Parameters<typeof chatEnds>[0]): ChatFlow | string {
  const ends = chatEnds(io);
  if ("fault" in ends) return `${ends.fault}.`;
  const fields = inputFields(io.inputs);
  const input = fields.find(({ id }) => id === ends.input);
  if (!input) throw new Error("the input of a chat is one of the inputs");
  return {
    input,
    output: ends.output,
    documents: fields.filter(({ kind }) => kind === "files"),
    others: fields.filter(({ kind, id }) => id !== input.id && (kind === "text" || kind === "url")),
  };
}
