import { isWithin } from "../../domain/accounts/kept-rights.ts";
import { Problem } from "../../domain/errors.ts";
import type { LlmTool } from "../../domain/flow/nodes/llm-tools.ts";
import type { NodeKind } from "../../domain/flow/kinds.ts";
import type { JsonObject } from "../../domain/json.ts";
import { distinctNames, MAX_TOOLS, toolName, withoutMembers } from "../../domain/models/agent.ts";
import { inputsOf, type Action } from "../../domain/providers/action.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import type { Database, Db } from "../../stores/db.ts";
import { requireKnowledgeBase } from "../knowledge/knowledge-bases.ts";
import { findCalledFlow } from "../projects/called-flow.ts";
import type { VersionKey } from "../projects/plans.ts";
import { reachOfVersion } from "../projects/version-rights.ts";
import { findAction, findProvider, listActions } from "../providers/providers.ts";

/** A tool as a model sees it, and the node's tool behind it. */
export interface FoundTool {
  readonly name: string;
  readonly description: string;
  /** The schema of the inputs that the model chooses. */
  readonly input_schema: JsonObject;
  /** Index in the node's `tools`; null for tools that read its skills. */
  readonly tool: number | null;
  readonly type: NodeKind;
  /** The action that this tool calls, set only if the node's tool stands for several actions. */
  readonly action_id?: string;
  readonly approval: boolean;
}

type Draft = Omit<FoundTool, "tool" | "approval"> & { readonly chosen: boolean };

/** Longest description that a model sees (characters). */
const MAX_DESCRIPTION = 1024;

/**
 * Finds the current tools of a node. Throws NodeFailure if a tool no longer exists, or the version lacks the rights to
 * use it.
 */
export async function findTools(
  db: Database,
  version: VersionKey,
  tools: readonly LlmTool[],
  limits: { readonly max_input_bytes: number },
): Promise<FoundTool[]> {
  const found = await db.org(version.org_id, async (connection) => {
    const all: Array<Draft & Pick<FoundTool, "tool" | "approval">> = [];
    for (const [tool, listed] of tools.entries()) {
      for (const draft of await draftsOf(connection, version, listed, limits))
        all.push({ ...draft, tool, approval: listed.approval });
    }
    return all;
  });
  if (found.length > MAX_TOOLS) {
    const message = `The node has ${found.length} tools; a model can use at most ${MAX_TOOLS}. List the needed tools in "only".`;
    throw new NodeFailure("too_many_tools", message);
  }
  const names = distinctNames(found);
  return found.map(({ chosen: _chosen, description, ...tool }, at) => ({
    ...tool,
    name: names[at] ?? tool.name,
    description: description.slice(0, MAX_DESCRIPTION).toWellFormed(),
  }));
}

async function draftsOf(
  db: Db,
  version: VersionKey,
  tool: LlmTool,
  limits: { readonly max_input_bytes: number },
): Promise<Draft[]> {
  const named = (otherwise: string) => ({ name: tool.name ?? toolName(otherwise), chosen: tool.name !== undefined });
  switch (tool.type) {
    case "action": {
      const { provider_id, action_id, fixed_inputs } = tool;
      const provider = await findProvider(db, provider_id);
      const action = provider && (await findAction(db, provider, action_id));
      if (!action) throw gone("action_not_found", `the action ${action_id} of ${provider_id}`);
      const input_schema = withoutMembers(action.input_schema, Object.keys(fixed_inputs));
      return [
        { ...named(`${provider_id}_${action_id}`), description: action.description.llm, input_schema, type: "action" },
      ];
    }
    case "mcp": {
      const { provider_id, only } = tool;
      const provider = await findProvider(db, provider_id);
      if (!provider) throw gone("action_not_found", `the provider ${provider_id}`);
      const actions: readonly (Action | null)[] = only
        ? await Promise.all(only.map((id) => findAction(db, provider, id)))
        : await listActions(db, provider, { beyond: null, ascending: true, limit: MAX_TOOLS + 1 });
      return actions.map((action, at) => {
        if (!action) throw gone("action_not_found", `the action ${only?.[at]} of ${provider_id}`);
        const { action_id, description, input_schema } = action;
        const name = toolName(tool.name === undefined ? action_id : `${tool.name}_${action_id}`);
        return { name, chosen: false, description: description.llm, input_schema, type: "action", action_id };
      });
    }
    case "knowledge": {
      const base = await requireKnowledgeBase(db, tool.knowledge_base_id).catch((error: unknown) => {
        if (!(error instanceof Problem)) throw error;
        throw gone("knowledge_base_not_found", `the knowledge base ${tool.knowledge_base_id}`);
      });
      const description = `Searches the knowledge base "${base.name}". ${base.description}`.trim();
      const query = { type: "string", minLength: 1, maxLength: 4000, description: "What to search for" };
      return [{ ...named(`search_${base.name}`), description, input_schema: inputsOf({ query }), type: "knowledge" }];
    }
    case "subflow": {
      const reach = await reachOfVersion(db, version, "editor");
      const found = isWithin(reach, tool.project_id) ? await findCalledFlow(db, tool, limits) : null;
      if (!found)
        throw gone(
          "subflow_not_found",
          `the flow ${tool.project_id}, a published version of it, or the right to run it`,
        );
      const { project, io } = found;
      const { $schema: _dialect, ...input_schema } = io.inputs;
      const description = tool.description ?? (project.description || `Runs the flow "${project.name}".`);
      return [{ ...named(project.name), description, input_schema, type: "subflow" }];
    }
    default:
      return tool satisfies never;
  }
}

function gone(code: string, what: string): NodeFailure {
  return new NodeFailure(code, `A tool of the node is no longer available: ${what}.`);
}
