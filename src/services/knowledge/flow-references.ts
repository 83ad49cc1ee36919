import { Problem } from "../../domain/errors.ts";
import type { FlowDefinition } from "../../domain/flow/definition/definition.ts";
import { nodePath, type FlowProblem } from "../../domain/flow/validate/problems.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { Db } from "../../stores/db.ts";
import { holdKnowledgeBases } from "../../stores/knowledge/knowledge-bases.ts";

/**
 * The knowledge bases that a flow searches and that are not there. Within a transaction those that are there stay until it ends,
 * so that none is deleted while a flow that uses it is being published.
 */
export async function knowledgeProblems(db: Db, definition: FlowDefinition): Promise<FlowProblem[]> {
  const references = referencesOf(definition, []);
  const askable = references.map(({ knowledge_base_id }) => knowledge_base_id).filter(isUuid);
  const known = new Set(askable.length === 0 ? [] : await holdKnowledgeBases(db, [...new Set(askable)].toSorted()));
  return references
    .filter(({ knowledge_base_id }) => !known.has(knowledge_base_id))
    .map(({ node_id, path }) => ({
      node_id,
      node_path: nodePath(definition, path),
      path: [...path, "config", "knowledge_base_id"],
      code: "unknown_knowledge_base",
      severity: "error",
      message: "There is no such knowledge base",
      hint: "GET /v2/knowledge-bases lists those there are",
    }));
}

/** Throws 409 where a flow that is to be published again searches a knowledge base that has been deleted since. */
export async function requireKnowledgeBases(db: Db, definition: FlowDefinition): Promise<void> {
  const [problem] = await knowledgeProblems(db, definition);
  if (problem === undefined) return;
  throw new Problem("conflict", `The knowledge base of node ${problem.node_id} is not there any more.`);
}

interface Reference {
  readonly knowledge_base_id: string;
  readonly node_id: string;
  readonly path: ReadonlyArray<string | number>;
}

function referencesOf(
  graph: { readonly nodes: readonly unknown[] },
  path: ReadonlyArray<string | number>,
): Reference[] {
  return graph.nodes.flatMap((raw, index) => {
    const node = raw as {
      id: string;
      type: string;
      config?: { knowledge_base_id?: unknown; flow?: { nodes: readonly unknown[] } };
    };
    const place = [...path, "nodes", index];
    if (node.type === "knowledge") {
      const knowledge_base_id = String(node.config?.knowledge_base_id).toLowerCase();
      return [{ knowledge_base_id, node_id: node.id, path: place }];
    }
    return node.config?.flow ? referencesOf(node.config.flow, [...place, "config", "flow"]) : [];
  });
}
