import { describe, expect, it } from "vitest";
import { compileFlow } from "../../../../src/domain/flow/plan/compile.ts";
import { validateRunInputs } from "../../../../src/domain/flow/io/run-inputs.ts";
import { edges, flow, node } from "../../../support/flows.ts";

const limits = { max_input_bytes: 1000 };

function check(body: unknown, ...nodes: ReturnType<typeof node>[]) {
  const all = nodes.length === 0 ? [node("in-0", "input")] : nodes;
  const plan = compileFlow(flow({ nodes: [...all, node("out-0", "output", { value: "x" })], edges: edges() }));
  return validateRunInputs(plan, body, limits);
}

describe("the inputs of a run", () => {
  it("are keyed by node ID", () => {
    const nodes = [node("in-0", "input"), node("string-0", "string"), node("url-0", "url")];
    const body = { "in-0": "a", "string-0": "", "url-0": "HTTPS://example.com/ä?b#c" };
    expect(check(body, ...nodes)).toEqual({ inputs: body, ignored: [], issues: [] });
  });

  it("are missing if they are absent or null", () => {
    for (const body of [{}, { "in-0": null }, { "in-0": undefined }]) {
      expect(check(body).issues).toEqual([
        { loc: ["body", "in-0"], msg: expect.stringContaining('{"in-0": "..."}') as string, type: "missing" },
      ]);
    }
  });

  it("have defaults, and may be optional", () => {
    expect(check({}, node("in-0", "input", { default: "d" }), node("in-1", "input", { required: false }))).toEqual({
      inputs: { "in-0": "d" },
      ignored: [],
      issues: [],
    });
    expect(check({ "in-0": null }, node("in-0", "input", { default: "d" })).inputs).toEqual({ "in-0": "d" });
    expect(check({}, node("url-0", "url", { default: "https://example.com" })).inputs).toEqual({
      "url-0": "https://example.com",
    });
  });

  it.each([[3], [true], [["a"]], [{ text: "a" }]])("are strings, not %j", (value) => {
    expect(check({ "in-0": value }).issues).toMatchObject([{ loc: ["body", "in-0"], type: "string_type" }]);
    expect(check({ "url-0": value }, node("url-0", "url")).issues).toMatchObject([
      { loc: ["body", "url-0"], type: "string_type" },
    ]);
  });

  it.each([
    ["example.com", "url_parsing"],
    ["/page", "url_parsing"],
    ["https://", "url_parsing"],
    ["", "url_parsing"],
    ["ftp://example.com", "url_scheme"],
    ["file:///etc/passwd", "url_scheme"],
    ["javascript:alert(1)", "url_scheme"],
  ])("are URLs for a url node, not %j", (value, type) => {
    expect(check({ "url-0": value }, node("url-0", "url")).issues).toMatchObject([{ loc: ["body", "url-0"], type }]);
  });

  it("have a maximum length in characters", () => {
    const input = node("in-0", "input", { max_length: 3 });
    expect(check({ "in-0": "🎉🎉🎉" }, input).issues).toEqual([]);
    expect(check({ "in-0": "abcd" }, input).issues).toMatchObject([{ type: "string_too_long" }]);
  });

  it("have a maximum size in bytes", () => {
    expect(check({ "in-0": "ä".repeat(500) }).issues).toEqual([]);
    expect(check({ "in-0": "ä".repeat(501) }).issues).toMatchObject([{ loc: ["body", "in-0"], type: "too_large" }]);
  });

  it("report every invalid location together", () => {
    expect(
      check({ "url-0": "x" }, node("in-0", "input"), node("url-0", "url")).issues.map(({ loc }) => loc[1]),
    ).toEqual(["in-0", "url-0"]);
  });

  it("are ignored and reported if no node takes them, except user_id and stream", () => {
    const result = check(
      { "in-0": "a", "doc-0": ["x"], other: 1, "out-0": 2, user_id: "u-1", stream: true },
      node("in-0", "input"),
      node("doc-0", "files"),
    );
    expect(result).toEqual({ inputs: { "in-0": "a" }, ignored: ["doc-0", "other", "out-0"], issues: [] });
  });

  it("report at most a hundred ignored keys, each shortened", () => {
    const body = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`${index}`.padStart(500, "k"), 1]));
    const { ignored } = check({ ...body, "in-0": "a" });
    expect(ignored).toHaveLength(100);
    expect(ignored.every((key) => key.length === 200)).toBe(true);
  });

  it.each([null, undefined, 3, "text", ["a"]])("are an object, not %j", (body) => {
    expect(check(body)).toMatchObject({ inputs: {}, issues: [{ loc: ["body"], type: "dict_type" }] });
  });

  it("are never read from inherited properties", () => {
    expect(check({}, node("toString", "input"), node("valueOf", "string")).issues.map(({ type }) => type)).toEqual([
      "missing",
      "missing",
    ]);
    const hostile = check(
      JSON.parse('{"in-0":"a","__proto__":{"in-1":"b"}}'),
      node("in-0", "input"),
      node("in-1", "input"),
    );
    expect(hostile.ignored).toEqual(["__proto__"]);
    expect(hostile.issues.map(({ loc }) => loc[1])).toEqual(["in-1"]);
    expect(({} as Record<string, unknown>)["in-1"]).toBeUndefined();
  });

  it("may come from elsewhere than a body, where no name is reserved", () => {
    const plan = compileFlow(
      flow({
        nodes: [node("stream", "input"), node("in-0", "input"), node("out-0", "output", { value: "x" })],
        edges: [],
      }),
    );
    expect(validateRunInputs(plan, { stream: "s" }, limits, { loc: ["body", "inputs"], reserved: [] })).toMatchObject({
      inputs: { stream: "s" },
      issues: [{ loc: ["body", "inputs", "in-0"], type: "missing" }],
    });
  });
});
