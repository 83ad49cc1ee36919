import { Environment } from "@marcbachmann/cel-js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { evaluateCel } from "../../../../src/domain/flow/expressions/cel/cel.ts";
import { scope } from "../../../support/scope.ts";

const environment = new Environment({ unlistedVariablesAreDyn: true, homogeneousAggregateLiterals: false });

/** What another implementation of CEL gives, its integers as numbers. */
const reference = (source: string): unknown => plain(environment.evaluate(source));

const plain = (value: unknown): unknown => {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
};

const ours = (source: string): unknown => {
  try {
    return evaluateCel(source, scope());
  } catch (error) {
    return error;
  }
};

describe("as another implementation of CEL has it", () => {
  it.each(
    String.raw`
    1 + 2 * 3 - 4
    (1 + 2) * 3
    7 / 2 * 2 + 7 % 2
    -7 / 2
    -7 % 3
    7 % -3
    -(2 + 3)
    - -2
    !true || !false
    0x1F + 0XfF
    1.5e3 + 0.5
    2.0 / 4.0
    1 < 2 == true
    1 == 1 != false
    true ? 1 : false ? 2 : 3
    false ? 1 : false ? 2 : 3
    true || false && false
    "a" + 'b' + """c""" + '''d'''
    r"\n" + "\n\t\\\"\'\x41\u00e9\U0001F600\101"
    "a" < "b" && "B" < "a" && "a" <= "a"
    [1, 2, 3][1]
    [1, 2] + [3]
    [[1], [2, 3]][1][0]
    {"a": 1, "b": {"c": 2}}.b.c
    {"a": 1}["a"]
    {1: "one", 2: "two"}[2]
    "a" in {"a": 1} && !("b" in {"a": 1})
    2 in [1, 2]
    [1, 2] == [1, 2] && [1, 2] != [2, 1]
    {"a": [1, {"b": 2}]} == {"a": [1, {"b": 2}]}
    {"a": 1, "b": 2} == {"b": 2, "a": 1}
    null == null
    size("héllo") + size([1, 2]) + size({"a": 1}) + "abc".size()
    [1, 2, 3].all(x, x > 0)
    [1, 2, 3].exists(x, x > 2)
    [1, 2, 3].exists_one(x, x == 2)
    [1, 2, 3].map(x, x * 2)
    [1, 2, 3].map(x, x > 1, x * 2)
    [1, 2, 3].filter(x, x != 2)
    [[1, 2], [3]].map(l, l.map(x, x + 1))
    {"a": 1, "b": 2}.filter(k, k == "b")
    [].all(x, false) && ![].exists(x, true)
    "hello".contains("ell") && "hello".startsWith("he") && "hello".endsWith("lo")
    "Hello".lowerAscii() + "Hello".upperAscii() + " x ".trim()
    "a,b,c".split(",")
    "a,b,c".split(",", 2)
    "hello".substring(1) + "hello".substring(1, 3)
    "hello".indexOf("l") + "hello".lastIndexOf("l") + "hello".indexOf("l", 3)
    ["a", "b"].join("-") + ["a", "b"].join()
    "abc".matches("^a.c$") && !"abc".matches("^b")
    int("42") + int(3.9) + int(-3.9)
    double("1.5") + double(2)
    string(1) + string(2.5) + string(true) + string("x")
    bool("true") && !bool("0")
    string(b"abc") + string(bytes("é"))
    size(b"\xff\x00") + size(bytes("é"))
    type(1) == int && type("a") == string && type([]) == list && type({}) == map && type(null) == null_type
    duration("1h30m").getMinutes() + duration("90s").getSeconds() + duration("1.5s").getMilliseconds()
    timestamp("2024-02-29T12:34:56.789Z").getFullYear() + timestamp("2024-02-29T12:34:56Z").getMonth()
    timestamp("2024-02-29T12:34:56Z").getDate() * 100 + timestamp("2024-02-29T12:34:56Z").getDayOfMonth()
    timestamp("2024-02-29T12:34:56Z").getDayOfWeek() * 100 + timestamp("2024-02-29T12:34:56Z").getHours()
    timestamp("2024-01-01T00:00:00Z") + duration("24h") == timestamp("2024-01-02T00:00:00Z")
    timestamp("2024-01-02T00:00:00Z") - timestamp("2024-01-01T00:00:00Z") == duration("24h")
    timestamp("2024-01-01T00:00:00Z") < timestamp("2024-01-01T00:00:01Z")
    [1, 2,].size() + {"a": 1,}.size()`
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== ""),
  )("%s", (source) => {
    expect(ours(source)).toEqual(reference(source));
  });

  it("whole numbers are computed and compared alike", () => {
    const { operand } = fc.letrec<{ operand: string; sum: string }>((tie) => ({
      operand: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.integer({ min: 0, max: 1000 }).map(String),
        tie("sum").map((sum) => `(${sum})`),
      ),
      sum: fc
        .tuple(
          tie("operand"),
          fc.constantFrom("+", "-", "*", "/", "%"),
          tie("operand"),
          fc.constantFrom("+", "-", "*"),
          tie("operand"),
        )
        .map((parts) => parts.join(" ")),
    }));
    const comparison = fc.constantFrom("==", "!=", "<", "<=", ">", ">=");
    fc.assert(
      fc.property(operand, comparison, operand, (left, compare, right) => {
        for (const source of [left, `${left} ${compare} ${right}`, `-${right}`]) {
          let expected: unknown;
          try {
            expected = reference(source);
          } catch {
            // Division by zero and overflow: no result there, none here.
            expect(ours(source)).toBeInstanceOf(Error);
            continue;
          }
          if (Number.isSafeInteger(expected) || typeof expected === "boolean") expect(ours(source)).toBe(expected);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("what is no expression there is none here", () => {
    const piece = fc.constantFrom(..."1 2.5 'a' ( ) [ ] { } , : . + - * ! && == ? true in".split(" "));
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 8 }), (pieces) => {
        const source = pieces.join(" ");
        // Ours: a member may have the name of a word of the language.
        fc.pre(!/\. (?:in|true)/.test(source));
        const parses = ((): boolean => {
          try {
            environment.parse(source);
            return true;
          } catch {
            return false;
          }
        })();
        const failure = ours(source);
        const message = failure instanceof Error ? failure.message : "";
        expect(message.startsWith("Not a valid expression")).toBe(!parses);
      }),
      { numRuns: 5_000 },
    );
  });
});
