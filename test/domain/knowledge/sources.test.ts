import { expect, it } from "vitest";
import type { Citation } from "../../../src/domain/knowledge/citations.ts";
import { citedIn, numberedFrom } from "../../../src/domain/knowledge/sources.ts";

const cited = (index: number, resource_path: string): Citation => ({
  index,
  resource_path,
  knowledge_base_id: "kb",
  resource_id: "r",
  source_url: null,
  chunk_id: `c${index}`,
  page_start: null,
  page_end: null,
  char_start: 0,
  char_end: 1,
  score: 1,
});

it("renumbering passages continues from a number and leaves their text unchanged", () => {
  const found = {
    text: "[1] a.txt\nsee [2] and [1] a.txt\n\n[2] b.txt, page 3\nmore",
    citations: [cited(1, "a.txt"), cited(2, "b.txt")],
  };
  expect(numberedFrom(found, 0)).toEqual(found);
  const { text, citations } = numberedFrom(found, 5);
  expect(text).toBe("[6] a.txt\nsee [2] and [1] a.txt\n\n[7] b.txt, page 3\nmore");
  expect(citations.map(({ index }) => index)).toEqual([6, 7]);
});

it("citations are the sources whose numbers the answer contains, each once; unknown numbers are ignored", () => {
  const sources = [cited(1, "a"), cited(2, "b"), cited(3, "c")];
  const numbers = (answer: string) => citedIn(answer, sources).map(({ index }) => index);
  expect(numbers("It is so [3], and so [1][3]. See [9], [x], [] and [1.5].")).toEqual([1, 3]);
  expect(numbers("Both [1, 2]; twice [2;2]")).toEqual([1, 2]);
  expect(numbers("Nothing")).toEqual([]);
});
