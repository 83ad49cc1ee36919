import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_FLOW_LIMITS } from "../../src/domain/flow/definition/limits.ts";
import { checkFlow } from "../../src/domain/flow/validate/validate.ts";
import { edgesOf, graphAt, nodesOf } from "../../web/flow/access.ts";
import { clipOf, clipText, readClip } from "../../web/flow/clip.ts";
import type { Clip, FlowDocument, Note } from "../../web/flow/document.ts";
import { apply, createState, reduce } from "../../web/flow/history.ts";
import { documents, frozen, KINDS, scopesOf } from "../support/flow-commands.ts";
import { validFlows } from "../support/arbitrary-flow.ts";

function clipIn(text: string): Clip {
  const read = readClip(text);
  if ("fault" in read) throw new Error(read.fault);
  return read.clip;
}
const note = (id: string, more: Partial<Note> = {}): Note => ({
  id,
  text: "a **note**",
  x: 5,
  y: 5,
  width: 80,
  height: 40,
  ...more,
});
const empty: FlowDocument = { schema_version: 1, name: "other", nodes: [], edges: [] };

const flow: FlowDocument = {
  schema_version: 1,
  name: "flow",
  nodes: [
    { id: "in-0", type: "input", config: {} },
    { id: "http-0", type: "http", config: { url: "https://a/{{in-0}}" } },
    { id: "tpl-0", type: "template", config: { template: '{{http-0.body}} {{ nodes["in-0"] }} http-0' } },
    {
      id: "map-0",
      type: "map",
      config: {
        items: 'nodes["http-0"].body',
        flow: {
          nodes: [{ id: "tpl-1", type: "template", config: { template: "{{item}} {{http-0}} {{tpl-0}}" } }],
          edges: [],
        },
      },
    },
  ],
  edges: [
    { source: "in-0", target: "http-0" },
    { source: "http-0", target: "tpl-0" },
    { source: "http-0", source_handle: "error", target: "map-0" },
  ],
  ui: {
    positions: { "http-0": { x: 0, y: 0 }, "tpl-0": { x: 0, y: 100 }, "map-0/tpl-1": { x: 7, y: 7 } },
    notes: [note("note-0"), note("note-1", { scope: "map-0" })],
  },
};

describe("copy and paste", () => {
  it("gives copies new IDs and keeps what they read from each other, and leaves what they read from others", () => {
    const clip = clipIn(clipText(clipOf(flow, [], ["http-0", "tpl-0", "map-0"], ["note-0"])));
    const { document } = apply(frozen(flow), { type: "paste", scope: [], clip, at: { x: 100, y: 50 } }, KINDS);
    expect(document.nodes.slice(4)).toEqual([
      { id: "http-1", type: "http", config: { url: "https://a/{{in-0}}" } },
      { id: "tpl-2", type: "template", config: { template: '{{http-1.body}} {{ nodes["in-0"] }} http-0' } },
      {
        id: "map-1",
        type: "map",
        config: {
          items: 'nodes["http-1"].body',
          flow: {
            nodes: [{ id: "tpl-1", type: "template", config: { template: "{{item}} {{http-1}} {{tpl-2}}" } }],
            edges: [],
          },
        },
      },
    ]);
    expect(document.edges.slice(3)).toEqual([
      { source: "http-1", target: "tpl-2" },
      { source: "http-1", source_handle: "error", target: "map-1" },
    ]);
    expect(document.ui).toEqual({
      positions: {
        ...flow.ui?.positions,
        "http-1": { x: 100, y: 50 },
        "tpl-2": { x: 100, y: 150 },
        "map-1/tpl-1": { x: 7, y: 7 },
      },
      notes: [...(flow.ui?.notes ?? []), note("note-2", { x: 105, y: 55 }), note("note-3", { scope: "map-1" })],
    });
    expect(document.nodes.slice(0, 4)).toEqual(flow.nodes);
  });

  it("keeps IDs that are free: in another flow, and after a cut", () => {
    const clip = clipOf(flow, [], ["http-0", "tpl-0"]);
    const pasted = apply(empty, { type: "paste", scope: [], clip }, KINDS).document;
    expect(pasted.nodes).toEqual(flow.nodes.slice(1, 3));
    const cut = apply(flow, { type: "removeNodes", scope: [], ids: ["http-0", "tpl-0"] }, KINDS).document;
    const back = apply(cut, { type: "paste", scope: [], clip, at: { x: 0, y: 0 } }, KINDS).document;
    expect(nodesOf(back).map(({ id }) => id)).toEqual(["in-0", "map-0", "http-0", "tpl-0"]);
  });

  it("gives no copy an ID that a flow inside the copies has, because that flow would read its own node", () => {
    const clip = clipOf(flow, [], ["tpl-0", "map-0"]);
    const target = { ...empty, nodes: [{ id: "tpl-0", type: "template" }] };
    const { document } = apply(target, { type: "paste", scope: [], clip }, KINDS);
    expect(document.nodes.map(({ id }) => id)).toEqual(["tpl-0", "tpl-2", "map-0"]);
    expect(nodesOf(graphAt(document, ["map-0"]))[0]?.config).toEqual({ template: "{{item}} {{http-0}} {{tpl-2}}" });
  });

  it("leaves the copy of a node inside a loop inside the loop, beside the original", () => {
    const scope = ["map-0"];
    const { document } = apply(flow, { type: "duplicate", scope, ids: ["tpl-1"], notes: ["note-1"] }, KINDS);
    expect(nodesOf(document)).toHaveLength(4);
    expect(nodesOf(graphAt(document, scope)).map(({ id }) => id)).toEqual(["tpl-1", "tpl-2"]);
    expect(document.ui?.positions?.["map-0/tpl-2"]).toEqual({ x: 47, y: 47 });
    expect(document.ui?.notes?.at(-1)).toEqual(note("note-2", { scope: "map-0", x: 45, y: 45 }));
    const twice = apply(document, { type: "duplicate", scope, ids: ["tpl-1"] }, KINDS).document;
    expect(twice.ui?.positions?.["map-0/tpl-3"]).toEqual({ x: 87, y: 87 });
  });

  it("takes a whole flow, or a single node, from the clipboard", () => {
    expect(clipIn(JSON.stringify(flow))).toMatchObject({
      nodes: flow.nodes,
      edges: flow.edges,
      positions: flow.ui?.positions,
    });
    const single = clipIn('{"type":"http","config":{"big":9007199254740993}}');
    const { document } = apply(empty, { type: "paste", scope: [], clip: single }, KINDS);
    expect(document.nodes).toEqual([{ type: "http", config: { big: "9007199254740993" }, id: "http-0" }]);
  });

  it("makes one valid flow of any two, and of any flow with a part of itself", () => {
    fc.assert(
      fc.property(validFlows, validFlows, fc.infiniteStream(fc.boolean()), (one, other, chosen) => {
        const document = frozen(one) as unknown as FlowDocument;
        const clip = clipIn(
          clipText(
            clipOf(
              other as unknown as FlowDocument,
              [],
              other.nodes.map(({ id }) => id),
            ),
          ),
        );
        const both = apply(document, { type: "paste", scope: [], clip }, KINDS).document;
        expect(checkFlow(both, DEFAULT_FLOW_LIMITS)).toMatchObject({ valid: true });
        expect(both.nodes).toHaveLength(one.nodes.length + other.nodes.length);
        for (const scope of scopesOf(document)) {
          const ids = nodesOf(graphAt(document, scope)).map(({ id }) => id);
          const part = ids.filter((_, at) => at < 20 && chosen.next().value === true);
          const copied = apply(document, { type: "duplicate", scope, ids: part }, KINDS).document;
          const after = nodesOf(graphAt(copied, scope)).map(({ id }) => id);
          expect(after.slice(0, ids.length)).toEqual(ids);
          expect(new Set(after).size).toBe(ids.length + part.length);
          const known = new Set(after);
          expect(
            edgesOf(graphAt(copied, scope)).every(({ source, target }) => known.has(source) && known.has(target)),
          ).toBe(true);
          // Copies of outputs and the like may be left without edges; no other error may come up.
          const errors = checkFlow(copied, DEFAULT_FLOW_LIMITS).problems.filter(({ severity }) => severity === "error");
          expect(errors.filter(({ code }) => code !== "output_without_source" && code !== "reads_later_node")).toEqual(
            [],
          );
        }
      }),
      { numRuns: 30 },
    );
  });

  it("pastes nothing into a flow that is not there", () => {
    const clip = clipOf(flow, [], ["tpl-0"]);
    expect(apply(flow, { type: "paste", scope: ["map-9"], clip }, KINDS).document).toBe(flow);
  });
});

describe("a hostile clipboard", () => {
  it.each([
    ["no JSON", "hello", "not JSON"],
    ["no nodes", '{"a":1}', "no nodes"],
    ["null", "null", "no nodes"],
    ["a forbidden name", '{"nodes":[{"id":"a","type":"http","config":{"__proto__":{"x":1}}}]}', "__proto__"],
    ["deep JSON", `{"nodes":${"[".repeat(50_000)}${"]".repeat(50_000)}}`, "levels"],
    ["much text", JSON.stringify({ nodes: [{ id: "a", type: "http", name: "x".repeat(6_000_000) }] }), "characters"],
    [
      "many nodes",
      JSON.stringify({ nodes: Array.from({ length: 1001 }, (_, at) => ({ id: `n${at}`, type: "set" })) }),
      "1000 nodes",
    ],
  ])("with %s is refused with the reason", (_, text, reason) => {
    expect(readClip(text)).toEqual({ fault: expect.stringContaining(reason) });
  });

  it("cannot put nodes out of reach, take IDs that are there, or name nodes as no flow may", () => {
    const text = JSON.stringify({
      nodes: [
        { id: "in-0", type: "input" },
        { id: "in-0", type: "input" },
        { id: "constructor", type: "__proto__" },
        { id: "<img src=x onerror=alert(1)>", type: "template", name: "<script>" },
        { id: 5, type: "http" },
        "nothing",
        { id: "free", type: "set" },
        { id: "free", type: "set" },
      ],
      edges: [
        { source: "in-0", target: "constructor" },
        { source: "in-0", target: "elsewhere" },
        { source: "in-0", source_handle: 5, target: "in-0" },
        null,
      ],
      positions: { "in-0": { x: 1e300, y: -1e300 }, constructor: { x: "1", y: 2 }, "elsewhere/x": { x: 1, y: 1 } },
      notes: [note("note-0", { x: -1e9, width: 1e9 }), { id: "n" }, 7],
    });
    let state = createState(frozen(flow), KINDS);
    state = reduce(state, { type: "do", command: { type: "paste", scope: [], clip: clipIn(text) } });
    expect(state.document.nodes.slice(4).map(({ id }) => id)).toEqual([
      "in-1",
      "in-2",
      "__proto__-0",
      "tpl-2",
      "free",
      "set-0",
    ]);
    expect(state.document.edges.slice(3)).toEqual([{ source: "in-1", target: "__proto__-0" }]);
    expect(state.document.ui?.positions).toEqual({ ...flow.ui?.positions, "in-1": { x: 1_000_000, y: -1_000_000 } });
    expect(state.document.ui?.notes?.slice(2)).toEqual([note("note-2", { x: -1_000_000, width: 10_000 })]);
    expect(Object.getPrototypeOf(state.document.ui?.positions)).toBe(Object.prototype);
    expect(reduce(state, { type: "undo" }).document).toEqual(flow);
  });

  it("with any JSON at all does no harm", () => {
    fc.assert(
      fc.property(documents, fc.jsonValue(), fc.jsonValue(), (document, nodes, rest) => {
        const read = readClip(JSON.stringify({ nodes, edges: rest, positions: rest, notes: rest, ui: rest }));
        if ("fault" in read) return;
        const { document: pasted, inverse } = apply(
          frozen(document),
          { type: "paste", scope: [], clip: read.clip },
          KINDS,
        );
        expect(JSON.stringify(apply(pasted, inverse).document)).toBe(JSON.stringify(document));
      }),
      { numRuns: 200 },
    );
  });
});
