const INNER = ["item", "index", "last"];

/** The values that a text reads, as the API takes them: all nodes whose ID it contains, and what the nearest map or loop gives. */
export function valuesFor(
  source: string,
  seen: ReadonlyArray<{ readonly key: string; readonly hasLast: boolean; readonly last?: unknown }>,
): { readonly nodes: Readonly<Record<string, unknown>>; readonly inputs?: unknown } {
  const isDynamic = /nodes\s*\[\s*[^"'\s]/.test(source);
  const nodes: Record<string, unknown> = {};
  const inner: Record<string, unknown> = {};
  let inputs: unknown;
  for (const { key, hasLast, last } of seen) {
    const id = key.slice(key.lastIndexOf("/") + 1);
    if (id === "$inputs") inputs = last;
    else if (INNER.includes(id.slice(1)) && hasLast) inner[id.slice(1)] = last;
    else if (hasLast && !id.startsWith("$") && (isDynamic || source.includes(id))) nodes[id] = last;
  }
  return { nodes, ...inner, ...(inputs !== undefined && source.includes("inputs") && { inputs }) };
}

/** The names of the values that a text reads and that were too long to be read with the run. */
export const cutNames = (nodes: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(nodes)
    .filter(([, value]) => typeof value === "object" && value !== null && "$truncated" in value)
    .map(([id]) => id);
