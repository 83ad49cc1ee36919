import fc from "fast-check";
import { nodeCatalogue } from "../../src/domain/flow/definition/node-catalogue.ts";
import { edgesOf, graphAt, nestedOf, newId, nodesOf } from "../../web/flow/access.ts";
import { clipOf } from "../../web/flow/clip.ts";
import type { Command, FlowDocument, JsonObject, Scope } from "../../web/flow/document.ts";
import { validFlows } from "./arbitrary-flow.ts";

export const KINDS = nodeCatalogue();

/** Flows as an editor gets them: with fields that it does not know, long numbers and layout data. */
export const documents: fc.Arbitrary<FlowDocument> = fc
  .tuple(validFlows, fc.dictionary(fc.string(), fc.jsonValue()), fc.boolean())
  .map(([flow, unknown, isPlaced]) => {
    const positions = Object.fromEntries(flow.nodes.map(({ id }, at) => [id, { x: at * 10, y: at, z: "kept" }]));
    const text = JSON.stringify({
      ...flow,
      settings: { redact: ["$.inputs.in-0", '$.nodes["n-0"].output', "$..token"], long: "9007199254740993" },
      examples: [{ name: "one", inputs: { "in-0": "a" } }],
      unknown,
      ...(isPlaced ? { ui: { zoom: 1e21, positions, locked: ["n-0"] } } : {}),
    });
    return JSON.parse(text) as FlowDocument;
  });

/** The value, frozen at every depth, so that a change of it in place throws. */
export function frozen<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) for (const each of Object.values(Object.freeze(value))) frozen(each);
  return value;
}

const TYPES = [
  "addNode",
  "removeNodes",
  "moveNodes",
  "setConfig",
  "setNode",
  "renameNode",
  "connect",
  "disconnect",
  "insertOnEdge",
  "duplicate",
  "paste",
  "replaceText",
  "setNotes",
  "removeNotes",
  "setLocked",
  "setSettings",
  "setDocument",
  "replaceDocument",
  "all",
] as const;

/** What a command is made of; the document that it is for decides the rest. */
export type Seed = readonly [type: (typeof TYPES)[number], one: number, other: number, text: string];
const seed: fc.Arbitrary<Seed> = fc.tuple(
  fc.constantFrom(...TYPES),
  fc.nat(10_000),
  fc.nat(10_000),
  fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.constantFrom("__proto__", "constructor", "1", "a/b", '{{ nodes["in-0"] }}'),
  ),
);
export const seeds = (count: number): fc.Arbitrary<Seed[]> => fc.array(seed, { minLength: count, maxLength: count });

/** Every flow of a document with its scope. */
export function scopesOf(document: FlowDocument): Scope[] {
  const scopes: Scope[] = [[]];
  for (const scope of scopes)
    for (const node of nodesOf(graphAt(document, scope)))
      if (nestedOf(node) !== undefined) scopes.push([...scope, node.id]);
  return scopes;
}

const pick = <Item>(items: readonly Item[], at: number): Item | undefined => items[at % items.length];

export function commandFor(document: FlowDocument, [type, one, other, text]: Seed): Command {
  const scope = pick(scopesOf(document), other) ?? [];
  const graph = graphAt(document, scope);
  const nodes = nodesOf(graph);
  const id = pick(nodes, one)?.id ?? "none";
  const second = pick(nodes, other)?.id ?? "none";
  const edge = pick(edgesOf(graph), one) ?? { source: id, target: second };
  const position = { x: one, y: other / 3 };
  const note = {
    id: `note-${one % 5}`,
    text,
    x: one,
    y: other,
    width: 100,
    height: 80,
    ...(scope.length > 0 ? { scope: scope.join("/") } : {}),
  };
  switch (type) {
    case "addNode": {
      const node = { id: newId(document, "template"), type: "template", config: { template: text } };
      return { type, scope, node, position, edges: [{ source: id, target: node.id }] };
    }
    case "removeNodes":
      // One node at most, so that long sequences do not only empty the document.
      return { type, scope, ids: [id], notes: [note.id], reconnect: one % 2 === 0 };
    case "moveNodes":
      return {
        type,
        scope,
        positions: { [id]: position, [second]: { x: other, y: one } },
        notes: { [note.id]: position },
      };
    case "setConfig":
      return {
        type,
        scope,
        id,
        path: other % 2 === 0 ? [text, one % 3, "x"] : [text],
        value: one % 4 === 0 ? undefined : { text },
      };
    case "setNode":
      return { type, scope, id, fields: { name: text, notes: one % 3 === 0 ? undefined : text, [text]: one } };
    case "renameNode":
      return { type, scope, id, to: `renamed-${one}` };
    case "connect":
      return { type, scope, edge: { source: id, source_handle: "error", target: second } };
    case "disconnect":
      return { type, scope, edges: [edge] };
    case "insertOnEdge":
      return { type, scope, edge, node: { id: newId(document, "http"), type: "http" }, position, handle: "out" };
    case "duplicate":
      return { type, scope, ids: nodes.length < 12 ? [id, second] : [], notes: [note.id] };
    case "paste":
      return {
        type,
        scope,
        clip: clipOf(document, [], [pick(nodesOf(document), other)?.id ?? ""], [note.id]),
        at: position,
      };
    case "replaceText":
      return { type, search: { text: text || "n", matchCase: one % 2 === 0 }, replacement: `${text}$&` };
    case "setNotes":
      return { type, notes: [note] };
    case "removeNotes":
      return { type, ids: [note.id] };
    case "setLocked":
      return { type, scope, ids: [id], locked: one % 3 === 0 };
    case "setSettings":
      return { type, settings: one % 5 === 0 ? undefined : { timeout_seconds: one } };
    case "setDocument":
      return { type, fields: { description: one % 3 === 0 ? undefined : text, name: text } };
    case "replaceDocument":
      return { type, document: { ...document, nodes: nodesOf(document).toReversed(), [text]: one } };
    case "all":
      return {
        type,
        commands: [
          commandFor(document, ["setNode", one, other, text]),
          commandFor(document, ["connect", other, one, text]),
        ],
      };
    default:
      return type satisfies never;
  }
}

/** A flow of `count` nodes in a chain with shortcuts. */
export function chainOf(count: number): FlowDocument {
  const nodes = Array.from({ length: count }, (_, at) => ({
    id: `tpl-${at}`,
    type: "template",
    config: { template: `{{ tpl-${at - 1} }} and {{ nodes["tpl-0"] }}` } as JsonObject,
  }));
  const edges = nodes.slice(1).map(({ id }, at) => ({ source: `tpl-${at}`, target: id }));
  const positions = Object.fromEntries(nodes.map(({ id }, at) => [id, { x: 0, y: at * 100 }]));
  return { schema_version: 1, name: "chain", nodes, edges, ui: { positions } };
}
