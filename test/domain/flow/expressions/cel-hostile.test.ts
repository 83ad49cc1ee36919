import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NodeFailure } from "../../../../src/domain/runs/failure.ts";
import { checkCel, evaluateCel } from "../../../../src/domain/flow/expressions/cel/cel.ts";
import type { Json } from "../../../../src/domain/json.ts";
import { failureOf } from "../../../support/failures.ts";
import { scope } from "../../../support/scope.ts";

const numbers = Array.from({ length: 30_000 }, (_, index) => index);
const costly = scope({
  l: numbers,
  long: "a".repeat(2_000_000),
  half: `b${"a".repeat(1_000_000)}`,
  objects: `[${"{},".repeat(6_000_000)}1]`,
  abc: "abc".repeat(300),
  commas: ",".repeat(10_000_000),
  members: Object.fromEntries(numbers.map((each) => [`m${each}`, each])),
  copy: Object.fromEntries(numbers.map((each) => [`m${each}`, each])),
});

/** Names that JavaScript objects, arrays, strings or functions inherit. */
const INHERITED = [
  ...new Set(
    [Object.prototype, Array.prototype, String.prototype, Function.prototype, Number.prototype].flatMap((prototype) =>
      Object.getOwnPropertyNames(prototype),
    ),
  ),
].filter((name) => name !== "length");

describe("an expression that would run too long", () => {
  it.each([
    ["nested macros", "nodes.l.map(x, nodes.l.map(y, x * y))"],
    ["rounds of nothing", "nodes.l.all(x, nodes.l.all(y, true))"],
    ["errors that quantifiers swallow", "nodes.l.exists(x, nodes.l.exists(y, y.missing))"],
    ["membership in a long list", "nodes.l.filter(x, -1.0 in nodes.l)"],
    ["comparing long lists", "nodes.l.filter(x, nodes.l == nodes.l.map(y, y))"],
    ["comparing large maps", "nodes.l.all(x, nodes.members == nodes.copy)"],
    ["keys of a large map", "nodes.l.all(x, size(nodes.members) > 0)"],
    ["members that a large map has not", "nodes.l.exists(x, nodes.members.nope)"],
    ["long names of members", "nodes.l.exists(x, {}[nodes.long])"],
    ["lists that grow", "nodes.l.map(x, nodes.l + nodes.l)"],
    ["a list that holds itself", `[1]${".map(x, [x, x])".repeat(60)}`],
    ["splitting into characters", "nodes.l.map(x, nodes.half.substring(1).split(''))"],
    ["making long lists of short texts", "nodes.l.all(x, nodes.abc.split('')[0] == 'a')"],
    ["searching for a long text in a long text", "nodes.l.filter(x, nodes.long.contains(nodes.half))"],
    ["searching backwards", "nodes.l.map(x, nodes.long.lastIndexOf(nodes.half))"],
    ["a large regular expression on a long text", "nodes.long.matches('([ab]*a){900}[cd]')"],
    ["compiling regular expressions", "nodes.l.filter(x, 'a'.matches(string(x)))"],
    ["formatting time zones", "nodes.l.map(x, timestamp(int(x)).getHours('Asia/Tokyo'))"],
    ["writing JSON", "nodes.l.map(x, string(nodes.l))"],
    ["reading many small objects", "size(json(nodes.objects))"],
    ["writing bytes", "[bytes(nodes.half)].map(b, nodes.l.map(x, b))"],
  ])("runs out of its work budget: %s", (_, source) => {
    const start = performance.now();
    expect(failureOf(() => evaluateCel(source, costly)).code).toBe("expression_too_costly");
    // Without the limit on work, these expressions take from many seconds to forever.
    expect(performance.now() - start).toBeLessThan(25_000);
  });

  it.each([
    ["doubling by replace", `'aa'${".replace('a', 'aaaaaaaaaa')".repeat(9)}`],
    ["doubling by replacing nothing", `'aa'${".replace('', 'aaaa')".repeat(14)}`],
    ["doubling by +", `['a']${".map(x, x + x)".repeat(30)}`],
    ["lists that double", `[nodes.l]${".map(x, x + x)".repeat(7)}`],
    ["splitting into millions of parts", "nodes.commas.split(',').size()"],
    ["joining one long text often", "nodes.l.map(x, nodes.long).join('')"],
  ])("fails if it builds a value that is too large: %s", (_, source) => {
    expect(failureOf(() => evaluateCel(source, costly)).code).toBe("value_too_large");
  });

  it("costs the same however often it ran before", () => {
    const patterns = (count: number): Json =>
      evaluateCel(
        `nodes.l.filter(x, x < ${count} && 'a'.matches(nodes.p)).size()`,
        scope({ l: numbers, p: "[b-z]{100}" }),
      );
    for (let round = 0; round < 3; round++) {
      expect(patterns(200)).toBe(0);
      expect(failureOf(() => patterns(600)).code).toBe("expression_too_costly");
    }
  });

  it("leaves enough budget for work on a long list", () => {
    const people = numbers.map((id) => ({ id, name: `n${id}` }));
    const source = "nodes.people.filter(p, p.id % 2 == 0 && p.name.contains('9')).map(p, p.name + '!').size()";
    expect(evaluateCel(source, scope({ people }))).toBeGreaterThan(1_000);
  });
});

describe("a result", () => {
  const text = "x".repeat(1024 * 1024);

  it("may be at most 25 MiB long, quotes and escapes included", () => {
    const source = "[nodes.t].map(x, x + x + x + x + x).map(x, x + x + x + x + x + nodes.rest)[0]";
    const longest = scope({ t: text, rest: "" });
    expect(failureOf(() => evaluateCel(source, longest)).code).toBe("value_too_large");
    expect(evaluateCel(source, scope({ t: text.slice(1), rest: "" }))).toHaveLength(25 * (text.length - 1));
    expect(failureOf(() => evaluateCel("[nodes.t]", scope({ t: "\n".repeat(13 * 1024 * 1024) }))).code).toBe(
      "value_too_large",
    );
  });

  it("counts a repeated value each time it appears", () => {
    const source = `[${"nodes.t, ".repeat(26)}]`;
    expect(failureOf(() => evaluateCel(source, scope({ t: text }))).code).toBe("value_too_large");
  });

  it("is refused if it is nested too deeply to be serialised", () => {
    let deep: Json = [];
    for (let level = 0; level < 5_000; level++) deep = [deep];
    expect(failureOf(() => evaluateCel("[nodes.deep]", scope({ deep }))).code).toBe("value_too_large");
    expect(failureOf(() => evaluateCel("nodes.deep == [nodes.deep]", scope({ deep }))).code).toBe("value_too_large");
  });
});

describe("an expression of hostile size", () => {
  it.each([
    ["long", `1${" + 1".repeat(10_000)}`, /at most 20000 characters/],
    ["many parts", `[${"1,".repeat(5_000)}]`, /more than 4000 parts/],
    ["many operators", `1${" + 1".repeat(201)}`, /operators in a row/],
    ["brackets", `${"(".repeat(300)}1${")".repeat(300)}`, /nested deeper than 200/],
    ["nots", `${"!".repeat(10_000)}true`, /nested deeper than 200/],
    ["minuses", `${"-".repeat(10_000)}run`, /nested deeper than 200/],
    ["lists", "[".repeat(10_000), /nested deeper than 200/],
    ["members", `run${".a".repeat(300)}`, /fields in a row/],
    ["conditions", `${"true ? 1 : ".repeat(300)}1`, /nested deeper than 200/],
    ["brackets on the left", `${"(".repeat(60)}1${` ${"+ 1 ".repeat(20)})`.repeat(60)}`, /nested deeper than 400/],
  ])("is refused: %s", (_, source, reason) => {
    const checked = checkCel(source);
    expect(checked.ok ? "" : checked.message).toMatch(reason);
  });
});

describe("expression-escape", () => {
  it.each([
    "nodes.a.constructor.constructor('return process')()",
    "run.metadata.toString",
    "'a'['length']",
    "[1].map(x, x.constructor)",
    "globalThis",
    "Function('return 1')()",
    "timestamp(0).nanos",
    "b'abc'.buffer",
    "type(1).name",
    "{'a': 1}.entries()",
  ])("%s fails", (source) => {
    const around = scope({ a: { b: 1 }, f: "text" });
    expect(failureOf(() => evaluateCel(source, around)).code).toBe("expression_failed");
  });

  it.each(INHERITED)("inherited fields cannot be read: %s", (name) => {
    const key = JSON.stringify(name);
    const around = scope({ a: {}, l: [], s: "text", n: 1 });
    for (const value of ["nodes", "nodes.a", "nodes.l", "nodes.s", "nodes.n", "run", "{'a': 1}", "inputs"]) {
      expect(failureOf(() => evaluateCel(`${value}[${key}]`, around)).code).toBe("expression_failed");
      expect(evaluateCel(`has(${value}[${key}])`, around)).toBe(false);
    }
    expect(evaluateCel(`${key} in nodes.a || ${key} in nodes`, around)).toBe(false);
  });
});

describe("double-render", () => {
  it("user input is never evaluated as an expression", () => {
    const typed = 'nodes["secret"] + "x"';
    expect(evaluateCel("nodes.typed", scope({ typed, secret: "s" }))).toBe(typed);
    expect(evaluateCel("string(nodes.typed) + ''", scope({ typed, secret: "s" }))).toBe(typed);
  });
});

describe("proto-pollution", () => {
  const hostile = JSON.parse(
    '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}',
  ) as Json;

  it("fields named like an object's built-in ones are data", () => {
    const around = scope({ hostile });
    expect(evaluateCel("nodes.hostile", around)).toBe(hostile);
    expect(evaluateCel('nodes.hostile["__proto__"].polluted', around)).toBe(true);
    expect(evaluateCel("size(nodes.hostile)", around)).toBe(2);
    expect(evaluateCel("nodes.hostile.map(k, k)", around)).toEqual(["__proto__", "constructor"]);
    expect(evaluateCel('{"constructor": 1, "toString": 2}', around)).toEqual({ constructor: 1, toString: 2 });
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("a map cannot be created with a field __proto__", () => {
    const failure = failureOf(() => evaluateCel('{"__proto__": {"polluted": true}}', scope()));
    expect(failure.code).toBe("expression_failed");
    expect(failure.message).toMatch(/__proto__/);
  });

  it("parsing JSON text does not reach a prototype", () => {
    const made = evaluateCel("json(nodes.text)", scope({ text: '{"__proto__": {"polluted": true}}' }));
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
    expect((made as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

const PIECES = [
  ..."+ - * / % == != < <= > >= in && || ! ? : . , ( ) [ ] { }".split(" "),
  ...'nodes nodes.a nodes["a"] inputs run item index last x 1 2.5 1u "s" b"s" true null nodes.l'.split(" "),
  ...".map(x,x) .filter(x,x>1) .all(x,x) has(nodes.a) .size() string( int( .split(',') .join() .matches('a')".split(
    " ",
  ),
  ..."timestamp(0) duration('1s') ' \\ ` // __proto__ constructor ...".split(" "),
];

describe("any text", () => {
  const fails = (source: string): void => {
    const around = scope({ a: { b: [1, "x"] }, l: [1, 2] }, { item: 1 });
    const checked = checkCel(source);
    try {
      const result = evaluateCel(source, around);
      expect(checked.ok).toBe(true);
      // A result that JSON cannot represent would change when it is stored.
      expect(JSON.parse(JSON.stringify(result))).toEqual(result);
    } catch (error) {
      expect(error).toBeInstanceOf(NodeFailure);
    }
  };

  it("either evaluates or fails as a node failure", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((parts) => parts.join("")),
        fails,
      ),
      {
        numRuns: 2_000,
      },
    );
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 30 }), fails));
  });
});
