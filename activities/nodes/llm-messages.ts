import type { LlmConfig } from "../../src/domain/flow/nodes/llm.ts";
import type { Json, JsonObject } from "../../src/domain/json.ts";
import type { ChatMessage } from "../../src/domain/models/chat.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";

/** The conversation in the order that both protocols take: instructions, earlier messages, the question. */
export function conversation(
  config: LlmConfig,
  rendered: readonly Json[],
  remembered: readonly ChatMessage[],
): ChatMessage[] {
  const values = [...rendered];
  const prompt = values.shift() as string;
  const system = config.system === undefined ? "" : (values.shift() as string);
  const earlier = config.messages === undefined ? [] : readMessages(values.shift() ?? null);
  return [
    ...(system === "" ? [] : [{ role: "system" as const, content: system }]),
    ...remembered,
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
    `"messages" must return a list of {role, content}, each role one of ${roles}.`,
  );
}
