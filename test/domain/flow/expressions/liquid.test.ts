import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkTemplate,
  renderTemplate,
  templateWeight,
} from "../../../../src/domain/flow/expressions/liquid/liquid.ts";
import type { Json } from "../../../../src/domain/json.ts";
import { failureOf } from "../../../support/failures.ts";
import { scope } from "../../../support/scope.ts";

const nodes = {
  "in-0": "hello",
  n: 5,
  yes: true,
  nothing: null,
  "llm-0": { text: "Answer", json: { name: "Ann" } },
  obj: { a: 1, b: [1, "x"] },
  list: [
    { name: "b", v: 2 },
    { name: "a", v: 1 },
  ],
  words: ["x", "y"],
  flags: "🙂b🙂",
  "0a": "zero",
  "a-b-c": "hyphens",
  _x: "underscore",
};
const render = (source: string): string =>
  renderTemplate(source, scope(nodes, { inputs: { "in-0": "raw" }, item: { name: "it" }, index: 3, last: { n: 1 } }));

describe("a template", () => {
  it.each([
    ["Say {{in-0}}!", "Say hello!"],
    ["{{ a-b-c }} {{0a}} {{_x}}", "hyphens zero underscore"],
    ['{{nodes["in-0"]}} {{ nodes.obj.a }}', "hello 1"],
    ['{{nodes["llm-0"].text}} {{ llm-0.json.name }}', "Answer Ann"],
    ['{{ inputs["in-0"] }} {{ run.id }} {{ item.name }} {{ index }} {{ last.n }}', "raw run-1 it 3 1"],
    ["{{ list[1].name }} {{ list.size }} {{ list.first.name }} {{ list.last.v }} {{ obj.b.size }}", "a 2 b 1 2"],
    ["{% if n > 3 and in-0 contains 'ell' %}big{% else %}small{% endif %}", "big"],
    ["{% unless yes %}no{% endunless %}{% case n %}{% when 4, 5 %}few{% else %}many{% endcase %}", "few"],
    ["{% case words %}{% when nothing %}nil{% when words %}same{% endcase %}", "same"],
    ["{% assign x = in-0 | upcase %}{{ x }}{% capture y %}<{{ x }}>{% endcapture %}{{ y }}", "HELLO<HELLO>"],
    ["{% for x in list reversed %}{{ forloop.index }}{{ x.name }}{% endfor %}", "1a2b"],
    ["{% for i in (1..3) %}{{ i }}{% endfor %}{% for p in obj %}{{ p[0] }}{% endfor %}", "123ab"],
    ["a {%- comment -%} {{ gone }} {%- endcomment -%} b{% # remark %}", "ab"],
    ["{% raw %}{{ in-0 }}{% endraw %}", "{{ in-0 }}"],
    ["{% liquid\n assign x = 1\n echo x %}", "1"],
    ["{% increment c %}{% increment c %}{% cycle 'a', 'b' %}{% cycle 'a', 'b' %}", "01ab"],
    ["{% if list == empty %}empty{% elsif missing == nil %}nil{% endif %}", "nil"],
    [
      "{% if words == words %}1{% endif %}{% if words contains 'y' %}2{% endif %}{% if words != list %}3{% endif %}",
      "123",
    ],
  ])("%s renders %j", (source, text) => {
    expect(render(source)).toBe(text);
  });

  it.each([
    ["{{ llm-0 }}", "Answer"],
    ["{{ obj }}", '{"a":1,"b":[1,"x"]}'],
    ["{{ words }}", '["x","y"]'],
    ["{{ n }} {{ yes }} {{ 1.50 }} {{ -2 }}", "5 true 1.5 -2"],
    ["[{{ nothing }}{{ missing }}{{ missing.deeper }}{{ nodes.missing.x }}]", "[]"],
    ["{% assign x = obj %}{{ x }}{% echo obj.b %}", '{"a":1,"b":[1,"x"]}[1,"x"]'],
    ["{% cycle obj, n %}", '{"a":1,"b":[1,"x"]}'],
    ["{% capture x %}{{ obj.b }}{% endcapture %}{{ x | size }}", "7"],
    ["{{ llm-0 | upcase }} {{ obj | append: '!' }}", 'ANSWER {"a":1,"b":[1,"x"]}!'],
    ["{{ 'x' | append: obj | append: llm-0 }}", 'x{"a":1,"b":[1,"x"]}Answer'],
    ["{{ list | map: 'v' | join: '+' }} {{ list | join }}", '2+1 {"name":"b","v":2} {"name":"a","v":1}'],
    ["{{ obj | raw }}", '{"a":1,"b":[1,"x"]}'],
  ])("writes values that are not text in one format: %s renders %j", (source, text) => {
    expect(render(source)).toBe(text);
  });

  it.each([
    ["{{ in-0 | upcase | truncate: 4 }}", "H..."],
    ["{{ ' a  b ' | strip }}|{{ ' a  b ' | squish }}", "a  b|a b"],
    ["{{ 'a.b.a' | replace: 'a', 'x' }} {{ 'a.b.a' | remove: 'a' }}", "x.b.x .b."],
    [
      "{{ 'aba' | replace_first: 'a', '$&' }} {{ 'aba' | replace_last: 'a', 'x' }} {{ 'aba' | remove_last: 'a' }}",
      "$&ba abx ab",
    ],
    ["{{ 'a,b,,' | split: ',' | json }} {{ 'ab' | split: '' | json }}", '["a","b"] ["a","b"]'],
    ["{{ '<b>x</b>' | strip_html }} {{ '<&\"' | escape }}", "x &lt;&amp;&#34;"],
    ["{{ 'a b&c' | url_encode }} {{ 'a%20b' | url_decode }} {{ 'Hé llo' | slugify }}", "a+b%26c a b hé-llo"],
    ["{{ 'é' | base64_encode }} {{ 'w6k=' | base64_decode }}", "w6k= é"],
    ["{{ 7 | times: 6 | plus: 0.5 }} {{ -3 | abs }} {{ 2.6 | round }} {{ 7 | modulo: 4 }}", "42.5 3 3 3"],
    ["{{ list | sort: 'name' | map: 'name' | join: ',' }} {{ list | map: 'v' | sum }}", "a,b 3"],
    [
      "{{ list | where: 'name', 'a' | json }} {{ list | find: 'v', 2 | json }}",
      '[{"name":"a","v":1}] {"name":"b","v":2}',
    ],
    ["{{ words | concat: words | uniq | reverse | join: '' }} {{ words | push: 'z' | size }}", "yx 3"],
    ["{{ list | group_by: 'v' | map: 'name' | json }}", "[2,1]"],
    ["{{ obj | size }} {{ in-0 | size }} {{ n | size }}", "2 5 0"],
    ["{{ missing | default: 'd' }} {{ '' | default: 'e' }} {{ in-0 | default: 'f' }}", "d e hello"],
    ["{{ missing | json }} {{ obj | json: 1 }}", 'null {\n "a": 1,\n "b": [\n  1,\n  "x"\n ]\n}'],
    ["{{ words | array_to_sentence_string }}", "x and y"],
    ["{{ '🙂é🙂' | size }} {{ flags | size }} {{ flags.size }} {{ '🙂🙂🙂' | truncate: 2, '' }}", "3 3 3 🙂🙂"],
    ["{{ flags | slice: 1, 2 }} {{ flags | slice: -1 }} {{ flags | split: '' | join: '-' }}", "b🙂 🙂 🙂-b-🙂"],
    ["{{ 'abc' | slice: -9, 2 }}[{{ words | slice: 1, 5 | json }}", '[["y"]'],
  ])("has the usual filters: %s renders %j", (source, text) => {
    expect(render(source)).toBe(text);
  });

  it.each([
    ["{{ 0 | date: '%Y-%m-%dT%H:%M:%S%:z' }}", "1970-01-01T00:00:00+00:00"],
    ["{{ '86400' | date: '%F' }}", "1970-01-02"],
    ["{{ '2024-03-05' | date }}", "Tuesday, March 5, 2024 at 12:00 am +0000"],
    ["{{ '2024-03-05T10:00:00+02:00' | date: '%H:%M %p %l' }}", "08:00 AM  8"],
    ["{{ '2024-03-05 10:00' | date: '%H %-I %j %U %V %u' }}", "10 10 065 09 10 2"],
    ["{{ 'March 5, 2024' | date: '%e/%b/%y %a' }}", " 5/Mar/24 Tue"],
    ["{{ 'Tue, 05 Mar 2024 10:00:00 +0200' | date: '%T' }}", "08:00:00"],
    ["{{ '2024-12-31' | date: '%G-W%V %-d%q %^a %s' }}", "2025-W01 31st TUE 1735603200"],
    ["{{ 'no date' | date: '%Y' }} {{ nothing | date: '%Y' }}", "no date "],
    ["{{ 0 | date: '%Q %% %5Y %_m' }}", "%Q % 01970  1"],
  ])("formats dates in UTC on every machine: %s renders %j", (source, text) => {
    const zone = process.env["TZ"];
    for (const elsewhere of ["America/New_York", "Asia/Tokyo"]) {
      process.env["TZ"] = elsewhere;
      expect(render(source)).toBe(text);
    }
    if (zone === undefined) delete process.env["TZ"];
    else process.env["TZ"] = zone;
  });

  it.each([
    ["{{ '2026-07-30T12:00:00Z' | date: '%H:%M', 'Asia/Shanghai' }}", "20:00"],
    [
      "{{ '2026-07-30T12:00:00Z' | date: '%F %T %z %:z %Z %s', 'America/New_York' }}",
      "2026-07-30 08:00:00 -0400 -04:00 America/New_York 1785412800",
    ],
    ["{{ '2026-07-30T20:00:00Z' | date: '%A %-d %c', '+05:45' }}", "Friday 31 Fri Jul 31 01:45:00 2026"],
    ["{{ '2026-01-31T12:00:00Z' | date: '%H:%M %z', 'Europe/Berlin' }}", "13:00 +0100"],
    [
      "{{ '2026-03-29T00:59:00Z' | date: '%H:%M', 'Europe/Berlin' }} {{ '2026-03-29T01:00:00Z' | date: '%H:%M', 'Europe/Berlin' }}",
      "01:59 03:00",
    ],
    [
      "{{ 0 | date: '%H:%M %z %Z', 360 }} {{ 0 | date: '%H:%M', 'UTC' }} {{ 0 | date: '%H:%M', missing }}",
      "18:00 -0600 -06:00 00:00 00:00",
    ],
  ])("formats dates in a named time zone: %s renders %j", (source, text) => {
    expect(render(source)).toBe(text);
  });

  it.each([
    ["{{ 0 | date: '%H', 'Mars/Base' }}", /"Mars\/Base" is not a time zone such as "Europe\/Berlin"/],
    ["{{ 0 | date: '%H', obj }}", /The time zone of a date must be text/],
  ])("refuses an unknown time zone: %s", (source, message) => {
    expect(failureOf(() => render(source))).toMatchObject({
      code: "template_failed",
      message: expect.stringMatching(message),
    });
  });

  const long = "9007199254740993";
  it.each([
    ["plus: 1", "9007199254740994"],
    ["plus: -2.0", "9007199254740991"],
    ["minus: 2", "9007199254740991"],
    ["times: 3", "27021597764222979"],
    ["times: -1", "-9007199254740993"],
    ["divided_by: 3", "3002399751580331"],
    ["divided_by: 2, true", "4503599627370496"],
    ["modulo: 10", "3"],
    ["modulo: -10", "-7"],
    ["abs", long],
    ["times: -1 | abs", long],
    ["round", long],
    ["round: 2", long],
    ["round: -1", "9007199254740990"],
    ["ceil", long],
    ["floor", long],
    ["at_least: 5", long],
    ["at_most: 5", "5"],
    ["at_least: '9007199254740994'", "9007199254740994"],
    ["to_integer", long],
    ["split: ',' | sum", long],
    ["append: ',1,5' | split: ',' | sum", "9007199254740999"],
  ])("keeps the digits of a long integer: %s renders %s", (filter, text) => {
    for (const given of [`'${long}'`, `'+0${long}.0'`].slice(0, /append|split/.test(filter) ? 1 : 2))
      expect(render(`{{ ${given} | ${filter} }}`)).toBe(text);
  });

  it("keeps the digits of a computed long integer", () => {
    expect(render("{{ 9007199254740991 | plus: 2 }} {{ 3037000500 | times: 3037000501 }}")).toBe(
      `${long} 9223372040037250500`,
    );
    expect(render("{{ '1e21' | plus: 1 }} {{ 2.5 | times: 2 }} {{ 7 | divided_by: 0 }} {{ 'abc' | plus: 1 }}")).toBe(
      "1e+21 5 Infinity 1",
    );
  });

  it.each([
    [`{{ '${long}' | plus: 0.5 }}`, `"plus" cannot compute with ${long} and 0.5 without losing digits`],
    [`{{ '${long}' | divided_by: 2 }}`, `"divided_by" cannot compute with ${long} and 2`],
    [`{{ '${long}' | modulo: 0 }}`, `"modulo" cannot compute`],
    [`{{ '${long}.5' | round }}`, `"round" cannot compute with ${long}.5`],
    ["{{ '1e400' | plus: 1 }}", `"plus" cannot compute with 1e400`],
    [`{{ '1${"0".repeat(1000)}' | plus: 1 }}`, `"plus" cannot compute`],
    [`{{ '1${"0".repeat(900)}' | times: '1${"0".repeat(900)}' }}`, '"times" returns more than 1000 digits'],
    [`{{ ${long} }}`, `The number ${long} would lose digits: write it as text`],
    [`{% if in-0 == ${long} %}{% endif %}`, `The number ${long} would lose digits`],
  ])("fails and names the filter or number that would lose digits: %s", (source, message) => {
    expect(failureOf(() => render(source))).toMatchObject({
      code: "template_failed",
      message: expect.stringContaining(message),
    });
    if (message.startsWith("The number"))
      expect(checkTemplate(source)).toMatchObject({ ok: false, message: expect.stringContaining(message) });
  });

  it("renders as before in plans compiled under older rules", () => {
    const source = `{{ '${long}' | plus: 0 }} {{ ${long} }} {{ 0 | date: '%H:%M', 'Asia/Shanghai' }}`;
    expect(renderTemplate(source, scope({}), 2)).toBe("9007199254740992 9007199254740992 00:00");
  });

  it("takes the current time from the clock of its machine", () => {
    const seconds = Number(render("{{ 'now' | date: '%s' }}"));
    expect(Math.abs(seconds - Date.now() / 1_000)).toBeLessThan(5);
  });

  it("resolves reserved names before nodes of the same name", () => {
    expect(renderTemplate("{{ run.id }} {{ nodes.run }}", scope({ run: "node" }))).toBe("run-1 node");
  });

  it("keeps no variable from an earlier rendering", () => {
    const source = "{% increment c %}{{ x }}{% assign x = 1 %}{{ x }}";
    expect(render(source)).toBe("01");
    expect(render(source)).toBe("01");
  });
});

describe("a template that cannot be rendered", () => {
  it.each([
    ["{{ '%zz' | url_decode }}", /URI malformed \(line 1, column 1\)/],
    ["\n{{ 'a' | base64_decode }}", /invalid base64/],
    ["{{ in-0", /^Not a valid template: .*not closed/],
  ])("%s says why", (source, reason) => {
    const failure = failureOf(() => render(source));
    expect(failure.code).toBe("template_failed");
    expect(failure.message).toMatch(reason);
  });
});

describe("checking a template", () => {
  it.each<[string, readonly string[] | "*", boolean]>([
    ["plain text", [], true],
    ["{{in-0}} {{ in-0 | append: a.b }}", ["in-0", "a"], true],
    ['{{ nodes["llm-0"].text }}{{ nodes.x }}', ["llm-0", "x"], true],
    ["{{ inputs.a }}{{ run.id }}{{ item }}{{ index }}{{ last }}", [], true],
    ["{% if a == b %}{{ c }}{% elsif d %}{% else %}{{ e }}{% endif %}", ["a", "b", "d", "c", "e"], true],
    ["{% case a %}{% when b, 'x' %}{{ c }}{% endcase %}", ["a", "b", "c"], true],
    ["{% assign x = a %}{{ x }}{% capture y %}{{ b }}{% endcapture %}{{ y }}", ["a", "b"], false],
    ["{{ x }}{% assign x = 1 %}", ["x"], true],
    ["{% for i in a limit: b %}{{ i.c }}{{ forloop.index }}{{ d }}{% endfor %}{{ i }}", ["a", "b", "d", "i"], false],
    ["{% tablerow i in a %}{{ i }}{% endtablerow %}", ["a"], false],
    ["{% if c %}{% for i in a %}{% endfor %}{% endif %}", ["c", "a"], false],
    ["{{ (1..n) | join }}", ["n"], false],
    ["{% assign r = (1..5) %}", [], false],
    ["{% liquid\n for i in a\n echo i\n endfor %}", ["a"], false],
    ["{% cycle a, b %}{% echo c | default: d, allow_false: e %}", ["a", "b", "c", "d", "e"], false],
    ["{% assign x = a | append: b %}{{ x }}", ["a", "b"], false],
    ["{{ a | append: b | escape }}", ["a", "b"], false],
    ["{{ a | replace: b, c }}", ["a", "b", "c"], false],
    ["{{ a[b.c].d }}", ["b", "a"], true],
    ['{{ ["in-0"] }}', ["in-0"], true],
    ["{{ [a] }}", "*", true],
    ["{{ nodes[a] }}", "*", true],
    ["{{ nodes | json }}", "*", true],
    ["{{ nodes.size }}", "*", true],
    ["{% raw %}{{ a }}{% endraw %}{% comment %}{{ b }}{% endcomment %}", [], true],
  ])("%s reads %j, cheap to render: %s", (source, reads, cheap) => {
    expect(checkTemplate(source)).toMatchObject({ ok: true, reads });
    expect(Number.isFinite(templateWeight(source))).toBe(cheap);
  });

  it.each([
    ["{{ x | nope }}", /undefined filter: nope \(line 1, column 1\)/],
    ["a\n  {% nope %}", /tag "nope" not found \(line 2, column 3\)/],
    ["{{ x", /not closed/],
    ["{% if x %}", /not closed/],
    ["{{ x | append 'y' }}", /expected ":" after filter name/],
    ["{{ }}", /invalid value expression/],
    ["{% assign 1 %}", /expected/],
    ["{% for x of y %}{% endfor %}", /illegal tag/],
  ])("%j is refused with the reason and the position", (source, reason) => {
    const checked = checkTemplate(source);
    expect(checked.ok ? "" : checked.message).toMatch(reason);
    expect(checked.ok ? "" : checked.message).toMatch(/\(line \d+, column \d+\)$/);
  });
});

describe("any JSON value", () => {
  it("is written as JSON, and text unchanged", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = value as Json;
        const around = scope({ x: [json] });
        expect(renderTemplate("{{ x }}", around)).toBe(JSON.stringify([json]));
        expect(renderTemplate("{{ nodes.x | json }}", around)).toBe(JSON.stringify([json]));
        if (typeof json === "string") expect(renderTemplate("{{ x[0] }}|", around)).toBe(`${json}|`);
      }),
    );
  });
});
