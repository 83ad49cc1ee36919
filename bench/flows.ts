type Node = Readonly<Record<string, unknown>>;

function flow(nodes: readonly Node[], edges: ReadonlyArray<readonly [string, string]>) {
  return {
    schema_version: 1,
    name: "bench",
    nodes: nodes.map((node) => ({ config: {}, ...node })),
    edges: edges.map(([source, target]) => ({ source, target })),
  };
}

const input = { id: "in-0", type: "input" };
const output = { id: "out-0", type: "output" };

/** Three inline nodes. */
export const inlineFlow = flow(
  [input, { id: "set-0", type: "set", config: { values: { shout: 'nodes["in-0"].upperAscii()' } } }, output],
  [
    ["in-0", "set-0"],
    ["set-0", "out-0"],
  ],
);

/** Three nodes, one of them a template. */
export const templateFlow = flow(
  [input, { id: "tpl-0", type: "template", config: { template: "Hello {{in-0}}!" } }, output],
  [
    ["in-0", "tpl-0"],
    ["tpl-0", "out-0"],
  ],
);

const get = (id: string, url: string) => ({ id, type: "http", config: { method: "GET", url } });

/** Slow nodes in a row. */
export function httpFlow(url: string, length = 3) {
  const ids = Array.from({ length }, (_, at) => `http-${at}`);
  return flow(
    [...ids.map((id) => get(id, url)), output],
    ids.map((id, at) => [id, ids[at + 1] ?? "out-0"]),
  );
}

/** One node between input and output. */
export const through = (node: Node & { readonly id: string }) =>
  flow(
    [input, node, output],
    [
      ["in-0", node.id],
      [node.id, "out-0"],
    ],
  );

/** A chain of `length` inline nodes. */
export function chainFlow(length: number) {
  const ids = Array.from({ length }, (_, at) => `tpl-${at}`);
  const nodes = ids.map((id, at) => ({
    id,
    type: "template",
    config: { template: `{{${at === 0 ? "in-0" : ids[at - 1]}}}.` },
  }));
  const all = ["in-0", ...ids, "out-0"];
  return flow(
    [input, ...nodes, output],
    all.slice(1).map((id, at) => [all[at] ?? "", id] as const),
  );
}

/** `width` http nodes in parallel. */
export function parallelFlow(width: number, url: string) {
  const ids = Array.from({ length: width }, (_, at) => `http-${at}`);
  return flow(
    [input, ...ids.map((id) => get(id, url)), { id: "out-0", type: "output", config: { value: "done" } }],
    ids.flatMap(
      (id) =>
        [
          ["in-0", id],
          [id, "out-0"],
        ] as const,
    ),
  );
}

/** A map of a template over `count` items. */
export function mapFlow(count: number) {
  const inner = {
    nodes: [
      { id: "tpl-0", type: "template", config: { template: "n{{item}}" } },
      { id: "o", type: "output", config: {} },
    ],
    edges: [{ source: "tpl-0", target: "o" }],
  };
  const items = `[${Array.from({ length: count }, (_, at) => at).join(",")}]`;
  return flow([{ id: "map-0", type: "map", config: { items, flow: inner } }, output], [["map-0", "out-0"]]);
}
