import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nodeCatalogue } from "../../src/domain/flow/definition/node-catalogue.ts";
import { memberText } from "../../web/api/member-text.ts";
import { handlesOf } from "../../web/flow/kinds.ts";
import { newNode } from "../../web/pages/editor/canvas/new-node.ts";
import { makeRoom, withoutRoom } from "../../web/pages/editor/canvas/room.ts";

describe("the text of a field of a response", () => {
  it("is what JSON has at that name, for any object", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), (object) => {
        const json = JSON.stringify(object, null, 1);
        for (const [name, value] of Object.entries(object))
          expect(JSON.parse(memberText(json, name) ?? "")).toEqual(value);
        expect(memberText(json, `${Object.keys(object).join("")} and more`)).toBeUndefined();
      }),
    );
  });

  it("keeps numbers that parsing would change, and takes no field of an inner object", () => {
    const json = '{"a": {"flow": 1, "b": "}\\","}, "flow": {"n": 12345678901234567890, "f": [1.0, {}]}, "z": 1}';
    expect(memberText(json, "flow")).toBe('{"n": 12345678901234567890, "f": [1.0, {}]}');
  });
});

describe("a node that is added", () => {
  it("has handles for edges from the start, whatever its type", () => {
    const kinds = nodeCatalogue();
    const document = { schema_version: 1, name: "test", nodes: [], edges: [] };
    for (const kind of kinds) expect(handlesOf(kind, newNode(document, kind)).length, kind.type).toBeGreaterThan(0);
    const map = kinds.find(({ type }) => type === "map");
    expect(map && newNode(document, map).config).toEqual({
      flow: { nodes: [{ id: "out-0", type: "output" }], edges: [] },
    });
  });
});

describe("the room for flows that are shown in place", () => {
  const own = { width: 232, height: 58 };
  it("moves away what is below or beside, and leads back to the place in the document", () => {
    const places = new Map([
      ["map", { x: 0, y: 0 }],
      ["beside", { x: 300, y: 0 }],
      ["below", { x: 0, y: 120 }],
      ["above", { x: 0, y: -120 }],
    ]);
    const sizesOf = (id: string) => ({ own, shown: id === "map" ? { width: 500, height: 400 } : own });
    const shown = makeRoom(places, sizesOf);
    expect(Object.fromEntries(shown)).toEqual({
      map: { x: 0, y: 0 },
      beside: { x: 568, y: 0 },
      below: { x: 0, y: 462 },
      above: { x: 0, y: -120 },
    });
    for (const [id, at] of shown) expect(withoutRoom(at, places, sizesOf), id).toEqual(places.get(id));
  });
});
