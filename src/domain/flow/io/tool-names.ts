import { toolName } from "./io-formats.ts";

export interface NamedFlow {
  readonly project_id: string;
  readonly name: string;
}

/** Longest part of a flow's name in a lengthened tool name, whose total length clients must accept. */
const MAX_BASE = 51;

/**
 * Distinct tool names for flows; adding a flow never changes another's name. The first flow with a name keeps it; the names of later ones
 * end in the last digits of their IDs. Pass `flows` in the order of their IDs.
 */
export function namedTools(flows: readonly NamedFlow[]): ReadonlyMap<string, string> {
  const byName = new Map<string, string>();
  for (const { project_id, name } of flows) {
    const plain = toolName(name);
    byName.set(byName.has(plain) || plain === GET_RUN ? longName(plain, project_id) : plain, project_id);
  }
  return byName;
}

/**
 * The flow that a tool name means; null if there is none. The lengthened name of a flow always works, also when the flow has its plain
 * name.
 */
export function flowOfTool(flows: readonly NamedFlow[], tool: string): string | null {
  const known = namedTools(flows).get(tool);
  if (known !== undefined) return known;
  return flows.find(({ project_id, name }) => longName(toolName(name), project_id) === tool)?.project_id ?? null;
}

/** The one tool that is not a flow: it reports on a run. */
export const GET_RUN = "millrace_get_run";

function longName(plain: string, projectId: string): string {
  return `${plain.slice(0, MAX_BASE)}_${projectId.slice(-8)}`;
}
