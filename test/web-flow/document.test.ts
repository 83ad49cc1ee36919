import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareFlows } from "../../web/flow/compare.ts";
import { diffWords } from "../../web/flow/differences.ts";
import { graphAt, nodesOf } from "../../web/flow/access.ts";
import type { Command, FlowDocument } from "../../web/flow/document.ts";
import {
  firstHandle,
  kindsAfter,
  kindsBefore,
  kindsBetween,
  kindsIn,
  sourcesFor,
  targetsFor,
  whyNotConnect,
} from "../../web/flow/fits.ts";
import { apply } from "../../web/flow/history.ts";
import { handlesOf, kindOf } from "../../web/flow/kinds.ts";
import { findText } from "../../web/flow/search.ts";
import { NODE_SPECS, nodeHandles } from "../../src/domain/flow/nodes/index.ts";
import { checkFlow } from "../../src/domain/flow/validate/validate.ts";
import { DEFAULT_FLOW_LIMITS } from "../../src/domain/flow/definition/limits.ts";
import { chainOf, documents, KINDS, scopesOf } from "../support/flow-commands.ts";
import { validFlows } from "../support/arbitrary-flow.ts";

describe("what fits", () => {
  it("gives each example node the handles that the server gives it", () => {
    for (const kind of KINDS)
      for (const on_error of ["fail", "branch"]) {
        const spec = NODE_SPECS[kind.type];
        const parsed = spec.config.parse(kind.example);
        expect(handlesOf(kind, { config: kind.example, on_error }), kind.type).toEqual(
          nodeHandles(spec, parsed, on_error),
        );
      }
    expect(handlesOf(kindOf(KINDS, "approval"), { config: {} })).toEqual(["approve", "reject", "timeout"]);
    expect(handlesOf(undefined, {})).toEqual(["out"]);
    expect(handlesOf(kindOf(KINDS, "condition"), { config: { cases: [{ id: "$&" }, 5, {}] } })).toEqual([
      "case:$&",
      "else",
    ]);
  });

  it("allows exactly the edges that the server accepts", () => {
    fc.assert(
      fc.property(
        validFlows,
        fc.nat(),
        fc.nat(),
        fc.constantFrom("out", "error", "case:x"),
        (flow, one, other, handle) => {
          const document = flow as unknown as FlowDocument;
          const [source = "", target = ""] = [one, other].map((at) => flow.nodes[at % flow.nodes.length]?.id);
          const edge = { source, source_handle: handle, target };
          const reason = whyNotConnect(document, [], edge, KINDS);
          const after = { ...flow, edges: [...flow.edges, edge] };
          expect(reason === null, `${reason}`).toBe(checkFlow(after, DEFAULT_FLOW_LIMITS).valid);
          if (
            !handlesOf(kindOf(KINDS, document.nodes.find(({ id }) => id === source)?.type ?? ""), {
              on_error: document.nodes.find(({ id }) => id === source)?.on_error,
            }).includes(handle)
          )
            return;
          expect(targetsFor(document, [], source, handle, KINDS).has(target)).toBe(reason === null);
          expect(sourcesFor(document, [], target, KINDS).get(source)?.includes(handle) ?? false).toBe(reason === null);
        },
      ),
      { numRuns: 150 },
    );
  });

  it("lets edges lead to inputs that are loaded, and not to inputs that are there from the start", () => {
    const nodes = ["set", "url", "string"].map((type) => ({ id: type, type }));
    const to = (target: string) => whyNotConnect({ ...chainOf(0), nodes }, [], { source: "set", target }, KINDS);
    expect(to("url")).toBeNull();
    expect(to("string")).toBe('"string" is an input and cannot have incoming edges.');
  });

  it("offers the node types that can be where they are dropped", () => {
    const types = (kinds: ReadonlyArray<{ readonly type: string }>): string[] => kinds.map(({ type }) => type);
    expect(types(kindsIn([], KINDS))).toEqual(types(KINDS));
    expect(types(kindsIn(["map-0"], KINDS))).not.toContain("files");
    expect(types(kindsAfter([], KINDS))).not.toContain("input");
    expect(types(kindsAfter([], KINDS))).toContain("url");
    expect(types(kindsAfter(["map-0"], KINDS))).not.toContain("url");
    expect(types(kindsBefore(["map-0"], KINDS))).toContain("condition");
    expect(types(kindsBetween([], KINDS))).not.toContain("string");
    expect(KINDS.map((kind) => firstHandle(kind))).not.toContain(undefined);
  });
});

describe("search and replace", () => {
  const flow: FlowDocument = {
    schema_version: 1,
    name: "Bern",
    nodes: [
      {
        id: "a",
        type: "http",
        name: "Bern",
        notes: "bern bern",
        config: { url: "x", headers: { bern: "Bern" }, body: { flow: { n: ["Bern", 5] } } },
      },
      {
        id: "m",
        type: "map",
        skip_if: "'Bern'",
        config: {
          items: "[]",
          flow: { nodes: [{ id: "b", type: "template", config: { template: "$Bern$" } }], edges: [] },
        },
      },
    ],
    edges: [],
    ui: { notes: [{ id: "note-0", text: "# Bern", x: 0, y: 0, width: 1, height: 1, scope: "m" }] },
  };

  it("finds names, notes and all of the configuration, in nested flows and sticky notes too", () => {
    const found = findText(flow, { text: "BERN" });
    expect(found.map(({ of, scope, id, path, count }) => [of, ...scope, id, path.join("."), count])).toEqual([
      ["node", "a", "name", 1],
      ["node", "a", "notes", 2],
      ["node", "a", "config.headers.bern", 1],
      ["node", "a", "config.body.flow.n.0", 1],
      ["node", "m", "skip_if", 1],
      ["node", "m", "b", "config.template", 1],
      ["note", "m", "note-0", "text", 1],
    ]);
    expect(findText(flow, { text: "bern", matchCase: true }).map(({ count }) => count)).toEqual([2]);
    expect(findText(flow, { text: "" })).toEqual([]);
    expect(findText(flow, { text: "$Bern" })).toHaveLength(1);
  });

  it("replaces exactly what was found, literally, and all of it or some places", () => {
    const search = { text: "Bern", matchCase: true };
    const all = apply(flow, { type: "replaceText", search, replacement: "$&$1" }).document;
    expect(JSON.stringify({ ...all, name: "Bern" })).toBe(
      JSON.stringify({ ...flow, name: "" })
        .replaceAll("Bern", "$$&$$1")
        .replace('"name":""', '"name":"Bern"'),
    );
    const places = findText(flow, search).filter(({ of, id }) => of === "note" || id === "b");
    const some = apply(flow, { type: "replaceText", search, replacement: "Basel", places }).document;
    expect(findText(some, { text: "Basel" }).map(({ id }) => id)).toEqual(["b", "note-0"]);
    expect(some.nodes[0]).toBe(flow.nodes[0]);
  });

  it("finds nothing more after a replacement that does not contain the text", () => {
    fc.assert(
      fc.property(documents, fc.string({ minLength: 1, maxLength: 3 }), (document, text) => {
        const { document: changed } = apply(document, {
          type: "replaceText",
          search: { text, matchCase: true },
          replacement: "\u0001",
        });
        if (!"\u0001".includes(text)) expect(findText(changed, { text, matchCase: true })).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});

describe("the difference of two flows", () => {
  const flow = chainOf(3);

  it("names what was added, removed, changed and moved, in nested flows too, with paths", () => {
    const nested = (template: string) => ({
      ...flow,
      description: template,
      nodes: [
        ...flow.nodes,
        {
          id: "map-0",
          type: "map",
          config: {
            items: "[]",
            flow: { ...chainOf(2), nodes: [{ id: "tpl-0", type: "template", config: { template } }] },
          },
        },
      ],
    });
    const before = nested("one");
    const after = {
      ...nested("two"),
      nodes: [...nested("two").nodes.slice(1), { id: "new", type: "set" }],
      edges: [
        { source: "tpl-1", target: "tpl-2" },
        { source: "tpl-1", target: "new" },
      ],
      ui: {
        positions: { ...flow.ui?.positions, "tpl-1": { x: 9, y: 9 } },
        notes: [{ id: "n", text: "", x: 0, y: 0, width: 1, height: 1 }],
      },
    };
    const found = compareFlows(before, after);
    expect(
      found.nodes.map(({ mark, scope, id, fields }) => [mark, ...scope, id, ...fields.map(({ at }) => at)]),
    ).toEqual([
      ["moved", "tpl-1"],
      ["changed", "map-0", "tpl-0", "config.template"],
      ["added", "new"],
      ["removed", "tpl-0"],
    ]);
    expect(found.edges.map(({ mark, edge }) => `${mark} ${edge.source} ${edge.target}`)).toEqual([
      "added tpl-1 new",
      "removed tpl-0 tpl-1",
    ]);
    expect(found.notes).toMatchObject([{ mark: "added", id: "n" }]);
    expect(found.fields).toEqual([{ at: "description", before: "one", after: "two" }]);
    expect(found.byPath.get("map-0/tpl-0")?.mark).toBe("changed");
    expect([...found.inside]).toEqual(["map-0"]);
    const gone = compareFlows(before, { ...before, nodes: before.nodes.slice(0, 3) });
    expect(gone.nodes.map(({ mark, scope, id }) => [mark, ...scope, id])).toEqual([
      ["removed", "map-0"],
      ["removed", "map-0", "tpl-0"],
    ]);
  });

  it("shows a renamed node as renamed, and what follows it as unchanged", () => {
    fc.assert(
      fc.property(documents, fc.nat(), fc.nat(), (document, one, other) => {
        const scopes = scopesOf(document);
        const scope = scopes[one % scopes.length] ?? [];
        const nodes = nodesOf(graphAt(document, scope));
        const { id = "" } = nodes[other % nodes.length] ?? {};
        const { document: after } = apply(document, { type: "renameNode", scope, id, to: "zz-1" }, KINDS);
        const found = compareFlows(document, after, KINDS);
        expect(found.nodes.map(({ mark, was, id: now }) => [mark, was, now])).toEqual([["renamed", id, "zz-1"]]);
        expect([found.edges, found.fields]).toEqual([[], []]);
      }),
      { numRuns: 60 },
    );
  });

  it("knows a chain of renamed nodes by what they do, and a renamed node that has changed too", () => {
    const before = chainOf(4);
    const renamed = ["tpl-1", "tpl-2", "tpl-3"].reduce(
      (document, id, at) => apply(document, { type: "renameNode", scope: [], id, to: `new-${at}` }, KINDS).document,
      before,
    );
    const marks = (after: FlowDocument): unknown[] =>
      compareFlows(before, after, KINDS).nodes.map(({ mark, was, id, fields }) => [
        mark,
        ...(was === undefined ? [] : [was]),
        id,
        ...fields.map(({ at }) => at),
      ]);
    const all = [
      ["renamed", "tpl-1", "new-0"],
      ["renamed", "tpl-2", "new-1"],
      ["renamed", "tpl-3", "new-2"],
    ];
    expect(marks(renamed)).toEqual(all);
    const command: Command = { type: "setConfig", scope: [], id: "new-1", path: ["template"], value: "other" };
    const changed = apply(renamed, command, KINDS).document;
    expect(marks(changed)).toEqual(all.with(1, ["changed", "tpl-2", "new-1", "config.template"]));
    // Nothing but the type is the same.
    const fresh = { id: "tpl-9", type: "template", config: { template: "fresh" } };
    const replaced = { ...before, nodes: [...before.nodes.slice(0, 3), fresh], ui: {} };
    expect(marks(replaced)).toEqual([
      ["added", "tpl-9"],
      ["removed", "tpl-3"],
    ]);
  });

  it("is empty between equal flows, and reversed from the other side", () => {
    fc.assert(
      fc.property(documents, documents, (one, other) => {
        expect(compareFlows(one, JSON.parse(JSON.stringify(one)))).toMatchObject({
          nodes: [],
          edges: [],
          notes: [],
          fields: [],
        });
        const turned = {
          added: "removed",
          removed: "added",
          changed: "changed",
          renamed: "renamed",
          moved: "moved",
        };
        const list = (a: FlowDocument, b: FlowDocument, turn: boolean): string[] =>
          compareFlows(a, b)
            .nodes.filter(({ mark }) => mark !== "moved")
            .map(({ mark, scope, id, was = id }) => {
              const ids = turn ? [id, was] : [was, id];
              // Names of renamed maps and loops around a node are those of the later flow.
              return [turn ? turned[mark] : mark, scope.length, ...ids].join(" ");
            })
            .toSorted();
        expect(list(one, other, true)).toEqual(list(other, one, false));
      }),
      { numRuns: 50 },
    );
  });

  it("shows texts word by word", () => {
    expect(diffWords("Say hello, world!", "Say goodbye, world!")).toEqual([
      { kind: "same", text: "Say " },
      { kind: "before", text: "hello" },
      { kind: "after", text: "goodbye" },
      { kind: "same", text: ", world!" },
    ]);
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        const text = (without: string): string =>
          diffWords(one, other)
            .flatMap(({ kind, text }) => (kind === without ? [] : [text]))
            .join("");
        expect([text("after"), text("before")]).toEqual([one, other]);
      }),
    );
  });
});
