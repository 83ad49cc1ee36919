/** The text input that a chat's messages go to, and the output that answers them. */
export interface ChatEnds {
  readonly input: string;
  readonly output: string;
}

/** JSON Schemas of a flow's inputs and outputs. */
interface Io {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly outputs: Readonly<Record<string, unknown>>;
}
type Properties = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/**
 * Where a chat enters and leaves a flow: the flow's only text input, or the only required one; and its only output, or the only one that is
 * a text. Returns the reason if the flow cannot be used for a chat.
 */
export function chatEnds({ inputs, outputs }: Io): ChatEnds | { readonly fault: string } {
  const required = (inputs["required"] ?? []) as readonly string[];
  const texts = Object.entries((inputs["properties"] ?? {}) as Properties)
    .filter(([, schema]) => schema["x-node-type"] === "input")
    .map(([id]) => id);
  const needed = texts.filter((id) => required.includes(id));
  const input = texts.length === 1 ? texts[0] : needed.length === 1 ? needed[0] : undefined;
  if (input === undefined)
    return {
      fault:
        texts.length === 0
          ? "A chat needs a flow with a text input, and this flow has none"
          : "A chat needs a flow with one text input, or with one that is required and no other",
    };
  const other = required.find((id) => id !== input);
  if (other !== undefined)
    return { fault: `A chat sends only its message, but the flow also requires ${other}: give that input a default` };
  const all = Object.entries((outputs["properties"] ?? {}) as Properties);
  const answers = all.length === 1 ? all : all.filter(([, { type }]) => type === "string");
  const [answer, ...more] = answers;
  if (answer === undefined || more.length > 0)
    return { fault: "A chat needs a flow with one output, or with one output that is a text" };
  return { input, output: answer[0] };
}
