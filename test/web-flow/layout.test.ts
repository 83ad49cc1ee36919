import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_FLOW_LIMITS } from "../../src/domain/flow/definition/limits.ts";
import { checkFlow } from "../../src/domain/flow/validate/validate.ts";
import { graphAt, nodesOf, notesIn, positionsIn } from "../../web/flow/access.ts";
import { align, distribute, type Box } from "../../web/flow/arrange.ts";
import type { FlowDocument, Note, Point, Scope, Size } from "../../web/flow/document.ts";
import { apply, createState, reduce } from "../../web/flow/history.ts";
import { layOutGraph } from "../../web/flow/layout/lay-out.ts";
import { freePlace, groupSize, NODE_SIZE, overlaps, placesIn, tidy, type Sizes } from "../../web/flow/layout/tidy.ts";
import { parseFlow } from "../../web/flow/parse.ts";
import { chainOf, KINDS, scopesOf } from "../support/flow-commands.ts";

const size: fc.Arbitrary<Size> = fc.record({
  width: fc.integer({ min: 40, max: 900 }),
  height: fc.integer({ min: 20, max: 700 }),
});

/** Graphs with edges in any direction, so also with cycles, and nodes of any size, as open groups are. */
const graphs = (most: number): fc.Arbitrary<{ document: FlowDocument; sizes: Sizes; chosen: string[] }> =>
  fc.integer({ min: 1, max: most }).chain((count) =>
    fc
      .record({
        sizes: fc.array(fc.option(size), { minLength: count, maxLength: count }),
        pairs: fc.array(fc.tuple(fc.nat(count - 1), fc.nat(count - 1)), { maxLength: 2 * count }),
        points: fc.array(
          fc.option(fc.record({ x: fc.integer({ min: -500, max: 500 }), y: fc.integer({ min: -500, max: 500 }) })),
          { minLength: count, maxLength: count },
        ),
        notes: fc.array(
          fc.record({ x: fc.integer({ min: -500, max: 500 }), y: fc.integer({ min: -500, max: 500 }), size }),
          { maxLength: 4 },
        ),
        chosen: fc.array(fc.nat(count - 1), { maxLength: count }),
      })
      .map(({ sizes, pairs, points, notes, chosen }) => {
        const ids = points.map((_, at) => `n-${at}`);
        const placed = points.flatMap((point, at) => (point === null ? [] : [[`n-${at}`, point] as const]));
        return {
          document: {
            schema_version: 1,
            name: "random",
            nodes: ids.map((id) => ({ id, type: "template" })),
            edges: pairs.map(([one, other]) => ({ source: `n-${one}`, target: `n-${other}` })),
            ui: {
              positions: Object.fromEntries(placed),
              notes: notes.map(({ x, y, size: { width, height } }, at): Note => ({
                id: `note-${at}`,
                text: "",
                x,
                y,
                width,
                height,
              })),
            },
          },
          sizes: new Map(sizes.flatMap((each, at) => (each === null ? [] : [[`n-${at}`, each] as const]))),
          chosen: chosen.map((at) => `n-${at}`),
        };
      }),
  );

function boxesIn(document: FlowDocument, scope: Scope, sizes: Sizes): Map<string, Box> {
  const boxes = new Map<string, Box>();
  for (const [id, { x, y }] of positionsIn(document, scope)) boxes.set(id, { ...(sizes.get(id) ?? NODE_SIZE), x, y });
  for (const note of notesIn(document, scope)) boxes.set(note.id, note);
  return boxes;
}
function overlapping(boxes: ReadonlyMap<string, Box>): string[] {
  const all = [...boxes];
  return all.flatMap(([id, box], at) =>
    all.slice(at + 1).flatMap(([other, its]) => (overlaps(box, its) ? [`${id} ${other}`] : [])),
  );
}

describe("tidy up", () => {
  it("leaves no two nodes or notes over each other, whatever the flow and its sizes", () => {
    fc.assert(
      fc.property(graphs(30), ({ document, sizes }) => {
        const { document: tidied } = apply(document, tidy(document, [], sizes));
        expect(positionsIn(tidied, []).size).toBe(document.nodes.length);
        expect(overlapping(boxesIn(tidied, [], sizes))).toEqual([]);
      }),
      { numRuns: 50 },
    );
    const { document, sizes } = fc
      .sample(graphs(400), { numRuns: 20, seed: 1 })
      .toSorted((a, b) => b.document.nodes.length - a.document.nodes.length)[0] ?? {
      document: chainOf(1),
      sizes: new Map(),
    };
    expect(document.nodes.length).toBeGreaterThan(300);
    expect(overlapping(boxesIn(apply(document, tidy(document, [], sizes)).document, [], sizes))).toEqual([]);
  });

  it("of a selection leaves the rest where it is, and comes over nothing", () => {
    fc.assert(
      fc.property(graphs(20), ({ document, sizes, chosen }) => {
        const { document: tidied } = apply(document, tidy(document, [], sizes, chosen));
        const [before, after] = [boxesIn(document, [], sizes), boxesIn(tidied, [], sizes)];
        for (const [id, box] of before) if (!chosen.includes(id)) expect(after.get(id)).toEqual(box);
        const known = new Set(overlapping(before));
        const isNew = (pair: string): boolean => pair.split(" ").some((id) => chosen.includes(id)) || !known.has(pair);
        expect(overlapping(after).filter(isNew)).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  it("keeps the top left corner, locked nodes, and each note beside its node", () => {
    const notes: Note[] = [{ id: "note-0", text: "", x: 1300, y: 2000, width: 100, height: 64 }];
    const flow = chainOf(3);
    const ui = {
      positions: { "tpl-0": { x: 1000, y: 900 }, "tpl-1": { x: 700, y: 1500 }, "tpl-2": { x: 1000, y: 2000 } },
      notes,
    };
    const { document } = apply({ ...flow, ui }, tidy({ ...flow, ui }, []));
    const places = Object.values(document.ui?.positions ?? {});
    expect([Math.min(...places.map(({ x }) => x)), Math.min(...places.map(({ y }) => y))]).toEqual([700, 900]);
    const at = document.ui?.positions?.["tpl-2"];
    expect(document.ui?.notes?.[0]).toMatchObject({ x: (at?.x ?? 0) + 300, y: at?.y });
    const locked = { ...flow, ui: { ...ui, locked: ["tpl-1"] } };
    expect(apply(locked, tidy(locked, [])).document.ui?.positions?.["tpl-1"]).toEqual({ x: 700, y: 1500 });
  });

  it("goes down along the edges, in large flows too", () => {
    for (const count of [5, 200]) {
      const { positions } = tidy(chainOf(count), []);
      for (let at = 1; at < count; at += 1)
        expect(positions[`tpl-${at}`]?.y).toBeGreaterThan((positions[`tpl-${at - 1}`]?.y ?? 0) + NODE_SIZE.height);
    }
  });

  it("puts nodes without edges into rows, not into one endless line", () => {
    const ids = Array.from({ length: 100 }, (_, at) => `n-${at}`);
    const places = [...layOutGraph(ids, [], () => NODE_SIZE).values()];
    expect(new Set(places.map(({ y }) => y)).size).toBe(10);
  });
});

describe("every example", () => {
  const folder = new URL("../../examples/flows/", import.meta.url);
  it.each(readdirSync(folder))(
    "opens, is tidied without overlap at every level, and is saved equal but for ui: %s",
    (file) => {
      const text = readFileSync(new URL(file, folder), "utf8");
      const read = parseFlow(text);
      if (!("document" in read)) throw new Error(read.fault);
      let state = createState(read.document, KINDS);
      for (const scope of scopesOf(read.document).toReversed()) {
        const inner = nodesOf(graphAt(state.document, scope)).flatMap(({ id }): Array<[string, Size]> => {
          const boxes = [...boxesIn(state.document, [...scope, id], new Map()).values()];
          return boxes.length === 0 ? [] : [[id, groupSize(boxes)]];
        });
        const sizes = new Map(inner);
        state = reduce(state, { type: "do", command: tidy(state.document, scope, sizes) });
        expect(overlapping(boxesIn(state.document, scope, sizes))).toEqual([]);
      }
      const { ui, ...flow } = state.document;
      expect(JSON.stringify(flow)).toBe(JSON.stringify(JSON.parse(text)));
      expect(Object.keys(ui?.positions ?? {})).toHaveLength(
        scopesOf(read.document).reduce((sum, scope) => sum + positionsIn(state.document, scope).size, 0),
      );
      expect(checkFlow(state.document, DEFAULT_FLOW_LIMITS).valid).toBe(
        checkFlow(JSON.parse(text), DEFAULT_FLOW_LIMITS).valid,
      );
    },
  );
});

describe("places", () => {
  it("of nodes without one are free, and below what leads to them", () => {
    const flow = chainOf(3);
    const ui = { positions: { "tpl-0": { x: 0, y: 0 }, "tpl-2": { x: 0, y: 90 } } };
    const places = placesIn({ ...flow, ui }, []);
    expect(places.get("tpl-2")).toEqual({ x: 0, y: 90 });
    const boxes = new Map([...places].map(([id, place]) => [id, { ...NODE_SIZE, ...place }]));
    expect(overlapping(boxes)).toEqual([]);
    expect(placesIn({ ...flow, ui: {} }, []).size).toBe(3);
    expect(freePlace({ ...NODE_SIZE, x: 0, y: 0 }, [{ x: 0, y: -500, width: 300, height: 520 }])).toEqual({
      x: 0,
      y: 52,
    });
  });
});

describe("arranging", () => {
  const boxes = new Map<string, Box>([
    ["a", { x: 0, y: 0, width: 100, height: 10 }],
    ["b", { x: 50, y: 20, width: 50, height: 20 }],
    ["c", { x: 300, y: 100, width: 100, height: 40 }],
  ]);
  const along = (places: Readonly<Record<string, Point>>, axis: "x" | "y"): unknown[] =>
    ["a", "b", "c"].map((id) => places[id]?.[axis]);

  it.each([
    ["left", "x", [0, 0, 0]],
    ["center", "x", [150, 175, 150]],
    ["right", "x", [300, 350, 300]],
    ["top", "y", [0, 0, 0]],
    ["middle", "y", [65, 60, 50]],
    ["bottom", "y", [130, 120, 100]],
  ] as const)("aligns nodes at the %s", (side, axis, expected) => {
    const places = align(boxes, side);
    expect(along(places, axis)).toEqual(expected);
    const other = axis === "x" ? "y" : "x";
    expect(along(places, other)).toEqual([...boxes.values()].map((box) => box[other]));
  });

  it("distributes nodes with equal gaps, and leaves the outermost where they are", () => {
    expect(along(distribute(boxes, "x"), "x")).toEqual([0, 175, 300]);
    expect(along(distribute(boxes, "y"), "y")).toEqual([0, 45, 100]);
    expect(distribute(new Map([...boxes].slice(0, 2)), "x")).toEqual({});
  });
});
