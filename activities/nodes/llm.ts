import type { LlmConfig } from "../../src/domain/flow/nodes/llm.ts";
import type { Json } from "../../src/domain/json.ts";
import type { ChatMessage } from "../../src/domain/models/chat.ts";
import type { ModelReply } from "../../src/services/models/call-model.ts";
import { askModel, type AskDeps } from "./ask-model.ts";
import type { NodeExecutor, NodeOutcome } from "./executor.ts";
import { invalidAnswer, outputOf, readAnswer, repairOf, requestOf } from "./llm-answer.ts";
import { loadImages, withImages, type ImagesDeps } from "./llm-images.ts";
import { citationsIn, closeConversation, openConversation, type ConversationDeps } from "./open-conversation.ts";

export interface LlmDeps extends AskDeps, ConversationDeps, ImagesDeps {}

/** Executes `llm` nodes. If an answer breaks the node's schema, the model gets it back once with the reason. */
export function createLlmExecutor({ db, evaluation, models, texts, load }: LlmDeps): NodeExecutor<LlmConfig> {
  return async (execution) => {
    const { org_id, config, path } = execution;
    const { messages: opening, question, sources } = await openConversation({ db, evaluation }, execution, path);
    const images = await loadImages({ evaluation, load }, execution);
    const messages = withImages(opening, images);
    const seen = images.map(({ mime_type }) => mime_type);
    const inputs = { messages: opening, ...(seen.length > 0 && { images: seen }) } as unknown as Json;

    const ask = (asked: readonly ChatMessage[], step: number): Promise<ModelReply> =>
      askModel({ models, texts }, execution, { path, step, request: requestOf(config, asked) });
    const end = async (replies: readonly ModelReply[], json: Json): Promise<NodeOutcome> => {
      const text = replies.at(-1)?.text ?? "";
      const citations = citationsIn(text, json, sources);
      await closeConversation({ db }, execution, path, question, text);
      const cited = sources.length === 0 ? {} : { citations: citations as unknown as Json[] };
      return { output: outputOf(replies, json, { citations }), inputs, ...cited };
    };

    const first = await ask(messages, 1);
    if (config.schema === undefined) return end([first], null);
    const found = await readAnswer(evaluation, org_id, config.schema, first.text);
    if ("json" in found) return end([first], found.json);
    const second = await ask([...messages, ...repairOf(first.text, found.fault)], 2);
    const repaired = await readAnswer(evaluation, org_id, config.schema, second.text);
    if ("json" in repaired) return end([first, second], repaired.json);
    throw invalidAnswer(repaired.fault);
  };
}
