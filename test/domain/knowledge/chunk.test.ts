import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chunkText, type ChunkedText } from "../../../src/domain/knowledge/chunk.ts";
import type { NewChunk } from "../../../src/domain/knowledge/knowledge-base.ts";

const words = fc.constantFrom(
  "word",
  "Dr. Who",
  "end. ",
  "Why?",
  "\n",
  "\n\n",
  " ",
  "\t",
  "😀",
  "字。",
  "é",
  "x".repeat(70),
);
const anyText = fc.oneof(
  fc.array(words, { maxLength: 300 }).map((parts) => parts.join("")),
  fc.string({ unit: "binary" }),
);
const params = fc
  .record({
    chunk_size: fc.integer({ min: 50, max: 400 }),
    share: fc.double({ min: 0, max: 0.99, noNaN: true }),
    chunker_type: fc.constantFrom("naive" as const, "sentence" as const),
  })
  .map(({ chunk_size, share, chunker_type }) => ({
    chunk_size,
    chunk_overlap: Math.floor(chunk_size * share),
    chunker_type,
  }));
type Params = Parameters<typeof chunkText>[1];

const plain = (text: string): ChunkedText => ({ text, pages: null, headings: [] });
const chunksOf = (source: ChunkedText, given: Params): NewChunk[] => [...chunkText(source, given)];

describe("chunks", () => {
  it("cover the whole text in order, within the size limit, and never split a surrogate pair", () => {
    fc.assert(
      fc.property(anyText, params, (text, given) => {
        const chunks = chunksOf(plain(text), given);
        let covered = 0;
        for (const [index, chunk] of chunks.entries()) {
          expect(chunk.chunk_index).toBe(index);
          expect(text.slice(chunk.char_start, chunk.char_end)).toBe(chunk.text);
          expect(chunk.text.trim()).toBe(chunk.text);
          expect(chunk.text.length).toBeGreaterThan(0);
          expect(chunk.text.length).toBeLessThanOrEqual(given.chunk_size);
          expect(chunk.text.isWellFormed()).toBe(text.isWellFormed() || chunk.text.isWellFormed());
          expect(text.slice(covered, Math.max(covered, chunk.char_start)).trim()).toBe("");
          expect(chunk.char_end).toBeGreaterThan(index === 0 ? 0 : covered - 1);
          covered = chunk.char_end;
        }
        expect(text.slice(covered).trim()).toBe("");
      }),
      { numRuns: 400 },
    );
  });

  it.each(["naive", "sentence"] as const)("never cut an emoji in half (%s)", (chunker_type) => {
    // Without spaces, cuts fall between characters; the extra letter shifts them from even to odd positions.
    for (const before of ["", "x"]) {
      const text = before + "😀".repeat(3000);
      for (const [chunk_size, chunk_overlap] of [
        [50, 0],
        [51, 17],
        [20_000, 0],
      ] as const) {
        const chunks = chunksOf(plain(text), { chunk_size, chunk_overlap, chunker_type });
        expect(chunks.every((chunk) => chunk.text.isWellFormed())).toBe(true);
        expect(chunks.at(-1)?.char_end).toBe(text.length);
      }
    }
  });

  it("overlap by no more than the setting", () => {
    fc.assert(
      fc.property(anyText, params, (text, given) => {
        const chunks = chunksOf(plain(text), given);
        for (const [index, chunk] of chunks.slice(1).entries()) {
          const before = chunks[index] as NewChunk;
          expect(before.char_end - chunk.char_start).toBeLessThanOrEqual(given.chunk_overlap + 1);
        }
      }),
    );
  });

  it("consist of whole sentences; the last ones of a chunk repeat in the next", () => {
    const text = "The mill stands still. The river runs dry. Nobody knows why. Everyone asks.";
    const given: Params = { chunk_size: 50, chunk_overlap: 25, chunker_type: "sentence" };
    expect(chunksOf(plain(text), given).map((chunk) => chunk.text)).toEqual([
      "The mill stands still. The river runs dry.",
      "The river runs dry. Nobody knows why.",
      "Nobody knows why. Everyone asks.",
    ]);
  });

  it("know the headings above them and end before the next heading if they are long enough", () => {
    const text = `# Mills\nA mill grinds. It has a wheel of wood.\n## Races\nWater runs to the wheel. ${"It is wet. ".repeat(6)}\n# Rivers\nThey flow.`;
    const at = (line: string, level: number) => ({
      level,
      char_start: text.indexOf(line),
      char_end: text.indexOf(line) + line.length,
    });
    const headings = [at("# Mills", 1), at("## Races", 2), at("# Rivers", 1)];
    const given: Params = { chunk_size: 60, chunk_overlap: 20, chunker_type: "sentence" };
    const chunks = chunksOf({ text, pages: null, headings }, given);
    expect(chunks[0]).toMatchObject({ context: "", text: expect.stringContaining("# Mills") });
    const races = chunks.filter((chunk) => chunk.context === "Mills > Races");
    expect(races.length).toBeGreaterThan(0);
    expect(chunks.find((chunk) => chunk.text.startsWith("## Races"))?.context).toBe("Mills");
    expect(chunks.at(-1)?.text).toBe("# Rivers\nThey flow.");
    // The heading with which a chunk begins is one of its headings, for readers of search results.
    expect(chunks.find((chunk) => chunk.text.startsWith("## Races"))?.metadata).toEqual({
      headings: ["Mills", "Races"],
    });
    expect(chunks.at(-1)?.metadata).toEqual({ headings: ["Rivers"] });
  });

  it("know which pages they are on", () => {
    const pages = ["First page here.", "The second one is here.", "The third page."];
    const text = pages.join("\n\n");
    let at = 0;
    const places = pages.map((page, index) => {
      const char_start = at;
      at += page.length + 2;
      return { page: index + 1, char_start, char_end: char_start + page.length };
    });
    const given: Params = { chunk_size: 50, chunk_overlap: 0, chunker_type: "sentence" };
    const chunks = chunksOf({ text, pages: places, headings: [] }, given);
    expect(chunks.map((chunk) => [chunk.page_start, chunk.page_end])).toEqual([
      [1, 2],
      [3, 3],
    ]);
  });

  it("take time linear in the length of the text", () => {
    const started = performance.now();
    const given: Params = { chunk_size: 1500, chunk_overlap: 500, chunker_type: "sentence" };
    for (const text of ["a".repeat(2e6), "a. ".repeat(7e5), "\n".repeat(2e6), "😀".repeat(1e6)]) {
      for (const _ of chunkText(plain(text), given)) expect(performance.now() - started).toBeLessThan(60_000);
    }
  });
});
