import { notFound } from "../../domain/errors.ts";
import type { FlowLimits } from "../../domain/flow/definition/limits.ts";
import { toMcpTool } from "../../domain/flow/io/io-formats.ts";
import { describeFlow } from "../../domain/flow/io/io-schema.ts";
import { flowOfTool, namedTools, type NamedFlow } from "../../domain/flow/io/tool-names.ts";
import type { Database } from "../../stores/db.ts";
import { definitionsIn, flowsIn } from "../../stores/projects/published-flows.ts";

/** Most tools on one page. */
const PAGE = 50;

/** Which flows are tools: those with a version in the environment, or only these of them. */
export interface WantedTools {
  readonly environment: string;
  readonly flows: readonly string[] | null;
}

export type FlowTools = ReturnType<typeof createFlowTools>;

/** The flows of an organisation in one environment as tools of the Model Context Protocol. */
export function createFlowTools(db: Database, limits: FlowLimits) {
  async function flows(orgId: string, wanted: WantedTools): Promise<readonly NamedFlow[]> {
    const ids = wanted.flows && [...new Set(wanted.flows)];
    const found = await db.org(orgId, (connection) => flowsIn(connection, wanted.environment, ids));
    if (ids && found.length < ids.length) throw notFound("flow");
    return found;
  }

  return {
    /** A page of tools after the flow `beyond`. Like `find`, throws 404 if a wanted flow does not exist or has no version in the environment. */
    async page(orgId: string, wanted: WantedTools, beyond: string | null) {
      const all = [...namedTools(await flows(orgId, wanted))].map(([name, project_id]) => ({ name, project_id }));
      const rest = beyond === null ? all : all.filter(({ project_id }) => project_id > beyond);
      const shown = rest.slice(0, PAGE);
      const ids = shown.map(({ project_id }) => project_id);
      const found = await db.org(orgId, (connection) => definitionsIn(connection, wanted.environment, ids));
      const byId = new Map(found.map((flow) => [flow.project_id, flow]));
      const tools = shown.flatMap(({ name, project_id }) => {
        const flow = byId.get(project_id);
        return flow === undefined ? [] : [toMcpTool(describeFlow(flow.definition, flow, limits), name)];
      });
      return { tools, next: rest.length > shown.length ? (ids.at(-1) ?? null) : null };
    },
    /** The flow whose tool has this name; null if there is none. */
    find: async (orgId: string, wanted: WantedTools, tool: string) => flowOfTool(await flows(orgId, wanted), tool),
  };
}
