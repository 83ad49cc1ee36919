import type { ChatAnswer, ChatMessage, Recording } from "../../domain/models/chat.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { currentSpan, withinSpan } from "../../platform/tracing/current.ts";
import { serverOf } from "../../platform/tracing/outbound.ts";
import { randomSpanId } from "../../platform/tracing/trace-context.ts";
import { beginSpan } from "../../platform/tracing/tracer.ts";
import type { ModelCallRow } from "../../stores/models/model-calls.ts";
import type { ResolvedModel } from "./resolve-model.ts";
import type { Json } from "../../domain/json.ts";
import { redactSecrets } from "../../platform/logging/redaction.ts";

/** The parts of an answer that a span reports. */
interface Answered extends ChatAnswer {
  readonly usage: Pick<ModelCallRow, "input_tokens" | "output_tokens" | "cost_usd">;
}

/**
 * Calls a model within a span, by OpenTelemetry's conventions for generative AI. The span contains the texts only if
 * the flow may export them.
 */
export async function asChat<T extends Answered>(
  request: { readonly messages: readonly ChatMessage[] } | { readonly recording: Recording },
  { model, endpoint }: Pick<ResolvedModel, "model" | "endpoint">,
  work: () => Promise<T>,
): Promise<T> {
  const parent = currentSpan();
  if (parent === undefined || !parent.outbound) return work();
  const span_id = randomSpanId();
  const { tracer, trace_id, span_id: parent_id, sampled } = parent;
  const operation = "recording" in request ? "transcribe" : "chat";
  const name = `${operation} ${model}`;
  const endSpan = beginSpan(tracer, { trace_id, span_id, parent_id, sampled, name, kind: "client" });
  const end = (reply: T | null, error?: string): void =>
    endSpan(
      error,
      {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": endpoint.protocol,
        "gen_ai.request.model": model,
        "gen_ai.response.finish_reasons": reply ? [reply.finish_reason] : undefined,
        "gen_ai.usage.input_tokens": reply?.usage.input_tokens,
        "gen_ai.usage.output_tokens": reply?.usage.output_tokens,
        "millrace.cost_usd": reply?.usage.cost_usd ?? undefined,
        ...serverOf(new URL(endpoint.base_url)),
      },
      parent.content === true ? contentOf("messages" in request ? request.messages : [], reply) : undefined,
    );
  try {
    const reply = await withinSpan({ ...parent, span_id }, work);
    end(reply);
    return reply;
  } catch (error) {
    end(null, error instanceof NodeFailure ? error.code : "interrupted");
    throw error;
  }
}

/** Longest text of a message in a span, and of all texts of one attribute (characters). */
const MAX_TEXT = 4096;
const MAX_TEXTS = 16_384;

type Part = Readonly<Record<string, Json>>;

/**
 * The input and output messages as JSON, by OpenTelemetry's conventions for generative AI; only the newest messages if
 * all would be too long.
 */
function contentOf(
  messages: readonly ChatMessage[],
  answer: Pick<ChatAnswer, "text" | "tool_calls" | "finish_reason"> | null,
): Readonly<Record<string, string>> {
  const cut = createCut();
  // Newest first, so that a long conversation loses its beginning.
  const asked = messages.toReversed().flatMap((message) => {
    const parts = partsOf(message, cut);
    return parts.length === 0 ? [] : [{ role: message.role, parts }];
  });
  const content = { "gen_ai.input.messages": JSON.stringify(asked.toReversed()) };
  if (answer === null) return content;
  const { text, tool_calls, finish_reason } = answer;
  const parts = partsOf({ role: "assistant", content: text, tool_calls }, createCut());
  const answered = [{ role: "assistant", parts, finish_reason }];
  return { ...content, "gen_ai.output.messages": JSON.stringify(answered) };
}

function partsOf(message: ChatMessage, cut: (value: Json) => string | null): Part[] {
  if (message.role === "tool") {
    const response = cut(message.output);
    return response === null ? [] : [{ type: "tool_call_response", id: message.call_id, response }];
  }
  const text = message.content === "" ? null : cut(message.content);
  const parts: Part[] = text === null ? [] : [{ type: "text", content: text }];
  if (message.role === "user")
    for (const image of message.images ?? [])
      parts.push({ type: "blob", modality: "image", mime_type: "mime_type" in image ? image.mime_type : null });
  if (message.role === "assistant")
    for (const { call_id, name, input } of message.tool_calls ?? []) {
      const given = cut(input);
      if (given !== null) parts.push({ type: "tool_call", id: call_id, name, arguments: given });
    }
  return parts;
}

/** Cuts texts, and values as JSON, and masks secrets recognised by their form. Returns null once the total is too long. */
function createCut(): (value: Json) => string | null {
  let left = MAX_TEXTS;
  return (value) => {
    if (left <= 0) return null;
    const text = redactSecrets(typeof value === "string" ? value : JSON.stringify(value));
    const length = Math.min(MAX_TEXT, left);
    left -= Math.min(text.length, length);
    return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}…`;
  };
}
