import { describe, expect, it } from "vitest";
import { readable } from "../../src/cli/terminal.ts";
import { beginning, marksIn, showMarks } from "../../src/domain/marks.ts";

describe("direction-marks: a text that people read before they decide", () => {
  it.each([
    ["an override", "annual\u202Efdp.exe", "annual⟨U+202E⟩fdp.exe"],
    ["an isolate", "\u2066admin\u2069", "⟨U+2066⟩admin⟨U+2069⟩"],
    ["marks of direction", "a\u200E\u200F\u061Cb", "a⟨U+200E⟩⟨U+200F⟩⟨U+061C⟩b"],
    ["no width", "pay\u200Bpal\uFEFF\u2060", "pay⟨U+200B⟩pal⟨U+FEFF⟩⟨U+2060⟩"],
    ["a joiner between Latin letters", "pay\u200Dpal\u200C", "pay⟨U+200D⟩pal⟨U+200C⟩"],
    ["a soft hyphen and a filler", "a\u00ADb\u3164", "a⟨U+00AD⟩b⟨U+3164⟩"],
    ["tags", "a\u{E0041}", "a⟨U+E0041⟩"],
    ["controls", "a\u0000\u001B[8mb\u009B", "a⟨U+0000⟩⟨U+001B⟩[8mb⟨U+009B⟩"],
    ["a selector that nothing asks for", "a\uFE0F", "a⟨U+FE0F⟩"],
  ])("shows a sign for %s", (_, text, shown) => {
    expect(showMarks(text)).toBe(shown);
    expect(marksIn(text + text)).toEqual([...new Set([...shown.matchAll(/⟨(.*?)⟩/g)].map(([, sign]) => sign))]);
  });

  it.each([
    ["plain lines", "a\tb\r\nc — “d” é e\u0301"],
    ["Hebrew, Arabic and the end of an ayah", "שלום العقد\u06DD"],
    ["Persian and Sinhala joiners", "می\u200Cخواهم ශ්\u200Dරී"],
    ["emoji", "❤️ 1️⃣ 👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽"],
    ["a Japanese name", "葛\u{E0100}城"],
  ])("is unchanged if it contains %s", (_, text) => {
    expect([showMarks(text), marksIn(text)]).toEqual([text, []]);
  });

  it("keeps the colours of the command line and no other escape", () => {
    const coloured = "\u001B[1m\u001B[32mpass\u001B[39m\u001B[22m";
    expect(readable(`${coloured} \u202E\u001B[8m`)).toBe(`${coloured} ⟨U+202E⟩⟨U+001B⟩[8m`);
  });

  it("is processed in linear time", () => {
    for (const piece of ["\u200D", "ශ්\u200D", "👩\u200D", "a\u202E"])
      expect(showMarks(piece.repeat(100_000))).toBeTruthy();
  });
});

describe("the beginning of a text", () => {
  it.each([
    ["a short text whole", "abc", 3, "abc"],
    ["no half of a pair", "ab😀c", 3, "ab"],
    ["no half of a letter and its accent", "abe\u0301c", 3, "ab"],
    ["no half of a family", `ab👩‍👩‍👧‍👦c`, 6, "ab"],
    ["no half of a flag", "🇩🇪🇫🇷", 6, "🇩🇪"],
    ["a character that is longer than the room", "👩‍👩‍👧‍👦", 3, "👩\u200D"],
    ["no half of a pair in a character that never ends", "👩\u200D".repeat(50), 100, "👩\u200D".repeat(33)],
    ["a character that never ends", `e${"\u0301".repeat(1000)}`, 500, `e${"\u0301".repeat(499)}`],
  ])("has %s", (_, text, units, start) => {
    expect(beginning(text, units)).toBe(start);
  });
});
