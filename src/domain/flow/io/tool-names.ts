import { toolName } from "./io-formats.ts";

/** A published flow, by name. */
export interface NamedFlow {
  readonly project_id: string;
  readonly name: string;
}

/** Longest name of a tool after lengthening, so that clients accept it. */
const MAX_BASE = 51;

/**
 * The names of flows as tools: all are different, and adding a flow changes no other name. The first flow with a name
 * keeps it; the others' names end in the last digits of their ids. `flows` are in the order of their ids.
 */
export function namedTools(flows: readonly NamedFlow[]): ReadonlyMap<string, string> {
  const byName = new Map<string, string>();
  for (const { project_id, name } of flows) {
    const plain = toolName(name);
    byName.set(byName.has(plain) || plain === GET_RUN ? longName(plain, project_id) : plain, project_id);
  }
  return byName;
}

/** The flow that a tool's name means. The longer name, which a flow had while another had its name, still works. */
export function flowOfTool(flows: readonly NamedFlow[], tool: string): string | null {
  const known = namedTools(flows).get(tool);
  if (known !== undefined) return known;
  return flows.find(({ project_id, name }) => longName(toolName(name), project_id) === tool)?.project_id ?? null;
}

/** The tool that is not a flow: it tells how a run goes on. */
export const GET_RUN = "millrace_get_run";

function longName(plain: string, projectId: string): string {
  return `${plain.slice(0, MAX_BASE)}_${projectId.slice(-8)}`;
}
