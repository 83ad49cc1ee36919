import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkCel, evaluateCel, evaluateCondition } from "../../../../src/domain/flow/expressions/cel/cel.ts";
import { parseExactJson } from "../../../../src/domain/exact-json.ts";
import type { Json } from "../../../../src/domain/json.ts";
import { failureOf } from "../../../support/failures.ts";
import { scope } from "../../../support/scope.ts";

const nodes = {
  "in-0": "hello",
  n: 5,
  half: 0.5,
  text: "a,b,,c",
  list: [3, 1, 2],
  nothing: null,
  "llm-0": { text: "Yes", json: { name: "Ann", tags: ["x", "y"] } },
};
const evaluate = (source: string): Json =>
  evaluateCel(source, scope(nodes, { inputs: { "in-0": "hello" }, item: { id: 7 }, index: 2 }));

describe("an expression", () => {
  it.each<[string, Json]>([
    ['nodes["in-0"] + "x"', "hellox"],
    ["nodes.`in-0`", "hello"],
    ['inputs["in-0"]', "hello"],
    ["run.id", "run-1"],
    ["run.user_id", null],
    ["item.id * index", 14],
    ['nodes["llm-0"].json.tags[1]', "y"],
    ['{"a": nodes.n, "b": [1, "two", null]}', { a: 5, b: [1, "two", null] }],
    ["nodes.n > 3 ? 'big' : 'small'", "big"],
    ["// remark\n 1 + 1", 2],
  ])("%s gives %j", (source, result) => {
    expect(evaluate(source)).toEqual(result);
  });

  it.each<[string, Json]>([
    ["nodes.n * 2", 10],
    ["2 * nodes.n", 10],
    ["nodes.n / 2", 2.5],
    ["nodes.n == 5", true],
    ["5 == nodes.n", true],
    ["nodes.n < 5.5 && nodes.n >= 5", true],
    ["nodes.n % 2", 1],
    ["size(nodes.list) + 1.0", 4],
    ["size(nodes.list) * nodes.half", 1.5],
    ["1 + 2", 3],
    ["7 / 2", 3],
    ["-7 / 2", -3],
    ["7.0 / 2", 3.5],
    ["nodes.list[nodes.n - 4]", 1],
    ["nodes.n in [1, 5]", true],
    ["[1, 2.0] == [1.0, 2]", true],
    ["{1: 'one'}[1.0]", "one"],
    ["int(nodes.n) / 2", 2],
    ["int('42') + 1", 43],
    ["double('2.5') + 1", 3.5],
    ["9007199254740993 == 9007199254740992.0", false],
  ])("mixes integers and JSON numbers: %s is %j", (source, result) => {
    expect(evaluate(source)).toEqual(result);
  });

  it.each<[string, Json]>([
    ["timestamp('2024-02-29T10:00:00.5+02:00')", "2024-02-29T08:00:00.500Z"],
    ["timestamp('2024-02-28T23:59:59Z') + duration('1s')", "2024-02-29T00:00:00Z"],
    ["timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T12:00:00Z')", "43200s"],
    ["timestamp(0)", "1970-01-01T00:00:00Z"],
    ["int(timestamp('1969-12-31T23:59:58.5Z'))", -2],
    ["duration('1h30m') + duration('-1.5s')", "5398.5s"],
    ["duration('250ms')", "0.25s"],
    ["duration('1h').getMinutes()", 60],
    ["duration('61.5s').getMilliseconds()", 500],
    ["type(timestamp(0)) == google.protobuf.Timestamp", true],
    ["'\\u0085 x \\ufeff'.trim() == 'x \\ufeff'", true],
    ["timestamp('2024-06-29T22:30:00Z').getHours('Europe/Berlin')", 0],
    ["timestamp('2024-06-29T22:30:00Z').getDate('+02:00')", 30],
    ["timestamp('2024-03-01T00:00:00Z').getDayOfYear()", 60],
    ["bytes('é')", "w6k="],
    ["b'\\xff\\x00'", "/wA="],
    ["string(bytes('é'))", "é"],
    ["type(1) == int && type(nodes.n) == double && type('') == string", true],
    ["string(type([]))", "list"],
    ["string({'a': [1, null]})", '{"a":[1,null]}'],
    ["{1: 'a', true: 'b'}", { "1": "a", true: "b" }],
    ["[timestamp(1), duration('1s')]", ["1970-01-01T00:00:01Z", "1s"]],
  ])("returns JSON whatever types it computes with: %s is %j", (source, result) => {
    expect(evaluate(source)).toEqual(result);
  });

  it.each<[string, Json]>([
    ["nodes.text.split(',')", ["a", "b", "", "c"]],
    ["nodes.text.split(',', 2)", ["a", "b,,c"]],
    ["'aé😀'.split('')", ["a", "é", "😀"]],
    ["['a', 'b'].join('-')", "a-b"],
    ["['a', 'b'].join()", "ab"],
    ["'  x '.trim()", "x"],
    ["'ÀbC'.lowerAscii()", "Àbc"],
    ["'àbC'.upperAscii()", "àBC"],
    ["'hello'.substring(1, 3)", "el"],
    ["'a😀bc'.substring(2)", "bc"],
    ["'aaa'.replace('a', 'bb')", "bbbbbb"],
    ["'aaa'.replace('a', 'b', 2)", "bba"],
    ["'abc'.replace('', '-')", "-a-b-c-"],
    ["'a$&b'.replace('b', '$&')", "a$&$&"],
    ["'a😀b'.indexOf('b')", 2],
    ["'abab'.indexOf('b', 2)", 3],
    ["'abab'.lastIndexOf('ab')", 2],
    ["'abc'.indexOf('x')", -1],
    ["'a😀b'.charAt(1)", "😀"],
    ["size('a😀b')", 3],
    ["'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')", true],
    ["'abc123'.matches('[0-9]+$')", true],
    ["'ABC'.matches('(?i)^abc$')", true],
    ['json(\'{"a": [1, {"b": null}]}\').a[1]', { b: null }],
    ["json('[12345678901234567890]')", ["12345678901234567890"]],
  ])("has the string functions: %s is %j", (source, result) => {
    expect(evaluate(source)).toEqual(result);
  });

  it.each<[string, Json]>([
    ["nodes.list.all(x, x > 0)", true],
    ["nodes.list.exists(x, x == 2)", true],
    ["nodes.list.exists_one(x, x > 1)", false],
    ["nodes.list.map(x, x * 10)", [30, 10, 20]],
    ["nodes.list.map(x, x > 1, string(x))", ["3", "2"]],
    ["nodes.list.filter(x, x > 1)", [3, 2]],
    ["{'b': 1, 'a': 2}.map(k, k)", ["b", "a"]],
    ["nodes.list.map(x, nodes.list.filter(y, y < x))", [[1, 2], [], [1]]],
    ["[1].map(item, item)[0] + index", 3],
    ["[1, 2].map(x, [x].map(x, x + 1)[0] + x)", [3, 5]],
    ["nodes.list.exists(x, x.missing == 1 || x == 2)", true],
    ["nodes.list.all(x, x.missing == 1 && x == 5)", false],
  ])("has the macros: %s is %j", (source, result) => {
    expect(evaluate(source)).toEqual(result);
  });

  it.each<[string, Json]>([
    ['has(nodes["in-0"])', true],
    ["has(nodes.absent)", false],
    ['has(nodes["llm-0"].json.name)', true],
    ['has(nodes["llm-0"].json.age)', false],
    ["has(nodes.absent.json.age)", false],
    ["has(nodes.nothing.x)", false],
    ["has(nodes.list[2])", true],
    ["has(nodes.list[3])", false],
    ['"in-0" in nodes', true],
    ['"absent" in nodes', false],
    ["has(last.x)", false],
  ])("tests for values that may be missing: %s is %s", (source, result) => {
    expect(evaluate(source)).toBe(result);
  });

  it.each<[string, Json]>([
    ["false && nodes.absent", false],
    ["nodes.absent && false", false],
    ["true || nodes.absent", true],
    ["nodes.absent || true", true],
  ])("is decided by one operand alone: %s is %s", (source, result) => {
    expect(evaluate(source)).toBe(result);
  });
});

describe("an expression that cannot be computed", () => {
  it.each([
    ["nodes.absent.x", /Node "absent" has no value here: it was skipped.*has\(nodes\["absent"\]\).*line 1, column 7/],
    ['nodes["llm-0"].json.age', /Field "age" not found: the object has "name", "tags".*column 21/],
    ["nodes.list[3]", /Index 3 is out of range: the list has 3 elements/],
    ["nodes.list[-1]", /Index -1 is out of range/],
    ["nodes.list[0.5]", /must be a whole number/],
    ['nodes["in-0"].text', /A string has no field "text": use json\(...\)/],
    ['nodes["in-0"] + 1', /"\+" cannot be applied to a string and an integer: use string\(\.\.\.\).*column 15/],
    ["nodes.nothing > 1", /cannot be applied to null and an integer: test the value/],
    ["1 / 0", /Division by zero/],
    ["nodes.n / 0", /Division by zero/],
    ["nodes.n % 0", /Division by zero/],
    ["nodes.half % 2", /whole numbers/],
    ["9223372036854775807 + 1", /64 bits/],
    ["9007199254740993", /too large for an exact JSON number: use string/],
    ["1e308 * 10.0", /Infinity is not a number that JSON can represent/],
    ["nodes.n ? 1 : 2", /before "\?" must be true or false, but it is a number/],
    ["nodes.n && true", /"&&" needs true or false, not a number/],
    ["!nodes.n", /"!" needs true or false/],
    ["nodes.list.filter(x, x)", /condition of filter\(\) must be true or false, but it is a number/],
    ["nodes.n.map(x, x)", /Only lists and maps can be iterated, not a number/],
    ["[1].join()", /join\(\) needs a list of texts, but one element is an integer/],
    ["1.trim()", /trim\(\) must be called on text, not on an integer/],
    ["'abc'.substring(4)", /position 4 is outside the text/],
    ["int('4x')", /int\(\) cannot read the text "4x"/],
    ["json('{')", /json\(\) received text that is not JSON/],
    ["timestamp('2024-02-30T00:00:00Z')", /not an RFC 3339 timestamp/],
    ["timestamp('2024-01-01T00:00:00Z').getHours('Mars')", /not a time zone/],
    ["duration('5 minutes')", /not a duration/],
    ["'a' in 'abc'", /"in" needs a list or a map on its right, not a string: use text\.contains/],
    ["{'a': 1, 'a': 2}", /Duplicate key/],
    ["{1.5: 2}", /key of a map cannot be a number/],
    ["last", /"last" exists only inside a loop/],
    ["'a'.matches(nodes.text + '(')", /Not a valid regular expression/],
    ["nodes.list.exists(x, x.missing)", /has no field "missing"/],
  ])("%s says why and at which position", (source, reason) => {
    const failure = failureOf(() => evaluate(source));
    expect(failure.code).toBe("expression_failed");
    expect(failure.message).toMatch(reason);
    expect(failure.retryable).toBe(false);
  });

  it("reports the line in an expression of several lines", () => {
    expect(failureOf(() => evaluate("1 +\n  nodes.absent")).message).toMatch(/line 2, column 9/);
  });

  it("fails the node, not the process, if it does not parse", () => {
    expect(failureOf(() => evaluate("1 +")).message).toMatch(/^Not a valid expression: .*ends too early/);
  });
});

describe("a condition", () => {
  it("returns a boolean", () => {
    expect(evaluateCondition("nodes.n > 3", scope(nodes))).toBe(true);
    expect(evaluateCondition("nodes.n > 30", scope(nodes))).toBe(false);
  });

  it.each(["nodes.n", "'true'", "null", "[]"])("cannot be %s", (source) => {
    const failure = failureOf(() => evaluateCondition(source, scope(nodes)));
    expect(failure.code).toBe("expression_failed");
    expect(failure.message).toMatch(/must be true or false/);
  });
});

describe("checking an expression", () => {
  it.each<[string, readonly string[] | "*"]>([
    ["1 + 1", []],
    ['nodes["in-0"] + nodes.a.b', ["in-0", "a"]],
    ['nodes["in-0"] + nodes["in-0"]', ["in-0"]],
    ['has(nodes["a"].b) || "c" in nodes', ["a", "c"]],
    ["inputs.x + run.id + item.y", []],
    ["[1].map(x, nodes.a)", ["a"]],
    ["[{'a': 1}].map(nodes, nodes.a)", []],
    ["nodes[inputs.x]", "*"],
    ["nodes", "*"],
    ["nodes.map(id, id)", "*"],
    ["nodes.a + size(nodes)", "*"],
    ["inputs.x in nodes", "*"],
  ])("%s reads %j", (source, reads) => {
    expect(checkCel(source)).toMatchObject({ ok: true, reads });
  });

  it.each([
    ["", /ends too early/],
    ["1 +", /ends too early.*line 1, column 4/],
    ["a b", /Unexpected "b"/],
    ["1 2", /Unexpected "2".*column 3/],
    ["(1", /expected "\)"/],
    ["[1", /expected ","/],
    ["{'a' 1}", /expected ":"/],
    ["'abc", /The string is not closed/],
    ["'a\nb'", /A string must end on the line/],
    ["'\\q'", /Unknown escape/],
    ["'\\ud800'", /not a Unicode character/],
    ["a # b", /Unexpected character "#"/],
    ["99999999999999999999", /does not fit into 64 bits/],
    ["1e999", /too large/],
    ["for", /reserved word/],
    ["foo", /Unknown variable "foo" \(known: nodes, .*nodes\["foo"\]/],
    ["x.trim()", /Unknown variable "x"/],
    ["foo(1)", /Unknown function "foo"/],
    ["contains('a', 'b')", /value\.contains/],
    ["'a'.int()", /write int\(value\)/],
    ["size(1, 2)", /size\(\) needs 1 argument/],
    ["has(1)", /has\(\) needs one field/],
    ["has(nodes)", /has\(\) needs one field/],
    ["[1].map(1, 2)", /map\(\) needs a variable name/],
    ["[1].filter(x)", /filter\(\) needs a variable name/],
    ["[1].map(a, [1].map(b, [1].map(c, c)))", /Macros can be nested at most 2 levels deep/],
    ["'a'.matches('(')", /Not a valid regular expression.*column 13/],
    ["'a'.matches('(?=x)')", /look-around/],
    ["cel.bind(x, 1, x)", /Unknown/],
    ["\n\n  foo", /line 3, column 3/],
  ])("%j is refused with the reason and the position", (source, reason) => {
    const checked = checkCel(source);
    expect(checked.ok ? "" : checked.message).toMatch(reason);
  });

  it("accepts macros one after the other and one macro inside another", () => {
    expect(checkCel("[1].map(a, a).map(b, b).map(c, c).all(d, [1].exists(e, e == d))").ok).toBe(true);
  });
});

describe("any JSON value", () => {
  it("is returned unchanged, also from within a list, a map and text", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = value as Json;
        const around = scope({ x: json });
        expect(evaluateCel('nodes["x"]', around)).toBe(json);
        expect(evaluateCel("[nodes.x, [nodes.x]]", around)).toEqual([json, [json]]);
        expect(evaluateCel("{'k': nodes.x}", around)).toEqual({ k: json });
        expect(evaluateCel("json(string([nodes.x]))[0]", around)).toEqual(parseExactJson(JSON.stringify(json)));
      }),
    );
  });
});
