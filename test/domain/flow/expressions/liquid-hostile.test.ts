import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NodeFailure } from "../../../../src/domain/runs/failure.ts";
import { checkTemplate, renderTemplate } from "../../../../src/domain/flow/expressions/liquid/liquid.ts";
import type { Json } from "../../../../src/domain/json.ts";
import { failureOf } from "../../../support/failures.ts";
import { scope } from "../../../support/scope.ts";

const numbers = Array.from({ length: 300_000 }, (_, index) => index);
const costly = scope({
  l: numbers,
  pairs: numbers.map((n) => [n]),
  big: "a".repeat(8 * 1024 * 1024),
  copy: `${"a".repeat(8 * 1024 * 1024 - 1)}b`,
  half: `b${"a".repeat(4 * 1024 * 1024)}`,
  amp: "&".repeat(8 * 1024 * 1024),
  blank: " ".repeat(8 * 1024 * 1024),
  members: Object.fromEntries(numbers.map((n) => [`m${n}`, n])),
  words: "a ".repeat(12 * 1024 * 1024),
  digits: "1".repeat(8 * 1024 * 1024),
  rows: numbers.slice(0, 1_000).map(() => numbers.slice(0, 300)),
  texts: numbers.map((n) => `Text ${(n * 7919) % 300_007}`),
  wrapped: [numbers],
  objects: [{ members: Object.fromEntries(numbers.map((n) => [`m${n}`, n])) }],
  one: [{ n: 1 }],
  huge: 130_000_000,
  low: "1",
  high: "130000000",
});

const INHERITED = [
  ...new Set(
    [Object.prototype, Array.prototype, String.prototype, Function.prototype].flatMap((prototype) =>
      Object.getOwnPropertyNames(prototype),
    ),
  ),
].filter((name) => name !== "length");

const often = (text: string, times: number): string => text.repeat(times);

describe("a template that would take too long", () => {
  it.each([
    ["nested loops", "{% for i in l %}{% for j in l %}x{% endfor %}{% endfor %}"],
    ["nested loops that write nothing", "{% for i in l %}{% for j in l %}{% endfor %}{% endfor %}"],
    ["a long range", "{% for i in (1..1000000000) %}x{% endfor %}"],
    ["a range that is one too long", "{{ (1..100001) | size }}"],
    ["a long range of which little is taken", "{% for i in (1..130000000) limit: 1 %}x{% endfor %}"],
    ["a long range of values", "{% for i in (1..huge) %}x{% endfor %}"],
    ["a long range of texts", "{% for i in (low..high) %}x{% endfor %}"],
    ["a long range, backwards", "{% for i in (1..huge) reversed limit: 1 offset: 2 %}x{% endfor %}"],
    ["a long range that is assigned", "{% assign x = (1..huge) %}"],
    ["a long range below zero", "{% assign x = -1 | times: huge %}{{ (x..0.5) | first }}"],
    ["a range without end", "{% assign x = 1 | divided_by: 0 %}{{ (0..x) | size }}"],
    ["a range from nowhere", "{% assign x = -1 | divided_by: 0 %}{{ (x..0) | size }}"],
    ["a long range in a filter", "{{ l | concat: (1..huge) | size }}"],
    ["a long range as a bound", "{% for i in (1..(1..huge).size) %}x{% endfor %}"],
    ["a long range in brackets", "{{ l[(1..huge).first] }}"],
    ["a long range in a condition", "{% if (1..huge) contains 5 %}{% endif %}"],
    ["a long range in a table", "{% tablerow i in (1..huge) cols: 2 limit: 1 %}x{% endtablerow %}"],
    ["a long range in a cycle", "{% cycle (1..huge), 2 %}"],
    ["a long range in a case", "{% case 1 %}{% when (1..huge) %}{% endcase %}"],
    ["a long range in a path", "{{ one | map: 'n' }}{{ one | where: '[(1..130000000)]' }}"],
    ["ranges in ranges", "{% for i in (1..100000) %}{% for j in (1..100000) %}{% endfor %}{% endfor %}"],
    ["range after range", often("{% assign x = (1..100000) %}", 10_000)],
    ["captured output", "{% capture x %}{% for i in l %}{{ big }}{% endfor %}{% endcapture %}"],
    ["text that doubles", `{% assign x = 'aa' %}${often("{% assign x = x | append: x %}", 60)}{{ x }}`],
    ["replacing every character by a long text", "{{ big | replace: 'a', big }}"],
    ["replacing one after the other", `{{ 'aa'${often(" | replace: 'a', 'aaaaaaaaaa'", 12)} }}`],
    ["removing a long text from a long text", often("{{ big | remove: half }}", 100)],
    ["looking for a long text backwards", often("{{ big | remove_last: half }}", 100)],
    ["looking for a long text", often("{% if big contains half %}{% endif %}", 2_000)],
    ["splitting into characters", "{{ big | split: '' | size }}"],
    ["escaping", "{{ amp | escape | escape | escape }}"],
    ["lists that double", `{% assign x = l %}${often("{% assign x = x | concat: x %}", 60)}{{ x | size }}`],
    ["lists that hold themselves", `{% assign x = one %}${often("{% assign x = x | push: x %}", 60)}{{ x }}`],
    [
      "groups that hold themselves",
      `{% assign x = one %}${often("{% assign x = x | concat: x | group_by: 'n' | map: 'items' %}", 60)}{% if x == x %}{% endif %}`,
    ],
    ["sorting again and again", often("{{ l | sort | size }}", 1_000)],
    ["searching in each element", often("{{ l | where: 'x', 1 | size }}", 100)],
    ["comparing long lists", often("{% if pairs == pairs %}{% endif %}", 5_000)],
    ["comparing long texts", often("{% if big == copy %}{% endif %}", 5_000)],
    ["ordering long texts", often("{% if big < copy %}{% endif %}", 5_000)],
    ["cases of long texts", often("{% case big %}{% when copy %}{% endcase %}", 3_000)],
    ["cases of long lists", often("{% case pairs %}{% when pairs %}{% endcase %}", 3_000)],
    ["looking whether a text is made of white space", often("{% if nodes['blank'] == blank %}{% endif %}", 5_000)],
    ["looking whether an object is empty", often("{% if members == empty %}{% endif %}", 5_000)],
    ["counting members", often("{{ members | size }}", 5_000)],
    ["writing JSON", often("{{ l | json }}", 5_000)],
    ["numbers of long texts", often("{{ digits | plus: 1 }}{{ digits | round }}", 2_000)],
    ["ordering long lists", often("{% if l < l %}{% endif %}", 1_000)],
    ["counting members by name", often("{{ members.size }}", 5_000)],
    ["counting members of elements", often("{{ objects | map: 'members.size' }}", 5_000)],
    ["long names of members", often("{{ one[big] }}{{ one[copy] }}", 5_000)],
    ["going through members", often("{% for m in members limit: 1 %}{% endfor %}", 1_000)],
    ["going through members in a table", often("{% tablerow m in members limit: 1 %}{% endtablerow %}", 1_000)],
    ["slicing where a long text says", often("{{ big | slice: digits, digits }}", 1_000)],
    ["truncating where a long text says", often("{{ big | truncate: digits }}", 1_000)],
    ["skipping as many as a long list says", often("{% for m in one offset: l %}{% endfor %}", 1_000)],
    ["columns of a long text", "{% tablerow m in l cols: digits %}{% endtablerow %}"],
    ["groups of cycles that are long lists", often("{% cycle l: 1, 2 %}", 1_000)],
    ["cycles of many", `{% for i in l %}{% cycle i: ${often("1,", 100_000)} 2 %}{% endfor %}`],
    ["sorting long lists", often("{{ rows | sort | size }}", 100)],
    ["sorting texts naturally", often("{{ texts | sort_natural | size }}", 100)],
    ["sorting by a long path", `{{ pairs | sort: "${often("a.", 127)}a" | size }}`],
    ["looking up a long path", `{{ pairs | where: "${often("a[", 80)}a${often("]", 80)}" | size }}`],
    ["grouping by a long path", `{{ pairs | group_by: "${often("a[", 80)}a${often("]", 80)}" | size }}`],
    ["adding up long lists", often("{{ wrapped | sum }}", 1_000)],
    ["comparing members with empty", often("{{ objects | where: 'members', empty | size }}", 1_000)],
    ["squeezing a long text", "{{ words | squish }}"],
    ["wide dates", often(`{% assign x = 0 | date: "${often("%99Y", 50)}" %}{{ x | append: big }}`, 1_000)],
  ])("stops: %s", (_, source) => {
    const start = performance.now();
    const failure = failureOf(() => renderTemplate(source, costly));
    expect(["template_failed", "value_too_large"]).toContain(failure.code);
    expect(failure.message).toMatch(
      /too much work|too many rounds|longer than|too long|at most 100000 elements|is a number/,
    );
    // Without limits these take from many seconds to for ever, or all memory.
    expect(performance.now() - start).toBeLessThan(25_000);
  });

  it("stops at its time limit where it has loops", () => {
    const start = performance.now();
    const source = "{% for i in l %}{% for j in l %}{% endfor %}{% endfor %}";
    const failure = failureOf(() => renderTemplate(source, costly, { renderMs: 50 }));
    expect(failure.code).toBe("template_failed");
    expect(failure.message).toMatch(/longer than 50 ms/);
    expect(performance.now() - start).toBeLessThan(25_000);
  });

  it.each([
    ["{{ (1..100000) | size }} {{ (1..3) | join }}", "100000 1 2 3"],
    ["{% for i in (1..n) reversed %}{{ i }}{% endfor %}", "321"],
    ["{{ (3..1) | size }}{{ (a..3) | size }}{{ (1..l) | size }}{{ (1..o) | size }}", "0000"],
    ["{{ (1.5..3) | join }} {{ (0.5..0) | join }} {{ ('2'..'3') | join }}", "1.5 2.5 3.5 0.5 2 3"],
    ["{{ (9007199254740992..9007199254740994) | size }}", "3"],
  ])("gives ranges what they need: %s", (source, text) => {
    expect(renderTemplate(source, scope({ n: 3, l: [1, 2], o: {} }))).toBe(text);
  });

  it.each([
    ["{{ l | sort | join }} {{ t | sort_natural | join }} {{ o | sort: 'n' | map: 'n' | join }}", "1 2 3 a B c 1 2 "],
    ["{{ one | plus: one }} {{ l | plus: 1 }} {{ '4' | times: '2' }} {{ x | plus: 1 }}", "10 1 8 1"],
    ["{{ 'abcd' | slice: 1, '2' }} {{ l | slice: -2, 2 | join }} {{ 'abcdef' | truncate: '5' }}", "bc 1 2 ab..."],
    ["{% for p in e limit: 1 %}{{ p[0] }}{% endfor %}{{ e.size }}{{ e['a'] }}{{ l[0] }}{{ l.size }}", "a2133"],
    ["{{ l[l] }}{{ [l] }}{{ e[e] }}|{% cycle l: 1, 2 %}{% cycle l: 1, 2 %}{% if l < l %}x{% endif %}", "|12"],
  ])("takes nothing from what is small: %s", (source, text) => {
    const small = { l: [3, 1, 2], t: ["c", "a", "B"], o: [{ n: 2 }, {}, { n: 1 }], one: [5], e: { a: 1, b: 2 } };
    expect(renderTemplate(source, scope(small))).toBe(text);
  });

  it("leaves room for the longest value", () => {
    const longest = "x".repeat(25 * 1024 * 1024 - 2);
    expect(renderTemplate("{{ t | upcase }}", scope({ t: longest }))).toHaveLength(longest.length);
    const people = numbers.slice(0, 100_000).map((n) => ({ n }));
    expect(renderTemplate("{{ people | sort: 'n' | map: 'n' | join: ',' | size }}", scope({ people }))).toBe("588889");
  });

  it("cannot write more than 25 MiB, quotes and escapes included", () => {
    const failure = failureOf(() => renderTemplate("{{ t }}x", scope({ t: "x".repeat(25 * 1024 * 1024 - 2) })));
    expect(failure.code).toBe("value_too_large");
    const escapes = "\n".repeat(13 * 1024 * 1024);
    expect(failureOf(() => renderTemplate("{{ t }}", scope({ t: escapes }))).code).toBe("value_too_large");
  });
});

describe("a template of hostile size", () => {
  it.each([
    ["long", "x".repeat(1024 * 1024 + 1), /at most 1048576 characters/],
    ["many outputs", often("{{a}}", 10_001), /at most 10000 tags/],
    ["nested tags", often("{% if 1 %}", 65) + often("{% endif %}", 65), /nested deeper than 64/],
    ["deeply nested tags", often("{% if 1 %}", 5_000) + often("{% endif %}", 5_000), /nested/],
    ["nested brackets", `{{ ${often("a[", 9_000)}`, /not closed|nested|too long/],
    [
      "a range",
      "{% if x %}{% for i in (1..100001) %}x{% endfor %}{% endif %}",
      /A range has at most 100000 elements|is a number/,
    ],
    ["a range in brackets", "{{ l[(-5000000..5000000).size] }}", /A range has at most 100000 elements|is a number/],
    ["an open quote", `{{ "${"a".repeat(100_000)}`, /not closed/],
  ])("is refused: %s", (_, source, reason) => {
    const start = performance.now();
    const checked = checkTemplate(source);
    expect(checked.ok ? "" : checked.message).toMatch(reason);
    expect(performance.now() - start).toBeLessThan(25_000);
  });

  it("is parsed in linear time: remarks of many lines", () => {
    const start = performance.now();
    expect(renderTemplate(`a{% # ${"\n".repeat(500_000)} %}b`, scope())).toBe("ab");
    expect(performance.now() - start).toBeLessThan(25_000);
  });
});

describe("expression-escape", () => {
  it.each(["include 'package.json'", "render 'package.json'", "layout 'package.json'", "block a"])(
    "no other template is ever looked for: %s",
    (tag) => {
      const checked = checkTemplate(`{% ${tag} %}`);
      expect(checked.ok ? "" : checked.message).toMatch(/tag "\w+" not found/);
    },
  );

  it.each(INHERITED)("nothing inherited is seen: %s", (name) => {
    const around = scope({ a: {}, l: [], s: "text", n: 1, x: { a: 1 } });
    for (const root of ["nodes", "a", "l", "s", "n", "run", "inputs"]) {
      expect(renderTemplate(`[{{ ${root}["${name}"] }}]`, around)).toBe("[]");
    }
    expect(renderTemplate(`[{{ ${name} }}{{ ["${name}"] }}]`, around)).toBe("[]");
    expect(renderTemplate(`{% if x contains "${name}" or x["${name}"] %}yes{% endif %}`, around)).toBe("");
    expect(renderTemplate(`{{ l | push: x | map: "${name}" | compact | size }}`, around)).toBe("0");
    expect(renderTemplate(`{{ l | push: x | where: "${name}" | size }}`, around)).toBe("0");
    expect(renderTemplate(`{{ l | push: x | find: "${name}" }}`, around)).toBe("");
  });

  it.each(["where_exp", "reject_exp", "group_by_exp", "has_exp", "find_exp", "find_index_exp", "sample", "sha256"])(
    "there is no filter %s",
    (name) => {
      expect(checkTemplate(`{{ x | ${name} }}`)).toMatchObject({ ok: false });
    },
  );
});

describe("double-render", () => {
  it.each(["{{7*7}}", "{{ secret }}", "{% assign x = secret %}{{ x }}", "{% raw %}", "nodes.secret"])(
    "what a user typed is data: %s",
    (typed) => {
      const around = scope({ typed, secret: "s3cret", list: [{ typed }] }, { inputs: { typed } });
      expect(renderTemplate("{{ typed }}", around)).toBe(typed);
      expect(renderTemplate("{{ inputs.typed | append: '' | strip }}", around)).toBe(typed);
      expect(renderTemplate("{% capture x %}{{ typed }}{% endcapture %}{{ x }}", around)).toBe(typed);
      expect(renderTemplate("{% assign x = typed %}{% echo x %}", around)).toBe(typed);
      expect(renderTemplate("{% for x in list %}{{ x.typed }}{% endfor %}", around)).toBe(typed);
      for (const filter of [
        "date: typed",
        "map: typed",
        "where: typed",
        "sort: typed",
        "default: typed",
        "replace: 'x', typed",
      ]) {
        expect(renderTemplate(`{{ list | ${filter} }}{{ typed | ${filter} }}`, around)).not.toContain("s3cret");
      }
    },
  );
});

describe("proto-pollution", () => {
  const hostile = JSON.parse('{"__proto__": {"polluted": true}, "constructor": "c", "toLiquid": 1, "then": 2}') as Json;

  it("members that look like an object's own works are data", () => {
    const around = scope({ hostile });
    expect(
      renderTemplate("{{ hostile.__proto__.polluted }} {{ hostile.constructor }} {{ hostile.then }}", around),
    ).toBe("true c 2");
    expect(renderTemplate("{{ hostile }}", around)).toBe(JSON.stringify(hostile));
    expect(renderTemplate("{{ hostile.polluted }}", around)).toBe("");
  });

  it("variables of such names are variables of this rendering", () => {
    const source = [
      "{% assign __proto__ = hostile %}{% assign constructor = 1 %}{% increment __proto__ %}",
      "{% capture prototype %}x{% endcapture %}{% for __proto__ in list %}{% endfor %}",
      "{% for x in list __proto__: hostile %}{% endfor %}{{ polluted }}",
    ].join("");
    expect(() => renderTemplate(source, scope({ hostile, list: [hostile] }))).not.toThrow();
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(renderTemplate("{{ constructor }}{{ prototype }}{{ polluted }}", scope())).toBe("");
  });

  it("never changes the values it is given", () => {
    const freeze = (value: unknown): unknown => {
      if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(freeze);
      return value;
    };
    const frozen = scope(freeze({ l: [3, 1, 2], o: { a: { b: 1 } }, n: 1 }) as Record<string, Json>);
    const source = [
      "{{ l | sort | reverse | push: 4 | shift | unshift: 9 | uniq | compact | join }}",
      "{% increment n %}{{ nodes.n }}{% assign l = 1 %}",
    ].join("");
    expect(renderTemplate(source, frozen)).toBe("9 2 1 401");
  });
});

const PIECES = [
  ..."{{ }} {% %} {%- -%} | : , . [ ] ( ) .. == != > contains and or not".split(" "),
  ..."a a.b l s nodes inputs nodes.a 'x' 1 2.5 nil empty blank true forloop x".split(" "),
  ..."if unless case when else elsif for in endfor endif endcase assign = capture endcapture raw endraw liquid".split(
    " ",
  ),
  ..."cycle increment tablerow endtablerow comment endcomment echo # break continue limit: offset: reversed".split(" "),
  ..."append: replace: split: join map: where: date: slice: truncate: sort json default: size first sum".split(" "),
  ...'" \\ __proto__ constructor {{a}} {{l| {%for(x)in(l)%} {%endfor%}'.replaceAll(/[()]/g, " ").split(" "),
];

describe("any text at all", () => {
  const fails = (source: string): void => {
    const around = scope({ a: { b: [1, "x"], text: "t" }, l: [1, [2], { a: 1 }], s: "text" });
    const checked = checkTemplate(source);
    try {
      expect(typeof renderTemplate(source, around, { renderMs: 1_000 })).toBe("string");
      expect(checked.ok).toBe(true);
    } catch (error) {
      expect(error).toBeInstanceOf(NodeFailure);
    }
  };

  it("is rendered or fails as a node does", () => {
    const soup = fc.array(fc.constantFrom(...PIECES), { maxLength: 14 });
    fc.assert(
      fc.property(
        soup.map((parts) => parts.join(" ")),
        fails,
      ),
      { numRuns: 700 },
    );
    fc.assert(
      fc.property(
        soup.map((parts) => `{{ ${parts.slice(0, 5).join(" ")} }}`),
        fails,
      ),
      { numRuns: 700 },
    );
    fc.assert(
      fc.property(
        soup.map((parts) => `{% ${parts.slice(0, 5).join(" ")} %}`),
        fails,
      ),
      { numRuns: 700 },
    );
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 40 }), fails));
  });
});
