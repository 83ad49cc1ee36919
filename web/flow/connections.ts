import { isObject } from "./access.ts";

/** The IDs of the connections that a flow's nodes and tools name, also inside maps and loops. */
export function connectionsIn(flow: unknown): string[] {
  const found = new Set<string>();
  collect(flow, found);
  return [...found];
}

function collect(flow: unknown, found: Set<string>): void {
  const nodes = isObject(flow) && Array.isArray(flow["nodes"]) ? (flow["nodes"] as readonly unknown[]) : [];
  for (const node of nodes) {
    const config = isObject(node) && isObject(node["config"]) ? node["config"] : {};
    const tools = Array.isArray(config["tools"]) ? (config["tools"] as readonly unknown[]) : [];
    for (const each of [config, ...tools]) {
      const id = isObject(each) ? each["connection_id"] : undefined;
      if (typeof id === "string") found.add(id.toLowerCase());
    }
    collect(config["flow"], found);
  }
}
