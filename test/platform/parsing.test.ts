import { CHARSET_ROWS, META_PAGE } from "../support/charsets.ts";
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { createDeflate } from "node:zlib";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { createParseDocument } from "../../activities/parse-document.ts";
import {
  createDocumentParser,
  type DocumentParser,
  type DocumentRequest,
  type ParsedDocument,
} from "../../src/platform/parsing/document-parser.ts";
import { createFileBlobStore } from "../../src/platform/blobs/blobs.ts";
import { DocumentError } from "../../src/platform/parsing/errors.ts";
import { detectMime, isSupportedMime, SUPPORTED_MIME_TYPES } from "../../src/platform/parsing/mime.ts";
import { buildPdf, deflated } from "../fixtures/documents/pdf.ts";

const ORG = "018f0000-0000-7000-8000-000000000001";
const MIB = 1024 * 1024;

let parser: DocumentParser;

beforeAll(async () => {
  parser = createDocumentParser();
  await parser.warm();
  return () => parser.close();
});

async function parse(
  filename: string | null,
  bytes: Uint8Array | string,
  more: Partial<DocumentRequest> = {},
): Promise<ParsedDocument> {
  const source = { bytes: typeof bytes === "string" ? Buffer.from(bytes) : bytes };
  return await parser.parse({ orgId: ORG, source, filename, declared: null, ...more });
}

async function codeOf(filename: string | null, bytes: Uint8Array | string): Promise<string> {
  const error: unknown = await parse(filename, bytes).then(
    ({ text }) => expect.unreachable(`was read: ${text.slice(0, 100)}`),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DocumentError);
  // A message for people: one sentence without internal paths or code positions.
  expect((error as Error).message).toMatch(/^[A-Z].*\.$/s);
  expect((error as Error).message).not.toMatch(/node_modules|dist\/|\.js|\.mjs|at \w+ \(/);
  return (error as DocumentError).code;
}

/** Compressed blanks, created without holding them in memory. */
async function blanks(bytes: number): Promise<Buffer> {
  const chunk = Buffer.alloc(MIB, " ");
  return buffer(Readable.from(Array.from({ length: bytes / MIB }, () => chunk)).pipe(createDeflate({ level: 1 })));
}

/** A content stream of compressed bytes, compressed again until it has this many layers. */
const inLayers = (squeezed: Buffer, layers: number): { stream: Buffer; filter: string } => ({
  stream: deflated(squeezed, layers - 1).stream,
  filter: `[${"/FlateDecode ".repeat(layers)}]`,
});

const fixture = (name: string): Promise<Buffer> => readFile(new URL(`../fixtures/documents/${name}`, import.meta.url));

describe("documents: text", () => {
  it.each(CHARSET_ROWS)("reads %s", async (_, bytes, charset, text) => {
    const declared = charset === null ? {} : { declared: `text/plain; charset=${charset}` };
    expect(await parse("a.txt", bytes, declared)).toEqual({
      mime: "text/plain",
      text,
      title: null,
      pages: null,
      page_count: null,
      headings: [],
      properties: {},
      warnings: [],
    });
  });

  it("returns text that JSON and Postgres can store", async () => {
    const { text } = await parse("a.txt", "a\u0001b\r\nc\rd\te\u007f");
    expect(text).toBe("ab\nc\nd\te");
    expect((await parse("a.txt", Buffer.from("\ufeffx\ud800y", "utf16le"))).text).toBe("x\ufffdy");
  });

  it("takes the title of Markdown from its first heading", async () => {
    expect(await parse("README.md", "intro\n\n# The *title*\n\n## Not this")).toMatchObject({
      mime: "text/markdown",
      title: "The *title*",
    });
  });

  it("leaves CSV unchanged, however odd its quotes", async () => {
    const table = 'a;b,"c ""quoted"" \n two lines",\t"unclosed\n,,,"";"\n=1+1,@x';
    expect(await parse("table.csv", table)).toMatchObject({ mime: "text/csv", text: table });
  });

  it("proto-pollution: reads JSON with __proto__ as text", async () => {
    const text = '{"__proto__":{"polluted":1}}';
    expect((await parse("a.json", text)).text).toBe(text);
    expect({}).not.toHaveProperty("polluted");
  });

  it("reads the visible text of HTML, without scripts and styles", async () => {
    const page =
      "<html><head><title>The &amp; title</title><style>p{color:red}</style><script>alert('no')</script></head>" +
      "<body onload=\"fetch('x')\"><h1>Heading</h1><p>First<br>second</p><script>document.write('no')</script><noscript></noscript></body></html>";
    const { mime, title, text } = await parse("a.html", page);
    expect([mime, title]).toEqual(["text/html", "The & title"]);
    expect(text).toContain("Heading");
    expect(text).toContain("First");
    expect(text).not.toMatch(/alert|no'|color|fetch|</);
  });

  it("decodes HTML by its meta tag, unless another charset was declared", async () => {
    expect((await parse("a.html", META_PAGE.bytes)).text).toContain(META_PAGE.text);
    const declared = { declared: "text/html; charset=windows-1251" };
    expect((await parse("a.html", META_PAGE.bytes, declared)).text).toContain("Ђ “naпve”");
  });

  it.each([
    ["a.txt", ""],
    ["a.txt", " \n\t\r\n"],
    ["a.html", "<html><script>1</script></html>"],
    ["a.pdf", buildPdf([{ stream: Buffer.from("0 0 10 10 re f") }])],
  ])("reports %s as empty if it contains no words", async (name, bytes) => {
    expect(await codeOf(name, bytes)).toBe("document_empty");
  });

  it.each(["a.txt", "a.md", "a.csv", "a.html", "a.json", "a.pdf"])(
    "reports random bytes as broken: %s",
    async (name) => {
      // The first bytes exclude an accidental match with a file signature.
      expect(await codeOf(name, Buffer.concat([Buffer.from([1, 0]), randomBytes(100_000)]))).toBe("document_broken");
    },
  );

  it.each(['{"a":', "[1,2", "{'a':1}", "nul"])("reports invalid JSON: %s", async (text) => {
    expect(await codeOf("a.json", text)).toBe("document_broken");
  });

  it("rejects 30 MB of text, and accepts 24 MB", async () => {
    expect(await codeOf("a.txt", Buffer.alloc(30e6, "word "))).toBe("document_too_large");
    expect((await parse("a.txt", Buffer.alloc(24e6, "word "))).text.length).toBe(24e6);
    // Each Latin-1 letter above ASCII takes two bytes in UTF-8.
    expect(await codeOf("a.txt", Buffer.alloc(21 * MIB, Buffer.from("\xe9abc", "latin1")))).toBe("document_too_large");
  });

  it("deep-json: survives deep nesting", async () => {
    expect(["document_too_large", "document_broken"]).toContain(await codeOf("a.json", "[".repeat(8e6)));
    expect(await parse("a.html", "<div>".repeat(300_000) + "deep")).toMatchObject({
      text: expect.stringContaining("deep"),
    });
  });
});

describe("documents: PDF", () => {
  it("reads the title and the pages with their positions in the text", async () => {
    const pdf = buildPdf(["Hello (one) of \\050two\\051", "Second page"], { title: "The title" });
    const { text, pages, ...rest } = await parse("a.pdf", pdf);
    const properties = { title: "The title" };
    expect(rest).toEqual({
      mime: "application/pdf",
      title: "The title",
      properties,
      page_count: 2,
      headings: [],
      warnings: [],
    });
    expect(text).toBe("Hello (one) of (two)\n\nSecond page");
    expect(pages?.map(({ page, char_start, char_end }) => [page, text.slice(char_start, char_end)])).toEqual([
      [1, "Hello (one) of (two)"],
      [2, "Second page"],
    ]);
  });

  it("separates lines", async () => {
    const stream = Buffer.from(
      "BT /F1 12 Tf 72 700 Td (first line) Tj 0 -14 Td (second line) Tj 0 -40 Td (third) Tj ET",
    );
    expect((await parse("a.pdf", buildPdf([{ stream }]))).text).toMatch(/^first line\nsecond line\n+third$/);
  });

  it("reads compressed content, and Chinese and Japanese fonts", async () => {
    const content = Buffer.from("BT /F1 12 Tf 72 700 Td (squeezed) Tj ET");
    expect((await parse("a.pdf", buildPdf([deflated(content, 3)]))).text).toBe("squeezed");
    const { text, title } = await parse("japanese.pdf", await fixture("japanese.pdf"));
    expect(text).toContain("こんにちは世界");
    expect(text).toContain("中文文本");
    expect(title).toBe("日本 title");
  });

  it("recognises a PDF by its bytes, not by its name", async () => {
    expect((await parse("a.txt", buildPdf(["by magic"]))).text).toBe("by magic");
    expect((await parse(null, buildPdf(["by magic"]), { declared: "text/html" })).mime).toBe("application/pdf");
    expect((await parse("a.pdf", Buffer.concat([Buffer.from("junk\n".repeat(50)), buildPdf(["late"])]))).text).toBe(
      "late",
    );
  });

  it("reports an encrypted PDF", async () => {
    expect(await codeOf("encrypted.pdf", await fixture("encrypted.pdf"))).toBe("document_encrypted");
    const hex = (byte: string): string => `<${byte.repeat(32)}>`;
    const trailer = `/ID [${hex("00")} ${hex("00")}] /Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O ${hex("ab")} /U ${hex("cd")} >>`;
    expect(await codeOf("a.pdf", buildPdf(["secret"], { trailer }))).toBe("document_encrypted");
  });

  it("reads a truncated PDF in part, or reports it as broken", async () => {
    const whole = buildPdf(["One", "Two", "Three"]);
    for (const share of [0.02, 0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99]) {
      const cut = whole.subarray(0, Math.floor(whole.length * share));
      const result = await parse("a.pdf", cut).catch((error: unknown) => error);
      if (result instanceof DocumentError) expect(["document_broken", "document_empty"]).toContain(result.code);
      else expect((result as ParsedDocument).text).toContain("One");
    }
    expect(await codeOf("a.pdf", whole.subarray(0, whole.length / 2))).toBe("document_broken");
    expect(await codeOf("a.pdf", "%PDF-1.7\n")).toBe("document_broken");
  });

  it("reads the other pages if one is broken, with a warning", async () => {
    const pageTree = "<< /Type /Pages /Count 3 /Kids [5 0 R 99 0 R 7 0 R] >>";
    const result = await parse("a.pdf", buildPdf(["One", "Three"], { pageTree })).catch((error: unknown) => error);
    if (result instanceof DocumentError) expect(result.code).toBe("document_broken");
    else expect(result).toMatchObject({ text: expect.stringContaining("One"), warnings: expect.any(Array) });
  });

  it.each([
    ["pages that are not there", { pageTree: "<< /Type /Pages /Count 2000000000 /Kids [5 0 R] >>" }],
    ["a tree of pages that contains itself", { pageTree: "<< /Type /Pages /Count 5 /Kids [2 0 R 2 0 R] >>" }],
    ["no pages", { pageTree: "<< /Type /Pages /Count 0 /Kids [] >>" }],
    ["a tree that is a number", { pageTree: "7" }],
    ["a negative count", { pageTree: "<< /Type /Pages /Count -1 /Kids [5 0 R] >>" }],
  ])("survives %s", async (_, options) => {
    const result = await parse("a.pdf", buildPdf(["One"], options)).catch((error: unknown) => error);
    if (result instanceof DocumentError) expect(result.code).toMatch(/^document_(broken|too_large|empty|timeout)$/);
    else expect((result as ParsedDocument).text).toContain("One");
  });

  it("reads at most 2000 pages", async () => {
    const pages = Array.from({ length: 2001 }, (_, index) => `page ${index + 1}`);
    expect(await codeOf("a.pdf", buildPdf(pages))).toBe("document_too_large");
    const { page_count, text } = await parse("a.pdf", buildPdf(pages.slice(1)));
    expect(page_count).toBe(2000);
    expect(text.endsWith("page 2001")).toBe(true);
  });

  it("executes no script in a PDF", async () => {
    const catalog =
      "/OpenAction << /S /JavaScript /JS (this.constructor.constructor\\('process.exit\\(\\)'\\)\\(\\)) >>";
    expect((await parse("a.pdf", buildPdf(["Still here"], { catalog }))).text).toBe("Still here");
    const resources = "/XObject << /X 7 0 R >>";
    const form =
      "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 7 0 R >> >> /Length 5 >>\nstream\n/X Do\nendstream";
    const stream = Buffer.from("BT /F1 12 Tf 72 700 Td (before) Tj ET /X Do");
    const result = await parse("a.pdf", buildPdf([{ stream, resources }], { objects: [form] })).catch(
      (error: unknown) => error,
    );
    if (result instanceof DocumentError) expect(result.code).toMatch(/^document_(broken|too_large|timeout)$/);
    else expect((result as ParsedDocument).text).toContain("before");
  });
});

describe("pdf-bomb", () => {
  it("rejects hundreds of megabytes that are compressed into a small file, in one layer or three", async () => {
    const squeezed = await blanks(700 * MIB);
    for (const layers of [1, 3]) {
      const pdf = buildPdf([inLayers(squeezed, layers)]);
      expect(pdf.length).toBeLessThan(4 * MIB);
      // On a very busy machine the time limit may be reached before the memory limit.
      expect(["document_too_large", "document_timeout"]).toContain(await codeOf("a.pdf", pdf));
      expect((await parse("a.txt", "the parser lives")).text).toBe("the parser lives");
    }
  });

  it("stops a document that takes too long", async () => {
    const hasty = createDocumentParser({ timeoutMs: 300, size: 1 });
    try {
      await hasty.warm();
      const pdf = buildPdf([deflated(Buffer.from(`BT /F1 1 Tf ${"1 0 0 1 9 9 Tm (abc) Tj ".repeat(2e6)} ET`))]);
      const request = { orgId: ORG, filename: "a.pdf", declared: null };
      await expect(hasty.parse({ ...request, source: { bytes: pdf } })).rejects.toMatchObject({
        code: "document_timeout",
      });
      // Polled, because even a quick document takes longer while another test keeps the machine busy.
      const quick = { ...request, source: { bytes: buildPdf(["quick"]) } };
      await expect.poll(async () => (await hasty.parse(quick).catch(() => null))?.text).toBe("quick");
    } finally {
      await hasty.close();
    }
  });
});

describe("document parser", () => {
  it("reads files and blobs as streams", async () => {
    const folder = await mkdtemp(join(tmpdir(), "millrace-parsing-"));
    const blobs = await createFileBlobStore(join(folder, "blobs"));
    try {
      const pdf = buildPdf(["From a file"]);
      await writeFile(join(folder, "a.pdf"), pdf);
      const read = await parser.parse({
        orgId: ORG,
        source: { path: join(folder, "a.pdf") },
        filename: "a.pdf",
        declared: null,
      });
      expect(read.text).toBe("From a file");

      const parseDocument = createParseDocument({ parser, blobs });
      const { key } = await blobs.put(ORG, Buffer.concat([pdf, Buffer.alloc(20 * MIB, "%padding\n")]), {
        maxBytes: 30 * MIB,
      });
      const document = { org_id: ORG, filename: "a.pdf", declared: null };
      expect((await parseDocument({ ...document, content: { blob: key } })).text).toBe("From a file");
      await expect(parseDocument({ ...document, content: { bytes: Buffer.from("%PDF-") } })).rejects.toMatchObject({
        name: "NodeFailure",
        code: "document_broken",
        retryable: false,
      });
      const empty = await blobs.put(ORG, Buffer.alloc(0), { maxBytes: 1 });
      await expect(parseDocument({ ...document, content: { blob: empty.key } })).rejects.toMatchObject({
        code: "document_empty",
      });
      await blobs.delete(key);
      await expect(parseDocument({ ...document, content: { blob: key } })).rejects.toMatchObject({
        name: "BlobNotFound",
      });
    } finally {
      blobs.close();
      await rm(folder, { recursive: true });
    }
  });

  it("rejects types that it cannot read, and names the ones it can", async () => {
    const error = await parse("a.odt", Buffer.from("PK\u0003\u0004rest")).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "unsupported_type", message: expect.stringContaining("application/pdf") });
    expect(await codeOf("a.png", Buffer.from("\u0089PNG\r\n\u001a\n", "latin1"))).toBe("unsupported_type");
    expect(await codeOf("a.bin", randomBytes(10).fill(0))).toBe("unsupported_type");
  });

  it("rejects files above its limit without reading them", async () => {
    const source = {
      size: 129 * MIB,
      open: async () => [Buffer.from("%PDF-1.4")] as unknown as AsyncIterable<Uint8Array>,
    };
    await expect(parse("a.pdf", "", { source })).rejects.toMatchObject({ code: "document_too_large" });
  });

  it("retries a document once if its process was killed from outside", async () => {
    const own = createDocumentParser({ size: 1 });
    try {
      await own.warm();
      const kill = (): void => {
        for (const pid of own.stats().busy) process.kill(pid, "SIGKILL");
      };
      const slow = buildPdf(Array.from({ length: 1500 }, () => "a page"));
      const request = { orgId: ORG, source: { bytes: slow }, filename: "a.pdf", declared: null };
      const reading = own.parse(request);
      await vi.waitFor(() => expect(own.stats().busy.length).toBe(1));
      await delay(20);
      kill();
      expect((await reading).page_count).toBe(1500);

      const killing = setInterval(kill, 5);
      const again = own.parse(request).finally(() => clearInterval(killing));
      await expect(again).rejects.toMatchObject({ code: "document_broken" });
      expect((await own.parse({ ...request, source: { bytes: buildPdf(["fine"]) } })).text).toBe("fine");
    } finally {
      await own.close();
    }
  });

  it("stops when its signal aborts", async () => {
    const stop = new AbortController();
    const reason = new Error("cancelled");
    const pdf = buildPdf([inLayers(await blanks(200 * MIB), 1)]);
    const reading = parse("a.pdf", pdf, { signal: stop.signal });
    setTimeout(() => stop.abort(reason), 50);
    await expect(reading).rejects.toBe(reason);
  });

  it("reads 50 documents at the same time", async () => {
    const texts = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => (await parse("a.pdf", buildPdf([`Document ${index}`]))).text),
    );
    expect(texts).toEqual(Array.from({ length: 50 }, (_, index) => `Document ${index}`));
  });
});

describe("the type of a file", () => {
  const text = Buffer.from("some words");
  it.each<[string | null, string | null, Buffer, string]>([
    ["a.PDF", null, text, "application/pdf"],
    ["a.txt", "application/pdf", text, "text/plain"],
    ["a.md", "text/plain", text, "text/markdown"],
    ["a.csv", "application/vnd.ms-excel", text, "text/csv"],
    ["a.htm", null, text, "text/html"],
    ["a.json", "text/html", text, "application/json"],
    ["a.jsonl", null, text, "text/plain"],
    ["a.b.c.txt", null, text, "text/plain"],
    [
      "a.docx",
      "application/pdf",
      Buffer.from("PK\u0003\u0004"),
      "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ],
    ["a.txt", null, Buffer.from("PK\u0003\u0004"), "application/zip"],
    ["a.pdf", "application/pdf", Buffer.from("\u00ff\u00d8\u00ff\u00e0", "latin1"), "image/jpeg"],
    ["a.exe", "text/plain", Buffer.from("MZ\u0090\u0000", "latin1"), "application/x-executable"],
    ["README", null, text, "text/plain"],
    ["README", "text/markdown; charset=utf-8", text, "text/markdown"],
    ["__proto__", null, text, "text/plain"],
    ["a.unknown", null, text, "application/octet-stream"],
    ["a.unknown", "text/plain", text, "text/plain"],
    [null, "application/pdf", text, "text/plain"],
    [null, "application/xhtml+xml", text, "text/html"],
    [null, "application/json", text, "application/json"],
    [null, "image/png", text, "text/plain"],
    [null, "text/plain", Buffer.from("a\u0000b"), "text/plain"],
    [null, "text/plain", Buffer.from("a\u0000\u0001".repeat(9)), "application/octet-stream"],
    [null, "text/plain", Buffer.from("{\\rtf1\\ansi Text}"), "application/rtf"],
    ["a.txt", null, Buffer.from("From: a@b.c\r\nMIME-Version: 1.0\r\nSubject: x\r\n y\r\n\r\nText"), "message/rfc822"],
    ["a.eml", "text/plain", text, "message/rfc822"],
    ["a.txt", null, Buffer.from("From: a\nTo: b\n\nA memo"), "text/plain"],
    ["a.mbox", "text/plain", text, "application/mbox"],
    [null, "text/plain", Buffer.from("\ufeffab", "utf16le"), "text/plain"],
    [null, null, Buffer.from("\ufeff \n<!DOCTYPE HTML><p>x"), "text/html"],
    [null, null, Buffer.alloc(0), "application/octet-stream"],
  ])("%j declared as %j", (filename, declared, bytes, expected) => {
    expect(detectMime(filename, declared, bytes)).toBe(expected);
    expect(isSupportedMime(expected)).toBe((SUPPORTED_MIME_TYPES as readonly string[]).includes(expected));
  });
});
