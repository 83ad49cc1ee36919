import type { LanguageModelV3FinishReason, LanguageModelV3StreamPart, LanguageModelV3Usage } from "@ai-sdk/provider";
import { parseExactJson } from "../../domain/exact-json.ts";
import { isFlat } from "../../domain/flat-json.ts";
import type { Json } from "../../domain/json.ts";
import type { ChatAnswer, ChatMessage } from "../../domain/models/chat.ts";
import { finishReasonOf } from "./finish-reason.ts";

interface AskedCall {
  readonly id: string;
  readonly name: string;
  /** Some endpoints omit these in calls of whole responses, contrary to the SDK's type. */
  readonly arguments: string | null | undefined;
}

/** Collects the parts of a response. */
export function createAnswer() {
  let text = "";
  const calls: AskedCall[] = [];
  let finish: { reason: LanguageModelV3FinishReason; usage: LanguageModelV3Usage } | undefined;
  return {
    add(part: LanguageModelV3StreamPart): void {
      if (part.type === "text-delta") text += part.delta;
      else if (part.type === "tool-call")
        calls.push({ id: part.toolCallId, name: part.toolName, arguments: part.input });
      else if (part.type === "finish") finish = { reason: part.finishReason, usage: part.usage };
    },
    /** The complete response; null if the endpoint ended it early. `isWhole` means that it arrived as one JSON object. */
    finished(messages: readonly ChatMessage[], isWhole: boolean): ChatAnswer | null {
      // The SDK reports a stream that was cut off as complete, but without the endpoint's own reason.
      if (finish === undefined || (finish.reason.raw === undefined && !isWhole)) return null;
      const finish_reason = finishReasonOf(finish.reason);
      if (finish_reason === "error") return null;
      const { inputTokens, outputTokens } = finish.usage;
      const freeId = createFreeId(messages);
      return {
        text,
        tool_calls: calls.map((call) => ({
          call_id: freeId(call.id),
          name: call.name,
          input: parsed(call.arguments ?? "", finish_reason === "length"),
        })),
        finish_reason,
        tokens: {
          input_tokens: inputTokens.total ?? null,
          output_tokens: outputTokens.total ?? null,
          cached_tokens: inputTokens.cacheRead ?? null,
        },
      };
    },
  };
}

/**
 * Gives calls IDs that are unique in a conversation: some endpoints leave them empty or repeat them, and Anthropic refuses a conversation
 * that contains an ID twice.
 */
function createFreeId(messages: readonly ChatMessage[]): (wanted: string) => string {
  const taken = new Set(
    messages.flatMap((message) =>
      message.role === "assistant" ? (message.tool_calls ?? []).map(({ call_id }) => call_id) : [],
    ),
  );
  return (wanted) => {
    const name = wanted.trim() === "" ? "call" : wanted;
    let free = name;
    for (let n = 2; taken.has(free); n += 1) free = `${name}_${n}`;
    taken.add(free);
    return free;
  };
}

/**
 * Parses the arguments of a tool. No text means an empty object, unless the response was cut off, where more may have followed. Arguments
 * that are not JSON, or nest too deep for later code, stay a text.
 */
function parsed(text: string, isCut: boolean): Json {
  if (text.trim() === "") return isCut ? text : {};
  try {
    const value = parseExactJson(text);
    return isFlat(value) ? value : text;
  } catch {
    return text;
  }
}
