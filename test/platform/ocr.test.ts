import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import {
  createDocumentParser,
  type DocumentParser,
  type ParsedDocument,
} from "../../src/platform/parsing/document-parser.ts";
import { DocumentError } from "../../src/platform/parsing/errors.ts";
import { readOcrData } from "../../src/platform/ocr/ocr-data.ts";
import { buildPdf } from "../fixtures/documents/pdf.ts";
import { buildScan, drawText, pngOfSize } from "../fixtures/documents/scan.ts";

const ORG = "018f0000-0000-7000-8000-000000000001";
const LINES = ["The mill grinds grain", "between two stones."];
const TEXT = /The mill grinds grain\s+between two stones\./;

let parser: DocumentParser;
beforeAll(() => {
  parser = createDocumentParser();
  return () => parser.close();
});

const parse = (filename: string, bytes: Uint8Array, ocr = true, by = parser): Promise<ParsedDocument> =>
  by.parse({ orgId: ORG, source: { bytes }, filename, declared: null, ocr });

async function failureOf(work: Promise<ParsedDocument>): Promise<DocumentError> {
  const error: unknown = await work.then(
    ({ text }) => expect.unreachable(`was read: ${text.slice(0, 100)}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof DocumentError)) throw error;
  expect(error.message).not.toMatch(/node_modules|dist\/|\.js|at \w+ \(/);
  return error;
}

describe("character recognition", () => {
  it.each(["image/png", "image/jpeg", "image/webp"] as const)("reads the text of %s", async (format) => {
    const { mime, text, page_count } = await parse("scan", drawText(LINES, format));
    expect({ mime, page_count }).toEqual({ mime: format, page_count: null });
    expect(text).toMatch(TEXT);
  });

  it("reads the pages of a PDF that have no text, and leaves the others unchanged", async () => {
    const scan = drawText(LINES, "image/jpeg");
    const { text, pages, warnings } = await parse("a.pdf", buildScan(["First page", { scan }, "Third page"]));
    expect(warnings).toEqual([]);
    const texts = (pages ?? []).map(({ char_start, char_end }) => text.slice(char_start, char_end));
    expect(texts).toEqual(["First page", expect.stringMatching(TEXT), "Third page"]);
    expect(pages?.map(({ page }) => page)).toEqual([1, 2, 3]);
  });

  it("reads a PDF of scans only, which is empty without recognition", async () => {
    const scan = buildScan([{ scan: drawText(LINES, "image/jpeg") }]);
    expect((await parse("a.pdf", scan)).text).toMatch(TEXT);
    expect((await failureOf(parse("a.pdf", scan, false))).code).toBe("document_empty");
    const image = await failureOf(parse("a.png", drawText(LINES, "image/png"), false));
    expect([image.code, image.message]).toEqual(["unsupported_type", expect.stringMatching(/ocr/)]);
  });

  it("reports a blank page and a blank picture as empty", async () => {
    expect((await failureOf(parse("a.pdf", buildPdf([{ stream: Buffer.from("0 0 10 10 re f") }])))).code).toBe(
      "document_empty",
    );
    expect((await failureOf(parse("a.png", drawText([], "image/png")))).code).toBe("document_empty");
  });

  it("rejects a PDF with more pages than it reads before it starts", async () => {
    const blank = { stream: Buffer.from("0 0 10 10 re f") };
    const { code, message } = await failureOf(parse("a.pdf", buildPdf(Array.from({ length: 201 }, () => blank))));
    expect([code, message]).toEqual(["document_too_large", expect.stringMatching(/201 pages .* 200/)]);
  });

  it.each([
    ["zip-bomb: a picture of 60 000 x 60 000 pixels", pngOfSize(60_000, 60_000), /document_(broken|too_large)/],
    ["a picture that is cut off", drawText(LINES, "image/jpeg").subarray(0, 400), /document_(broken|empty)/],
    [
      "a picture that is none",
      Buffer.concat([Buffer.from("\u0089PNG\r\n\u001a\n", "latin1"), Buffer.alloc(5000, 7)]),
      /document_broken/,
    ],
    [
      // If the page just fits into the limits, it is drawn but has no text.
      "pdf-bomb: a page that is painted without end",
      pageOf("0 0 600 700 re f ".repeat(2_000_000)),
      /document_(timeout|too_large|empty)/,
    ],
  ])("%s affects no other document", async (_, bytes, code) => {
    const name = bytes.subarray(0, 4).toString() === "%PDF" ? "a.pdf" : "a.png";
    expect((await failureOf(parse(name, bytes))).code).toMatch(code);
    expect((await parse("scan.png", drawText(LINES, "image/png"))).text).toMatch(TEXT);
  });

  it("model-file: missing or altered language data is not loaded, and the error says so", async () => {
    const folder = await mkdtemp(join(tmpdir(), "millrace-ocr-"));
    const other = createDocumentParser({ ocrDataDir: folder });
    try {
      const missing = await failureOf(parse("a.png", drawText(LINES, "image/png"), true, other));
      expect([missing.code, missing.message]).toEqual(["ocr_not_configured", expect.stringMatching(/is missing/)]);
      await writeFile(join(folder, "eng.traineddata.gz"), "something else");
      expect(readOcrData(folder)).toEqual({ no: expect.stringMatching(/SHA-256 differs/) });
      expect((await failureOf(parse("a.png", drawText(LINES, "image/png"), true, other))).code).toBe(
        "ocr_not_configured",
      );
      // A page that has text needs no recognition.
      expect((await parse("a.pdf", buildPdf(["Some text"]), true, other)).text).toBe("Some text");
    } finally {
      await other.close();
      await rm(folder, { recursive: true });
    }
  });
});

function pageOf(content: string): Buffer {
  return buildPdf([{ stream: Buffer.from(content) }]);
}
