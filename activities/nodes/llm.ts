import { llmSpec } from "../../src/domain/flow/nodes/llm.ts";
import type { LlmConfig } from "../../src/domain/flow/nodes/llm.ts";
import type { Json, JsonObject } from "../../src/domain/json.ts";
import type { ChatMessage } from "../../src/domain/models/chat.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import type { Evaluation } from "../../src/platform/evaluation/evaluation.ts";
import type { ModelReply } from "../../src/services/models/call-model.ts";
import { askModel } from "./ask-model.ts";
import type { AskDeps } from "./ask-model.ts";
import type { NodeExecutor } from "./executor.ts";

export interface LlmDeps extends AskDeps {
  readonly evaluation: Evaluation;
}

/** Executes `llm` nodes. An answer that breaks the node's schema is given back to the model once, with what is wrong. */
export function createLlmExecutor({ evaluation, models, texts }: LlmDeps): NodeExecutor<LlmConfig> {
  return async (execution) => {
    const { org_id, config, scope } = execution;
    const rendered = await evaluation.sources(org_id, llmSpec.expressions(config), scope);
    const messages = conversation(config, rendered);
    const inputs = { messages } as unknown as Json;

    const ask = (asked: readonly ChatMessage[], step: number): Promise<ModelReply> =>
      askModel({ models, texts }, execution, { path: execution.path, step, request: requestOf(config, asked) });

    const first = await ask(messages, 1);
    if (config.schema === undefined) return { output: outputOf([first], null), inputs };
    const found = await readAnswer(evaluation, org_id, config.schema, first.text);
    if ("json" in found) return { output: outputOf([first], found.json), inputs };
    const second = await ask([...messages, ...repairOf(first.text, found.fault)], 2);
    const repaired = await readAnswer(evaluation, org_id, config.schema, second.text);
    if ("json" in repaired) return { output: outputOf([first, second], repaired.json), inputs };
    throw new NodeFailure("model_answer_invalid", `The model's answer breaks the node's schema. ${repaired.fault}`, {
      retryable: true,
      upstream: true,
    });
  };
}

/** What gives an answer back that breaks the schema. */
export function repairOf(answer: string, fault: string): ChatMessage[] {
  return [
    { role: "assistant", content: answer },
    { role: "user", content: `That is not what was asked for. ${fault} Answer again with the JSON only.` },
  ];
}

export function requestOf({ temperature, max_tokens, schema }: LlmConfig, messages: readonly ChatMessage[]) {
  return {
    messages,
    ...(temperature === undefined ? {} : { temperature }),
    ...(max_tokens === undefined ? {} : { max_tokens }),
    ...(schema === undefined ? {} : { schema: schema as JsonObject }),
  };
}

/** The conversation in the order in which both protocols take it: what the model is told, what was said before, the question. */
export function conversation(config: LlmConfig, rendered: readonly Json[]): ChatMessage[] {
  const values = [...rendered];
  const prompt = values.shift() as string;
  const system = config.system === undefined ? "" : (values.shift() as string);
  const earlier = config.messages === undefined ? [] : readMessages(values.shift() ?? null);
  return [
    ...(system === "" ? [] : [{ role: "system" as const, content: system }]),
    ...earlier,
    { role: "user", content: prompt },
  ];
}

const ROLES = ["system", "user", "assistant"] as const;

function readMessages(value: Json): ChatMessage[] {
  if (!Array.isArray(value)) throw invalidMessages();
  return value.map((each: Json): ChatMessage => {
    const { role, content } = (typeof each === "object" && each !== null ? each : {}) as JsonObject;
    const known = ROLES.find((one) => one === role);
    if (known === undefined || typeof content !== "string") throw invalidMessages();
    return { role: known, content };
  });
}

function invalidMessages(): NodeFailure {
  const roles = ROLES.join(", ");
  return new NodeFailure(
    "invalid_messages",
    `"messages" must yield a list of {role, content}, each role one of ${roles}.`,
  );
}

type Read = { readonly json: Json } | { readonly fault: string };

/** Reads an answer that is to fit a schema. */
export async function readAnswer(evaluation: Evaluation, orgId: string, schema: Json, text: string): Promise<Read> {
  let json: Json;
  try {
    json = JSON.parse(unfenced(text)) as Json;
  } catch {
    return { fault: "It is not JSON." };
  }
  const issues = await evaluation.answer(orgId, schema, json);
  if (issues.length === 0) return { json };
  const faults = issues.slice(0, 10).map(({ path, message }) => `${path.join(".") || "the whole"}: ${message}`);
  return { fault: `${faults.join("; ")}.` };
}

/** Models without structured outputs put their JSON into a block of Markdown. */
function unfenced(text: string): string {
  return /^\s*```(?:json)?\s*([\s\S]*?)\s*```\s*$/.exec(text)?.[1] ?? text;
}

/** A node's value: what the last reply says, and what all of them took. */
export function outputOf(
  replies: ReadonlyArray<Pick<ModelReply, "usage"> & Partial<ModelReply>>,
  json: Json,
  toolCalls: readonly Json[] = [],
): Json {
  const last = replies.at(-1);
  const sum = (of: (usage: ModelReply["usage"]) => number): number =>
    replies.reduce((total, { usage }) => total + of(usage), 0);
  return {
    text: last?.text ?? "",
    json,
    tool_calls: toolCalls,
    usage: {
      input_tokens: sum(({ input_tokens }) => input_tokens),
      output_tokens: sum(({ output_tokens }) => output_tokens),
      total_tokens: sum(({ total_tokens }) => total_tokens),
      cost_usd: replies.every(({ usage }) => usage.cost_usd !== null) ? sum(({ cost_usd }) => cost_usd ?? 0) : null,
      estimated: replies.some(({ usage }) => usage.estimated),
    },
    finish_reason: last?.finish_reason ?? "other",
    citations: [],
  };
}
