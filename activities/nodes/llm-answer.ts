import type { LlmConfig } from "../../src/domain/flow/nodes/llm.ts";
import { parseExactJson } from "../../src/domain/exact-json.ts";
import { isFlat, MAX_FLAT_LEVELS } from "../../src/domain/flat-json.ts";
import type { Json } from "../../src/domain/json.ts";
import type { Citation } from "../../src/domain/knowledge/citations.ts";
import type { ChatMessage, ChatRequest } from "../../src/domain/models/chat.ts";
import type { Evaluation } from "../../src/platform/evaluation/evaluation.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import type { ModelReply } from "../../src/services/models/call-model.ts";

/** The messages that ask the model to repair an answer which breaks the schema. */
export function repairOf(answer: string, fault: string): ChatMessage[] {
  return [
    { role: "assistant", content: answer },
    { role: "user", content: `That is not what was asked for. ${fault} Answer again with the JSON only.` },
  ];
}

/**
 * The request to a model by a node's settings. A required tool call is required only in the first step, because
 * otherwise the model could never answer.
 */
export function requestOf(config: LlmConfig, messages: readonly ChatMessage[], step = 1): Omit<ChatRequest, "model"> {
  const { temperature, max_tokens, top_p, stop, seed, reasoning_effort, schema, extra_body, tool_choice } = config;
  const isForced = tool_choice !== undefined && tool_choice !== "auto" && tool_choice !== "none";
  const settings = { temperature, max_tokens, top_p, stop, seed, reasoning_effort, schema, extra_body };
  const chosen = { ...settings, tool_choice: isForced && step > 1 ? undefined : tool_choice };
  const named = Object.entries(chosen).filter(([, value]) => value !== undefined);
  return { messages, ...(Object.fromEntries(named) as Omit<ChatRequest, "model" | "messages">) };
}

type Reply = Pick<ModelReply, "text" | "tool_calls" | "finish_reason" | "model">;

/** The limit that cuts a node's answers and how to raise it, as texts for error messages. */
export function lengthLimit(max_tokens: number | undefined): { readonly limit: string; readonly raise: string } {
  return max_tokens === undefined
    ? { limit: "the endpoint's length limit", raise: "set the node's max_tokens above the endpoint's default" }
    : { limit: `its length limit (max_tokens is ${max_tokens})`, raise: "raise the node's max_tokens" };
}

/**
 * Why a reply that must be complete is cut or declined; null if it is complete. A cut answer may well be valid: `12` is
 * the beginning of `1200`. It is not retried, because the same limit would cut it again.
 */
export function cutAnswer(
  { finish_reason, model }: Pick<Reply, "finish_reason" | "model">,
  max_tokens: number | undefined,
): NodeFailure | null {
  if (finish_reason === "content_filter") {
    const message = `The model ${model} declined to answer (${finish_reason}).`;
    return new NodeFailure("model_declined", message, { upstream: true });
  }
  if (finish_reason !== "length") return null;
  const { limit, raise } = lengthLimit(max_tokens);
  const message = `The answer of the model ${model} was cut off at ${limit}. To get the complete answer, ${raise}, or ask for a shorter answer.`;
  return new NodeFailure("model_answer_cut", message, { upstream: true });
}

/**
 * Why a reply is not an answer: the model declined, returned no text, or was cut although its answer must be complete;
 * null if it is an answer. After tool results an empty reply is valid.
 */
export function missingAnswer(
  reply: Reply,
  { messages, schema, max_tokens }: Pick<ChatRequest, "messages" | "schema" | "max_tokens">,
): NodeFailure | null {
  const { text, tool_calls, finish_reason, model } = reply;
  const isBlank = text.trim() === "";
  const isCalling = tool_calls.length > 0;
  const isDeclined = finish_reason === "content_filter" && (isBlank || isCalling);
  // A cut reply with tool calls is not refused here, because `readCalls` checks each call.
  if (isDeclined || (schema !== undefined && !isCalling)) {
    const cut = cutAnswer(reply, max_tokens);
    if (cut) return cut;
  }
  if (!isBlank || isCalling) return null;
  if (finish_reason === "length") {
    const { limit, raise } = lengthLimit(max_tokens);
    const message = `The answer of the model ${model} reached ${limit} before it contained any text. To get an answer, ${raise}.`;
    return new NodeFailure("model_answer_empty", message, { upstream: true });
  }
  if (messages.at(-1)?.role === "tool") return null;
  const message = `The model ${model} returned an empty answer (${finish_reason}).`;
  return new NodeFailure("model_answer_empty", message, { upstream: true, retryable: true });
}

/** The failure of a node whose model did not repair its answer. */
export function invalidAnswer(fault: string): NodeFailure {
  const message = `The model's answer does not match the node's schema. ${fault}`;
  return new NodeFailure("model_answer_invalid", message, { retryable: true, upstream: true });
}

type Read = { readonly json: Json } | { readonly fault: string };

/** Parses an answer that must fit a schema. */
export async function readAnswer(evaluation: Evaluation, orgId: string, schema: Json, text: string): Promise<Read> {
  let json: Json;
  try {
    json = parseExactJson(unfenced(text));
  } catch {
    return { fault: "The answer is not valid JSON." };
  }
  if (!isFlat(json)) return { fault: `The answer is nested deeper than ${MAX_FLAT_LEVELS} levels.` };
  const issues = await evaluation.answer(orgId, schema, json);
  if (issues.length === 0) return { json };
  const faults = issues.slice(0, 10).map(({ path, message }) => `${path.join(".") || "the answer"}: ${message}`);
  return { fault: `${faults.join("; ")}.` };
}

/** Removes the Markdown code block into which models without structured outputs put their JSON. */
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
