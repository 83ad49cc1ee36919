import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NodeFailure } from "../../../../src/domain/runs/failure.ts";
import { checkTemplate, renderTemplate } from "../../../../src/domain/flow/expressions/liquid/liquid.ts";
import type { Json } from "../../../../src/domain/json.ts";
import { failureOf } from "../../../support/failures.ts";
import { scope } from "../../../support/scope.ts";

const INHERITED = [
  ...new Set(
    [Object.prototype, Array.prototype, String.prototype, Function.prototype].flatMap((prototype) =>
      Object.getOwnPropertyNames(prototype),
    ),
  ),
].filter((name) => name !== "length");

const often = (text: string, times: number): string => text.repeat(times);

describe("a template with small values", () => {
  it.each([
    ["{{ (1..100000) | size }} {{ (1..3) | join }}", "100000 1 2 3"],
    ["{% for i in (1..n) reversed %}{{ i }}{% endfor %}", "321"],
    ["{{ (3..1) | size }}{{ (a..3) | size }}{{ (1..o) | size }}", "000"],
    ["{{ l | sort | join }} {{ t | sort_natural | join }} {{ o2 | sort: 'n' | map: 'n' | join }}", "1 2 3 a B c 1 2 "],
    ["{{ one | plus: one }} {{ '4' | times: '2' }} {{ x | plus: 1 }}", "10 8 1"],
    ["{{ 'abcd' | slice: 1, '2' }} {{ l | slice: -2, 2 | join }} {{ 'abcdef' | truncate: '5' }}", "bc 1 2 ab..."],
    ["{% for p in e limit: 1 %}{{ p[0] }}{% endfor %}{{ e.size }}{{ e['a'] }}{{ l[0] }}{{ l.size }}", "a2133"],
  ])("stays within its budget: %s", (source, text) => {
    const o2 = [{ n: 2 }, {}, { n: 1 }];
    const small = { n: 3, o: {}, l: [3, 1, 2], t: ["c", "a", "B"], o2, one: [5], e: { a: 1, b: 2 } };
    expect(renderTemplate(source, scope(small))).toBe(text);
  });

  it("cannot write more than 25 MiB, quotes and escapes included", () => {
    const longest = "x".repeat(25 * 1024 * 1024 - 2);
    expect(renderTemplate("{{ t | upcase }}", scope({ t: longest }))).toHaveLength(longest.length);
    expect(failureOf(() => renderTemplate("{{ t }}x", scope({ t: longest }))).code).toBe("value_too_large");
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
    ["an open quote", `{{ "${"a".repeat(100_000)}`, /not closed/],
  ])("is refused: %s", (_, source, reason) => {
    const start = performance.now();
    const checked = checkTemplate(source);
    expect(checked.ok ? "" : checked.message).toMatch(reason);
    expect(performance.now() - start).toBeLessThan(25_000);
  });

  it("is parsed in linear time: comments of many lines", () => {
    const start = performance.now();
    expect(renderTemplate(`a{% # ${"\n".repeat(500_000)} %}b`, scope())).toBe("ab");
    expect(performance.now() - start).toBeLessThan(25_000);
  });
});

describe("expression-escape", () => {
  it.each(["include 'package.json'", "render 'package.json'", "layout 'package.json'", "block a"])(
    "no other template is ever loaded: %s",
    (tag) => {
      const checked = checkTemplate(`{% ${tag} %}`);
      expect(checked.ok ? "" : checked.message).toMatch(/tag "\w+" not found/);
    },
  );

  it.each(INHERITED)("inherited fields cannot be read: %s", (name) => {
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
    "the filter %s does not exist",
    (name) => {
      expect(checkTemplate(`{{ x | ${name} }}`)).toMatchObject({ ok: false });
    },
  );
});

describe("double-render", () => {
  it.each(["{{7*7}}", "{{ secret }}", "{% assign x = secret %}{{ x }}", "{% raw %}", "nodes.secret"])(
    "user input is data: %s",
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

  it("fields named like an object's built-in ones are data", () => {
    const around = scope({ hostile });
    expect(
      renderTemplate("{{ hostile.__proto__.polluted }} {{ hostile.constructor }} {{ hostile.then }}", around),
    ).toBe("true c 2");
    expect(renderTemplate("{{ hostile }}", around)).toBe(JSON.stringify(hostile));
    expect(renderTemplate("{{ hostile.polluted }}", around)).toBe("");
  });

  it("variables with such names exist only in one rendering", () => {
    const source = [
      "{% assign __proto__ = hostile %}{% assign constructor = 1 %}{% increment __proto__ %}",
      "{% capture prototype %}x{% endcapture %}{% for __proto__ in list %}{% endfor %}",
      "{% for x in list __proto__: hostile %}{% endfor %}{{ polluted }}",
    ].join("");
    expect(() => renderTemplate(source, scope({ hostile, list: [hostile] }))).not.toThrow();
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(renderTemplate("{{ constructor }}{{ prototype }}{{ polluted }}", scope())).toBe("");
  });

  it("rendering never changes the values that it reads", () => {
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

describe("any text", () => {
  const fails = (source: string): void => {
    const around = scope({ a: { b: [1, "x"], text: "t" }, l: [1, [2], { a: 1 }], s: "text" });
    const checked = checkTemplate(source);
    try {
      expect(typeof renderTemplate(source, around)).toBe("string");
      expect(checked.ok).toBe(true);
    } catch (error) {
      expect(error).toBeInstanceOf(NodeFailure);
    }
  };

  it("either renders or fails as a node failure", () => {
    const soup = fc.array(fc.constantFrom(...PIECES), { maxLength: 14 });
    fc.assert(
      fc.property(
        soup.map((parts) => parts.join(" ")),
        fails,
      ),
      { numRuns: 300 },
    );
    fc.assert(
      fc.property(
        soup.map((parts) => `{{ ${parts.slice(0, 5).join(" ")} }}`),
        fails,
      ),
      { numRuns: 300 },
    );
    fc.assert(
      fc.property(
        soup.map((parts) => `{% ${parts.slice(0, 5).join(" ")} %}`),
        fails,
      ),
      { numRuns: 300 },
    );
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 40 }), fails));
  });
});
