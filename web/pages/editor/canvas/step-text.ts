import type { NodeKind } from "../../../api/flows.ts";
import { fieldOf } from "../../../flow/access.ts";
import type { FlowNode, Json } from "../../../flow/document.ts";

const LONGEST = 60;

/** The name of a node, or else that of its type. */
export const titleOf = (node: FlowNode, kind: NodeKind | undefined): string => {
  const name: unknown = node.name;
  return typeof name === "string" && name.trim() !== "" ? name : (kind?.title ?? node.type);
};

/** What a node does, from the first field of its configuration that says something. */
export function summaryOf(node: FlowNode, kind: NodeKind | undefined): string {
  const title = kind?.title ?? node.type;
  const what = kind === undefined ? undefined : essence(node, kind);
  const parts = [titleOf(node, kind) === title ? undefined : title, what].filter((part) => part !== undefined);
  return parts.length === 0 ? (kind?.help ?? "") : parts.join(" · ");
}

function essence(node: FlowNode, { config }: NodeKind): string | undefined {
  const required = config["required"];
  const properties = Object.keys(config["properties"] ?? {});
  const names = [...(Array.isArray(required) ? (required as string[]) : []), ...properties];
  for (const name of names) {
    const found = name === "flow" ? undefined : brief(fieldOf(node.config, name), name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function brief(value: Json | undefined, name: string): string | undefined {
  if (typeof value === "string") {
    const line = value
      .slice(0, 4 * LONGEST)
      .replaceAll(/\s+/g, " ")
      .trim();
    return line === "" ? undefined : line.slice(0, LONGEST);
  }
  if (typeof value === "number") return `${name.replaceAll("_", " ")} ${value}`;
  if (Array.isArray(value)) return value.length === 0 ? undefined : `${value.length} ${name.replaceAll("_", " ")}`;
  if (typeof value === "object" && value !== null) {
    const keys = Object.keys(value);
    return keys.length === 0 ? undefined : keys.join(", ").slice(0, LONGEST);
  }
  return undefined;
}
