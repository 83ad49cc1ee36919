import { createHash } from "node:crypto";
import { canonicalJson } from "../../src/domain/flow/definition/content-hash.ts";
import { llmSpec, type LlmConfig } from "../../src/domain/flow/nodes/llm.ts";
import type { Json } from "../../src/domain/json.ts";
import type { Citation } from "../../src/domain/knowledge/citations.ts";
import { CITE_SOURCES, citedIn, numberedFrom, type FoundSources } from "../../src/domain/knowledge/sources.ts";
import type { ChatMessage } from "../../src/domain/models/chat.ts";
import { recall, remember, type Remembering } from "../../src/services/models/memory.ts";
import type { NodeExecution } from "./executor.ts";
import { conversation } from "./llm-messages.ts";
import type { Scope } from "../../src/domain/flow/scope.ts";
import type { Parts } from "../../src/services/parts.ts";

export type ConversationDeps = Parts<"db" | "evaluation">;

/** The model's instructions and sources before its first question. */
export interface Opening {
  readonly messages: readonly ChatMessage[];
  /** The node's prompt. */
  readonly question: string;
  /**
   * Digests of the node's question and of the data it is rendered from, separated by a dot. They do not cover the
   * messages of earlier runs.
   */
  readonly asked: string;
  /** Passages of searches, by the numbers that the model sees. */
  readonly sources: readonly Citation[];
}

/** Builds the question for a node's model. `path` is the node's. */
export async function openConversation(
  { db, evaluation }: ConversationDeps,
  execution: NodeExecution<LlmConfig>,
  path: string,
): Promise<Opening> {
  const { org_id, config, knowledge = [] } = execution;
  const { scope, sources } = numberSources(execution.scope, knowledge);
  const templates = llmSpec.expressions(config);
  const rendered = await evaluation.sources(org_id, templates, scope);
  const { turns } = config.memory ?? {};
  const earlier = turns === undefined ? [] : await recall(db, placeOf(execution, path), turns);
  const messages = conversation(config, rendered, earlier);
  const cited = sources.length === 0 ? messages : withSystemText(messages, CITE_SOURCES);
  // Two digests, because the rendered text may contain the current time, and its data may contain more than the text
  // shows.
  const asked = [rendered, [templates, scope]].map((what) => digestOf(what, execution.run_id)).join(".");
  return { messages: cited, question: rendered[0] as string, asked, sources };
}

/**
 * Removes the run's ID, the only difference from the run that it resumes, and sorts the fields, whose order depends on
 * the database.
 */
const digestOf = (what: unknown, runId: string): string =>
  createHash("sha256").update(canonicalJson(what).replaceAll(runId, "")).digest("base64url");

/** The sources of the answer. A node without sources has none. */
export function citationsIn(text: string, json: Json, sources: readonly Citation[]): readonly Citation[] {
  return sources.length === 0 ? [] : citedIn(textsOf(text, json), sources);
}

/** Stores the question and answer of a node with a memory. */
export async function closeConversation(
  { db }: Parts<"db">,
  execution: NodeExecution<LlmConfig>,
  path: string,
  question: string,
  answer: string,
): Promise<void> {
  if (execution.config.memory !== undefined) await remember(db, placeOf(execution, path), question, answer);
}

/** Adds a text to the system message at the start. */
export function withSystemText(messages: readonly ChatMessage[], text: string): ChatMessage[] {
  const [first, ...others] = messages;
  if (first?.role !== "system") return [{ role: "system", content: text }, ...messages];
  return [{ role: "system", content: `${first.content}\n\n${text}` }, ...others];
}

function placeOf({ org_id, project_id, run_id, scope }: NodeExecution<LlmConfig>, path: string): Remembering {
  return { org_id, project_id, run_id, path, user_id: scope.run.user_id };
}

/** A node's scope, with the passages of all searches numbered consecutively: each number is one source. */
function numberSources(
  scope: Scope,
  knowledge: readonly string[],
): { readonly scope: Scope; readonly sources: readonly Citation[] } {
  const sources: Citation[] = [];
  const nodes: Record<string, Json> = { ...scope.nodes };
  for (const id of knowledge) {
    const value = nodes[id] as unknown as FoundSources | undefined;
    // The default output of a failed search has no passages.
    if (!Array.isArray(value?.citations) || typeof value.text !== "string") continue;
    const numbered = numberedFrom(value, sources.length);
    nodes[id] = { ...value, ...numbered } as unknown as Json;
    sources.push(...numbered.citations);
  }
  return { scope: { ...scope, nodes }, sources };
}

/** All texts of an answer: the text itself, or the strings in its JSON, since JSON lists look like numbers in brackets. */
function textsOf(text: string, json: Json): string {
  return json === null ? text : textsIn(json).join("\n");
}

/** The strings in a JSON value. */
export function textsIn(value: Json): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
