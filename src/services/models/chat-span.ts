import type { ChatAnswer, ChatMessage, Recording } from "../../domain/models/chat.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { currentSpan, withinSpan } from "../../platform/tracing/current.ts";
import { serverOf } from "../../platform/tracing/outbound.ts";
import { randomSpanId } from "../../platform/tracing/trace-context.ts";
import { beginSpan } from "../../platform/tracing/tracer.ts";
import { contentOf } from "./chat-content.ts";
import type { ResolvedModel } from "./resolve-model.ts";

/** The parts of an answer that a span reports. */
interface Answered extends ChatAnswer {
  readonly usage: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly cost_usd: number | null;
  };
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
