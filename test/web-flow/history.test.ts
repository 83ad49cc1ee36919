import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { apply, createState, reduce } from "../../web/flow/history.ts";
import type { Action, Command, EditorState, FlowDocument } from "../../web/flow/document.ts";
import { parseFlow } from "../../web/flow/parse.ts";
import { chainOf, commandFor, documents, frozen, KINDS, seeds } from "../support/flow-commands.ts";

const textOf = (document: FlowDocument): string => JSON.stringify(document);
const all = (state: EditorState, type: "undo" | "redo"): EditorState => {
  let next = state;
  while (next[type === "undo" ? "past" : "future"].length > 0) next = reduce(next, { type });
  return next;
};
const doing = (state: EditorState, ...commands: Command[]): EditorState =>
  commands.reduce((next, command) => reduce(next, { type: "do", command }), state);

describe("the history of a flow", () => {
  it("takes 200 random commands back to the first document byte for byte, and forward to the last", () => {
    const effective = new Set<string>();
    fc.assert(
      fc.property(documents, seeds(200), (document, list) => {
        const first = textOf(document);
        let state = createState(frozen(document), KINDS);
        const texts = [first];
        for (const each of list) {
          const command = commandFor(state.document, each);
          const before = state.document;
          state = reduce(state, { type: "do", command });
          frozen(state.document);
          if (state.document === before) continue;
          effective.add(command.type);
          texts.push(textOf(state.document));
        }
        expect(state.past).toHaveLength(texts.length - 1);
        const back = all(state, "undo");
        expect(textOf(back.document)).toBe(first);
        expect(textOf(all(back, "redo").document)).toBe(texts.at(-1));
        // Half-way, and from there forward with another command.
        let half = state;
        for (let at = texts.length - 1; at > texts.length / 2; at -= 1) {
          half = reduce(half, { type: "undo" });
          expect(textOf(half.document)).toBe(texts[at - 1]);
        }
        const changed = doing(half, { type: "setDocument", fields: { name: `${half.document.name}!` } });
        expect(changed.future).toEqual([]);
        expect(textOf(reduce(changed, { type: "undo" }).document)).toBe(textOf(half.document));
      }),
      { numRuns: 8 },
    );
    expect([...effective].toSorted()).toEqual(
      [
        "addNode",
        "all",
        "connect",
        "disconnect",
        "duplicate",
        "insertOnEdge",
        "moveNodes",
        "paste",
        "removeNodes",
        "removeNotes",
        "renameNode",
        "replaceDocument",
        "replaceText",
        "setConfig",
        "setDocument",
        "setLocked",
        "setNode",
        "setNotes",
        "setSettings",
      ].toSorted(),
    );
  });

  it("gives every command an inverse that restores the document exactly", () => {
    fc.assert(
      fc.property(documents, seeds(1), (document, [each]) => {
        if (each === undefined) return;
        const { document: changed, inverse } = apply(frozen(document), commandFor(document, each), KINDS);
        const back = apply(frozen(changed), inverse, KINDS);
        expect(textOf(back.document)).toBe(textOf(document));
        expect(textOf(apply(back.document, back.inverse, KINDS).document)).toBe(textOf(changed));
      }),
      { numRuns: 200 },
    );
  });

  it("keeps fields that the editor does not know, in their order, and long numbers", () => {
    const text =
      '{"zz":{"b":1,"a":[9007199254740993]},"schema_version":1,"name":"x","nodes":[{"id":"a","type":"new","odd":null}],"edges":[]}';
    const parsed = parseFlow(text);
    if (!("document" in parsed)) throw new Error(parsed.fault);
    const state = doing(
      createState(parsed.document),
      { type: "setNode", scope: [], id: "a", fields: { name: "A" } },
      { type: "setConfig", scope: [], id: "a", path: ["list", 0, "x"], value: 1 },
      { type: "setConfig", scope: [], id: "a", path: ["list", 0, "x"], value: undefined },
    );
    expect(textOf(state.document)).toBe(
      '{"zz":{"b":1,"a":["9007199254740993"]},"schema_version":1,"name":"x","nodes":[{"id":"a","type":"new","odd":null,"name":"A","config":{"list":[{}]}}],"edges":[]}',
    );
  });

  it("does not open a text that is no flow, and says in which line it ends to be JSON", () => {
    expect(parseFlow("[1]")).toEqual({ fault: "A flow is a JSON object.", line: null });
    expect(parseFlow('{\n"a": 1,\n}')).toEqual({ fault: "Line 3: enter valid JSON.", line: 3 });
    expect(parseFlow('{"a":\n')).toEqual({ fault: "Line 2: enter valid JSON.", line: 2 });
  });

  it("makes one step of typing, and another after a pause, in another field, or after a step between", () => {
    const typed = (prompt: string, at: number, group = "prompt"): Action => ({
      type: "do",
      command: { type: "setConfig", scope: [], id: "tpl-0", path: ["template"], value: prompt },
      group,
      at,
    });
    const steps = (...actions: Action[]): number => actions.reduce(reduce, createState(chainOf(2))).past.length;
    expect(steps(typed("a", 0), typed("ab", 900), typed("abc", 1800))).toBe(1);
    expect(steps(typed("a", 0), typed("ab", 1001))).toBe(2);
    expect(steps(typed("a", 0), typed("ab", 100, "system"))).toBe(2);
    expect(steps(typed("a", 0), { type: "endGroup" }, typed("ab", 100))).toBe(2);
    expect(steps(typed("a", 0), typed("ab", 100), { type: "undo" }, typed("b", 150))).toBe(1);
    const state = [typed("a", 0), typed("ab", 10), typed("abc", 20)].reduce(reduce, createState(chainOf(2)));
    expect(reduce(state, { type: "undo" }).document).toEqual(chainOf(2));
    expect(reduce(reduce(state, { type: "undo" }), { type: "redo" }).document).toEqual(state.document);
    // Typed back to what it was.
    const again = typed('{{ tpl--1 }} and {{ nodes["tpl-0"] }}', 10);
    expect(steps(typed("a", 0), again)).toBe(0);
    expect(steps(typed("a", 0, "name"), typed("b", 0), typed("a", 5), typed("c", 10))).toBe(2);
  });

  it("makes no step of a selection, of an open flow, or of a command that changes nothing", () => {
    const state = createState(chainOf(3));
    const same: Command[] = [
      { type: "moveNodes", scope: [], positions: { "tpl-0": { x: 0, y: 0 } } },
      { type: "setNode", scope: [], id: "tpl-9", fields: { name: "x" } },
      { type: "setNode", scope: [], id: "tpl-0", fields: { id: "x" } },
      { type: "setConfig", scope: ["nowhere"], id: "tpl-0", path: [], value: {} },
      { type: "setConfig", scope: [], id: "tpl-0", path: [], value: { ...state.document.nodes[0]?.config } },
      { type: "connect", scope: [], edge: { source: "tpl-0", source_handle: "out", target: "tpl-1" } },
      { type: "connect", scope: [], edge: { source: "tpl-0", target: "tpl-0" } },
      { type: "disconnect", scope: [], edges: [{ source: "tpl-0", target: "tpl-2" }] },
      { type: "addNode", scope: [], node: { id: "tpl-1", type: "set" } },
      { type: "removeNodes", scope: [], ids: ["tpl-9"] },
      { type: "removeNotes", ids: ["note-0"] },
    ];
    for (const command of same) expect(doing(state, command), command.type).toBe(state);
    const selected = reduce(state, { type: "select", selection: { nodes: ["tpl-1"] } });
    expect(selected).toMatchObject({ past: [], document: state.document, selection: { nodes: ["tpl-1"], edges: [] } });
  });

  it("selects what a command added, and after undo what was selected before, in the flow where it happened", () => {
    const inner: FlowDocument["nodes"][number] = {
      id: "map-0",
      type: "map",
      config: { items: "[]", flow: chainOf(2) },
    };
    const state = createState({ ...chainOf(2), nodes: [...chainOf(2).nodes, inner] }, KINDS);
    const open = reduce(reduce(state, { type: "open", scope: ["map-0"] }), {
      type: "select",
      selection: { nodes: ["tpl-0"] },
    });
    const copied = doing(open, { type: "duplicate", scope: ["map-0"], ids: ["tpl-0", "tpl-1"] });
    expect(copied.selection.nodes).toEqual(["tpl-2", "tpl-3"]);
    const away = reduce(copied, { type: "open", scope: [] });
    expect(away.selection.nodes).toEqual([]);
    expect(reduce(away, { type: "undo" })).toMatchObject({ scope: ["map-0"], selection: { nodes: ["tpl-0"] } });
    const renamed = doing(open, { type: "renameNode", scope: [], id: "map-0", to: "each" });
    expect(renamed.scope).toEqual(["each"]);
    const removed = doing(open, { type: "removeNodes", scope: [], ids: ["map-0"] });
    expect(removed).toMatchObject({ scope: [], selection: { nodes: [] } });
  });

  it("forgets the history when another document is loaded", () => {
    const state = doing(createState(chainOf(2), KINDS), { type: "setDocument", fields: { name: "other" } });
    expect(reduce(state, { type: "load", document: chainOf(1) })).toEqual(createState(chainOf(1), KINDS));
  });
});

describe("commands", () => {
  const flow = chainOf(4);
  const edges = (document: FlowDocument): string[] =>
    document.edges.map(({ source, target }) => `${source} > ${target}`);

  it("remove nodes with their edges, places and locks, and can connect what is left", () => {
    const ui = {
      ...flow.ui,
      locked: ["tpl-3"],
      notes: [{ id: "n", text: "", x: 0, y: 0, width: 1, height: 1, scope: "tpl-1" }],
    };
    const command: Command = { type: "removeNodes", scope: [], ids: ["tpl-1", "tpl-2", "tpl-3"], reconnect: true };
    const { document } = apply({ ...flow, ui }, command);
    expect(edges(document)).toEqual(["tpl-0 > tpl-3"]);
    expect(document.ui).toEqual({
      positions: { "tpl-0": { x: 0, y: 0 }, "tpl-3": { x: 0, y: 300 } },
      locked: ["tpl-3"],
    });
    expect(edges(apply({ ...flow, ui }, { ...command, reconnect: false }).document)).toEqual([]);
  });

  it("do not connect the branch of a failure with the success of the node before", () => {
    const branch = { ...flow, edges: [...flow.edges, { source: "tpl-1", source_handle: "error", target: "tpl-3" }] };
    const { document } = apply(branch, { type: "removeNodes", scope: [], ids: ["tpl-1"], reconnect: true });
    expect(edges(document)).toEqual(["tpl-2 > tpl-3", "tpl-0 > tpl-2"]);
  });

  it("insert a node on an edge in its place, by the handle that the edge had", () => {
    const edge = { source: "tpl-1", source_handle: "case:a", target: "tpl-2" };
    const { document } = apply(
      { ...flow, edges: [edge] },
      {
        type: "insertOnEdge",
        scope: [],
        edge,
        node: { id: "http-0", type: "http" },
        position: { x: 1, y: 2 },
      },
    );
    expect(document.edges).toEqual([
      { ...edge, target: "http-0" },
      { source: "http-0", target: "tpl-2" },
    ]);
    expect(document.ui?.positions?.["http-0"]).toEqual({ x: 1, y: 2 });
  });

  it("do not move or remove locked nodes until they are unlocked", () => {
    const lock = (locked: boolean): Command => ({ type: "setLocked", scope: [], ids: ["tpl-0"], locked });
    const away: Command = { type: "moveNodes", scope: [], positions: { "tpl-0": { x: 9, y: 9 } } };
    const locked = apply(flow, lock(true)).document;
    expect(apply(locked, away).document).toBe(locked);
    expect(apply(locked, { type: "removeNodes", scope: [], ids: ["tpl-0"] }).document).toBe(locked);
    const free = apply(locked, lock(false)).document;
    expect(textOf(free)).toBe(textOf(flow));
    expect(apply(free, away).document.ui?.positions?.["tpl-0"]).toEqual({ x: 9, y: 9 });
  });

  it("keep edges at a case, route or action that gets another ID", () => {
    const config = {
      cases: [
        { id: "a", when: "true" },
        { id: "b", when: "true" },
      ],
    };
    const branch = {
      ...flow,
      nodes: [...flow.nodes, { id: "if-0", type: "condition", config }],
      edges: [
        { source: "if-0", source_handle: "case:a", target: "tpl-0" },
        { source: "if-0", source_handle: "case:b", target: "tpl-1" },
      ],
    };
    const rename = (value: string): Command => ({
      type: "setConfig",
      scope: [],
      id: "if-0",
      path: ["cases", 0, "id"],
      value,
    });
    const handles = (document: FlowDocument): unknown[] => document.edges.map((edge) => edge.source_handle);
    expect(handles(apply(branch, rename("c"), KINDS).document)).toEqual(["case:c", "case:b"]);
    expect(handles(apply(branch, rename("b"), KINDS).document)).toEqual(["case:a", "case:b"]);
    const fewer: Command = { type: "setConfig", scope: [], id: "if-0", path: ["cases", 0], value: undefined };
    expect(handles(apply(branch, fewer, KINDS).document)).toEqual(["case:a", "case:b"]);
  });

  it("work on drafts that are no flows", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), seeds(5), (nodes, links, ui, list) => {
        const draft = JSON.parse(JSON.stringify({ name: 1, nodes, edges: links, ui })) as FlowDocument;
        let state = createState(frozen(draft), KINDS);
        for (const each of list) state = reduce(state, { type: "do", command: commandFor(state.document, each) });
        expect(textOf(all(state, "undo").document)).toBe(textOf(draft));
      }),
      { numRuns: 200 },
    );
  });
});
