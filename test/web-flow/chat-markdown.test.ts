import { describe, expect, it } from "vitest";
import { inlineOf, safeAddress } from "../../web/parts/markdown/inline.ts";
import { blocksOf, type Block } from "../../web/parts/markdown/blocks.ts";
import { piecesOf } from "../../web/parts/markdown/pieces.ts";

const kindsOf = (text: string): string[] => blocksOf(text).map(({ kind }) => kind);
const repeated = (part: string, length = 60_000): string =>
  part.repeat(Math.ceil(length / part.length)).slice(0, length);

describe("Markdown of a chat", () => {
  it("reads what models write", () => {
    const text = [
      "# Title",
      "First **bold _both_** line",
      "second *line* with `a ``b` and ~~gone~~",
      "",
      "1. one",
      "   - nested",
      "   - again",
      "2. two",
      "",
      "```ts",
      "const a = `1`;",
      "",
      "# no heading",
      "```",
      "> quoted",
      "",
      "| a | b |",
      "|---|:-:|",
      "| 1 | `x\\|y` |",
      "---",
    ].join("\n");
    expect(kindsOf(text)).toEqual(["heading", "paragraph", "list", "code", "quote", "table", "rule"]);
    const blocks = blocksOf(text);
    expect(blocks[2]).toMatchObject({ start: 1, items: [[{ text: "one" }, { kind: "list" }], [{ text: "two" }]] });
    expect(blocks[3]).toEqual({ kind: "code", text: "const a = `1`;\n\n# no heading" });
    expect(blocks[5]).toMatchObject({ head: ["a", "b"], rows: [["1", "`x|y`"]] });
    expect(inlineOf("First **bold _both_** line")).toEqual([
      "First ",
      { kind: "strong", children: ["bold ", { kind: "em", children: ["both"] }] },
      " line",
    ]);
    expect(inlineOf("***all*** snake_case_name 2 * 3 \\*no\\*")).toEqual([
      { kind: "strong", children: [{ kind: "em", children: ["all"] }] },
      " snake",
      "_",
      "case",
      "_",
      "name 2 ",
      "*",
      " 3 ",
      "*no",
      "*",
    ]);
  });

  it("makes links of web and mail addresses only, and of no picture", () => {
    const links = (text: string): unknown[] =>
      inlineOf(text).flatMap((part) => (typeof part === "object" && part.kind === "link" ? [part.href] : []));
    expect(links("[a](https://example.com/x_(y)) and https://example.org/a, <https://example.net/b>")).toEqual([
      "https://example.com/x_(y)",
      "https://example.org/a",
      "https://example.net/b",
    ]);
    expect(links("![tracked](https://example.com/p.png)")).toEqual(["https://example.com/p.png"]);
    const hostile = [
      "[a](javascript:alert(1))",
      "[a](JaVaScRiPt:alert(1))",
      "[a](data:text/html,<script>)",
      "[a](vbscript:x)",
      "[a](//example.com)",
      "[a](/v2/me)",
      "[a](java\nscript:alert(1))",
      "<javascript:alert(1)>",
    ];
    for (const text of hostile) expect(links(text), text).toEqual([]);
    expect(safeAddress("blob:https://example.com/x")).toBeNull();
    // No link within a link.
    expect(inlineOf("[a [b](https://example.com) c](https://example.org)")).toEqual([
      "[",
      "a ",
      { kind: "link", href: "https://example.com/", children: ["b"] },
      " c](",
      { kind: "link", href: "https://example.org/", children: ["https://example.org"] },
      ")",
    ]);
  });

  it("tells numbers of sources from links", () => {
    expect(inlineOf("So it is [2][13] and [4](https://example.com)")).toEqual([
      "So it is ",
      { kind: "cite", number: 2 },
      { kind: "cite", number: 13 },
      " and ",
      { kind: "link", href: "https://example.com/", children: ["4"] },
    ]);
  });

  it("keeps every character of a text without marks, and joins its pieces to the same text", () => {
    const text = repeated("A line of words.\n\n```\ncode\n\ncode\n```\n- item\n\n    ```\n\n    ```\n\n", 20_000);
    const pieces = piecesOf(text);
    expect(pieces.length).toBeGreaterThan(5);
    expect(pieces.join("\n")).toBe(text);
    // No piece begins within code.
    for (const piece of pieces.slice(0, -1)) expect((piece.match(/```/g) ?? []).length % 2).toBe(0);
    // While a text grows, its earlier pieces stay.
    expect(piecesOf(text.slice(0, 15_000)).slice(0, -1)).toEqual(
      pieces.slice(0, piecesOf(text.slice(0, 15_000)).length - 1),
    );
  });

  it("takes time and elements in proportion to the length of hostile texts", () => {
    const parts = [
      "[",
      "[a](",
      "*a **b ",
      "_a ",
      "***a",
      "> ",
      "- ",
      "1. ",
      "\\",
      "![a",
      "[a]: b\n",
      "<http://[",
      "https://[",
      "~~a",
      "`",
      "a` ``b ",
      "|a",
      "a|b\n-|-\n",
      "|\n",
      "[1]",
      "[a](http://[",
      "**a** ",
      "(*a_",
      "\n",
      "#",
      "# a\n",
      "> - ",
      "*a*",
      "`".repeat(50) + "a",
      "  ",
      "\t- a\n",
      "](",
      "](https://a",
      "<",
      "\u{1F600}",
      "```\n",
      "~~~ a\n- ",
      "]()",
      "[](",
      "* _ ** __ ~~",
    ];
    const count = (blocks: readonly Block[]): number =>
      blocks.reduce((sum, block) => {
        if (block.kind === "quote") return sum + 1 + count(block.blocks);
        if (block.kind === "list") return sum + block.items.reduce((all, item) => all + 1 + count(item), 1);
        if (block.kind === "table") return sum + block.rows.flat().length + block.head.length;
        return sum + ("text" in block ? inlineOf(block.text).length : 0) + 1;
      }, 0);
    const wide = `${"|a".repeat(500)}\n${"|-".repeat(500)}\n${repeated("a|\n", 30_000)}`;
    const nested = `${"*a **b ".repeat(3000)}${"** c* ".repeat(3000)}`;
    for (const text of [...parts.map((part) => repeated(part)), wide, nested]) {
      const began = performance.now();
      const elements = piecesOf(text).reduce((sum, piece) => sum + count(blocksOf(piece)), 0);
      const what = JSON.stringify(text.slice(0, 20));
      expect(elements, what).toBeLessThan(1.5 * text.length);
      // Quadratic work on 60,000 characters takes many seconds.
      expect(performance.now() - began, what).toBeLessThan(1000);
    }
  });

  it("draws no deeper than browsers can", () => {
    const depthOf = (value: unknown): number =>
      typeof value !== "object" || value === null
        ? 0
        : 1 + Object.values(value).reduce<number>((most, each) => Math.max(most, depthOf(each)), 0);
    const deep = [
      `${"> ".repeat(5000)}a`,
      `${"- ".repeat(5000)}a`,
      `${"*a **b ".repeat(500)}${"c** d* ".repeat(500)}`,
      Array.from({ length: 300 }, (_, at) => `${"  ".repeat(at)}- a`).join("\n"),
    ];
    for (const text of deep) {
      const blocks = blocksOf(text);
      expect(depthOf(blocks)).toBeLessThan(40);
      for (const block of blocks)
        if (block.kind === "paragraph") expect(depthOf(inlineOf(block.text))).toBeLessThan(40);
    }
  });
});
