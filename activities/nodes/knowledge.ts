import { knowledgeSpec, type KnowledgeConfig } from "../../src/domain/flow/nodes/knowledge.ts";
import { Problem } from "../../src/domain/errors.ts";
import { citationsOf, textOfResults } from "../../src/domain/knowledge/citations.ts";
import { knowledgeQuerySchema, type KnowledgeAnswer, type KnowledgeQuery } from "../../src/domain/knowledge/query.ts";
import type { Json, JsonObject } from "../../src/domain/json.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import { unlessAborted } from "../../src/platform/linked-abort.ts";
import type { QueryDeps } from "../../src/services/knowledge/deps.ts";
import { requireKnowledgeBase } from "../../src/services/knowledge/knowledge-bases.ts";
import { queryKnowledgeBase } from "../../src/services/knowledge/query.ts";
import type { Parts } from "../../src/services/parts.ts";
import type { NodeExecutor } from "./executor.ts";
import { renderInside, renderTemplates } from "./templates.ts";

export interface KnowledgeNodeDeps extends Parts<"evaluation"> {
  readonly knowledge: QueryDeps;
}

/** Searches a knowledge base for an action, like POST .../query, and joins the texts. Throws NodeFailure. */
export type QueryKnowledge = (
  orgId: string,
  knowledgeBaseId: string,
  query: JsonObject,
  signal: AbortSignal,
) => Promise<Json>;

export function createKnowledgeQuery(knowledge: QueryDeps): QueryKnowledge {
  return async (orgId, knowledgeBaseId, query, signal) => {
    const { results } = await unlessAborted(signal, ask(knowledge, orgId, knowledgeBaseId, parseQuery(query)));
    return { results, text: textOfResults(results) } as unknown as Json;
  };
}

/** Executes `knowledge` nodes: searches like POST .../query. */
export function createKnowledgeExecutor({ evaluation, knowledge }: KnowledgeNodeDeps): NodeExecutor<KnowledgeConfig> {
  return async ({ org_id, config, scope, signal }) => {
    const rendered = await renderTemplates(evaluation, org_id, knowledgeSpec.expressions(config), scope);
    const query = readQuery(config, rendered);
    const include = [...new Set([...query.include, "text" as const])];
    const answer = await unlessAborted(signal, ask(knowledge, org_id, config.knowledge_base_id, { ...query, include }));
    const citations = citationsOf(config.knowledge_base_id, answer.results);
    const results = query.include.includes("text")
      ? answer.results
      : answer.results.map((result) => ({ ...result, text: null }));
    const { query: text, query_strategy, filter } = query;
    const asked = { query: text, query_strategy, ...(filter === undefined ? {} : { filter }) };
    // The cast is safe: results contain only JSON, which their type cannot express.
    return {
      output: { results, text: textOfResults(answer.results), citations } as unknown as Json,
      citations: citations as unknown as Json[],
      inputs: { ...asked, strategy_used: answer.strategy_used } as unknown as Json,
    };
  };
}

function readQuery(
  { knowledge_base_id: _knowledgeBaseId, query, filter, ...options }: KnowledgeConfig,
  rendered: ReadonlyMap<string, string>,
): KnowledgeQuery {
  return parseQuery({
    ...options,
    query: rendered.get(query),
    ...(filter === undefined ? {} : { filter: renderInside(filter, rendered) }),
  });
}

function parseQuery(query: unknown): KnowledgeQuery {
  const parsed = knowledgeQuerySchema.safeParse(query);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new NodeFailure("invalid_query", `This query is not valid for the knowledge base. ${faults.join("; ")}`);
}

async function ask(
  knowledge: QueryDeps,
  orgId: string,
  knowledgeBaseId: string,
  query: KnowledgeQuery,
): Promise<KnowledgeAnswer> {
  try {
    const base = await knowledge.database.org(orgId, (db) => requireKnowledgeBase(db, knowledgeBaseId));
    return await queryKnowledgeBase(knowledge, orgId, base, query, []);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const options = { cause: error };
    if (error.code === "not_found") {
      throw new NodeFailure("knowledge_base_not_found", "The knowledge base no longer exists.", options);
    }
    if (error.code === "upstream_failed") {
      throw new NodeFailure("upstream_failed", error.message, { ...options, retryable: true, upstream: true });
    }
    throw new NodeFailure("invalid_query", error.message, options);
  }
}
