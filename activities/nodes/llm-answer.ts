import type { LlmConfig } from "../../src/domain/flow/nodes/llm.ts";
import { parseExactJson } from "../../src/domain/exact-json.ts";
import { isFlat, MAX_FLAT_LEVELS } from "../../src/domain/flat-json.ts";
import type { Json } from "../../src/domain/json.ts";
import type { Citation } from "../../src/domain/knowledge/citations.ts";
import type { ChatMessage, ChatRequest } from "../../src/domain/models/chat.ts";
import type { Evaluation } from "../../src/platform/evaluation/evaluation.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import type { ModelReply } from "../../src/services/models/call-model.ts";

/** The messages that return an answer which breaks the schema. */
export function repairOf(answer: string, fault: string): ChatMessage[] {
  return [
    { role: "assistant", content: answer },
    { role: "user", content: `That is not what was asked for. ${fault} Answer again with the JSON only.` },
  ];
}

/**
 * The request to a model by a node's settings. A required tool call is only required in the first step: otherwise the
 * model could never answer.
 */
export function requestOf(config: LlmConfig, messages: readonly ChatMessage[], step = 1): Omit<ChatRequest, "model"> {
  const { temperature, max_tokens, top_p, stop, seed, reasoning_effort, schema, extra_body, tool_choice } = config;
  const isForced = tool_choice !== undefined && tool_choice !== "auto" && tool_choice !== "none";
  const settings = { temperature, max_tokens, top_p, stop, seed, reasoning_effort, schema, extra_body };
  const chosen = { ...settings, tool_choice: isForced && step > 1 ? undefined : tool_choice };
  const named = Object.entries(chosen).filter(([, value]) => value !== undefined);
  return { messages, ...(Object.fromEntries(named) as Omit<ChatRequest, "model" | "messages">) };
}

/**
 * Why a reply is no answer: the model has declined, or said nothing; null if it is one. After results of tools there
 * may be nothing left to say.
 */
export function missingAnswer(
  { text, tool_calls, finish_reason, model }: Pick<ModelReply, "text" | "tool_calls" | "finish_reason" | "model">,
  messages: readonly ChatMessage[],
): NodeFailure | null {
  if (text.trim() !== "" || tool_calls.length > 0) return null;
  if (finish_reason === "content_filter") {
    const message = `The model ${model} declined to answer (${finish_reason}).`;
    return new NodeFailure("model_declined", message, { upstream: true });
  }
  if (finish_reason === "length") {
    const message = `The answer of the model ${model} had reached its greatest length before its text began. Raise max_tokens.`;
    return new NodeFailure("model_answer_empty", message, { upstream: true });
  }
  if (messages.at(-1)?.role === "tool") return null;
  const message = `The model ${model} answered nothing (${finish_reason}).`;
  return new NodeFailure("model_answer_empty", message, { upstream: true, retryable: true });
}

type Read = { readonly json: Json } | { readonly fault: string };

/** Parses an answer that must fit a schema. */
export async function readAnswer(evaluation: Evaluation, orgId: string, schema: Json, text: string): Promise<Read> {
  let json: Json;
  try {
    json = parseExactJson(unfenced(text));
  } catch {
    return { fault: "It is not JSON." };
  }
  if (!isFlat(json)) return { fault: `It is nested deeper than ${MAX_FLAT_LEVELS} levels.` };
  const issues = await evaluation.answer(orgId, schema, json);
  if (issues.length === 0) return { json };
  const faults = issues.slice(0, 10).map(({ path, message }) => `${path.join(".") || "the whole"}: ${message}`);
  return { fault: `${faults.join("; ")}.` };
}

/** Models without structured outputs put their JSON into a block of Markdown. */
function unfenced(text: string): string {
  const block = text.trim();
  if (block.length < 6 || !block.startsWith("```") || !block.endsWith("```")) return text;
  return block.slice(3, -3).replace(/^json/, "").trim();
}

/** A node's value: the content of the last reply, and the usage of all replies. */
export function outputOf(
  replies: ReadonlyArray<Pick<ModelReply, "usage"> & Partial<ModelReply>>,
  json: Json,
  { tool_calls = [], citations = [] }: { tool_calls?: readonly Json[]; citations?: readonly Citation[] } = {},
): Json {
  const last = replies.at(-1);
  const sum = (of: (usage: ModelReply["usage"]) => number): number =>
    replies.reduce((total, { usage }) => total + of(usage), 0);
  return {
    text: last?.text ?? "",
    json,
    tool_calls,
    usage: {
      input_tokens: sum(({ input_tokens }) => input_tokens),
      output_tokens: sum(({ output_tokens }) => output_tokens),
      total_tokens: sum(({ total_tokens }) => total_tokens),
      cost_usd: replies.every(({ usage }) => usage.cost_usd !== null) ? sum(({ cost_usd }) => cost_usd ?? 0) : null,
      estimated: replies.some(({ usage }) => usage.estimated),
    },
    finish_reason: last?.finish_reason ?? "other",
    citations: citations as unknown as Json,
  };
}
