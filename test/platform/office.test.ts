import { beforeAll, describe, expect, it } from "vitest";
import {
  createDocumentParser,
  type DocumentParser,
  type ParsedDocument,
} from "../../src/platform/parsing/document-parser.ts";
import { DocumentError } from "../../src/platform/parsing/errors.ts";
import { buildZip } from "../fixtures/documents/zip.ts";

const ORG = "018f0000-0000-7000-8000-000000000001";
const MIB = 1024 * 1024;
let parser: DocumentParser;

beforeAll(async () => {
  parser = createDocumentParser();
  await parser.warm();
  return () => parser.close();
});

const parse = (filename: string, bytes: Uint8Array): Promise<ParsedDocument> =>
  parser.parse({ orgId: ORG, source: { bytes }, filename, declared: null });

async function codeOf(filename: string, bytes: Uint8Array): Promise<string> {
  const error: unknown = await parse(filename, bytes).then(
    ({ text }) => `was read: ${text.slice(0, 100)}`,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof DocumentError)) return String(error);
  expect(error.message).not.toMatch(/node_modules|dist\/|\.js|at \w+ \(/);
  return error.code;
}

const RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
const relations = (...targets: readonly (readonly [string, string, string])[]): string =>
  `<Relationships xmlns="${RELATIONS}">${targets.map(([id, type, target]) => `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`).join("")}</Relationships>`;
const paragraph = (text: string, style?: string): string =>
  `<w:p>${style ? `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>` : ""}<w:r><w:t>${text}</w:t></w:r></w:p>`;

function docx(body: string, more: Parameters<typeof buildZip>[0] = {}, prolog = ""): Buffer {
  return buildZip({
    "_rels/.rels": relations(["r1", "officeDocument", "word/document.xml"]),
    "word/document.xml": `<?xml version="1.0"?>${prolog}<w:document xmlns:w="${W}"><w:body>${body}</w:body></w:document>`,
    "word/styles.xml": `<w:styles xmlns:w="${W}"><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>`,
    "word/_rels/document.xml.rels": relations(["s1", "styles", "styles.xml"]),
    ...more,
  });
}

function xlsx(sheet: string, more: Parameters<typeof buildZip>[0] = {}): Buffer {
  return buildZip({
    "xl/workbook.xml": `<workbook xmlns:r="${OFFICE}"><sheets><sheet name="Water levels" sheetId="1" r:id="r1"/></sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": relations(["r1", "worksheet", "worksheets/sheet1.xml"]),
    "xl/styles.xml": '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
    "xl/sharedStrings.xml": "<sst><si><t>Place</t></si><si><r><t>We</t></r><r><t>ir</t></r></si></sst>",
    "xl/worksheets/sheet1.xml": sheet.startsWith("<")
      ? `<worksheet><sheetData>${sheet}</sheetData></worksheet>`
      : sheet,
    ...more,
  });
}

function pptx(): Buffer {
  const slide = (title: string, text: string): string =>
    `<p:sld xmlns:p="p" xmlns:a="a"><p:sp><p:nvPr><p:ph type="title"/></p:nvPr><a:p><a:r><a:t>${title}</a:t></a:r></a:p></p:sp>
     <p:sp><p:nvPr><p:ph idx="1"/></p:nvPr><a:p><a:r><a:t>${text}</a:t></a:r></a:p><a:p><a:fld><a:t>7</a:t></a:fld></a:p></p:sp></p:sld>`;
  return buildZip({
    "ppt/presentation.xml": `<p:presentation xmlns:p="p" xmlns:r="${OFFICE}"><p:sldIdLst><p:sldId id="1" r:id="r2"/><p:sldId id="2" r:id="r1"/></p:sldIdLst></p:presentation>`,
    "ppt/_rels/presentation.xml.rels": relations(
      ["r1", "slide", "slides/slide1.xml"],
      ["r2", "slide", "slides/slide2.xml"],
    ),
    "ppt/slides/slide1.xml": slide("Second", "Said later."),
    "ppt/slides/slide2.xml": slide("First", "Said at once."),
    "ppt/slides/_rels/slide2.xml.rels": relations(["n1", "notesSlide", "../notesSlides/notes1.xml"]),
    "ppt/notesSlides/notes1.xml": '<p:notes xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>A note.</a:t></a:r></a:p></p:notes>',
    "docProps/core.xml":
      '<cp:coreProperties xmlns:cp="c" xmlns:dc="d"><dc:title>The talk</dc:title></cp:coreProperties>',
  });
}

function epub(chapter: string, more: Parameters<typeof buildZip>[0] = {}, prolog = ""): Buffer {
  return buildZip({
    mimetype: "application/epub+zip",
    "META-INF/container.xml": `<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>`,
    "OEBPS/book.opf": `<?xml version="1.0"?>${prolog}<package xmlns:dc="d"><metadata><dc:title>On mills</dc:title></metadata>
      <manifest><item id="b" href="text/second%20part.xhtml" media-type="application/xhtml+xml"/><item id="a" href="../first.xhtml" media-type="application/xhtml+xml"/>
      <item id="x" href="x.xhtml" media-type="application/xhtml+xml"/><item id="i" href="i.png" media-type="image/png"/></manifest>
      <spine><itemref idref="a"/><itemref idref="b"/><itemref idref="b"/><itemref idref="i"/><itemref idref="none"/><itemref idref="x"/></spine></package>`,
    "first.xhtml": chapter,
    "OEBPS/text/second part.xhtml": "<html><body><h2>Races</h2><p>They lead water.</p></body></html>",
    "OEBPS/i.png": "no text",
    ...more,
  });
}

describe("documents: EPUB", () => {
  const CHAPTER =
    "<html><head><title>x</title></head><body><h1>Mills</h1><p>They grind.</p><script>no()</script></body></html>";

  it("reads chapters in order, each once, with headings", async () => {
    const { mime, title, text, headings, pages, warnings } = await parse("book.epub", epub(CHAPTER));
    expect([mime, title, pages]).toEqual(["application/epub+zip", "On mills", null]);
    expect(text).toBe("Mills\nThey grind.\n\nRaces\nThey lead water.");
    expect(headings.map(({ level, char_start, char_end }) => [level, text.slice(char_start, char_end)])).toEqual([
      [1, "Mills"],
      [2, "Races"],
    ]);
    expect(warnings).toEqual(["A chapter is missing."]);
  });

  it("reports a book that is broken, empty or protected", async () => {
    for (const bytes of [Buffer.from("not at all"), buildZip({ "a.txt": "x" }), epub(CHAPTER).subarray(0, 400)]) {
      expect(await codeOf("book.epub", bytes)).toBe("document_broken");
    }
    expect(await codeOf("book.epub", epub(CHAPTER, { "OEBPS/book.opf": "<package><spine>" }))).toBe("document_broken");
    expect(await codeOf("book.epub", epub("", { "OEBPS/text/second part.xhtml": "" }))).toBe("document_empty");
    const method = (algorithm: string): Parameters<typeof buildZip>[0] => ({
      "META-INF/encryption.xml": `<encryption xmlns:enc="e"><enc:EncryptedData><enc:EncryptionMethod Algorithm="${algorithm}"/></enc:EncryptedData></encryption>`,
    });
    expect(await codeOf("book.epub", epub(CHAPTER, method("http://www.w3.org/2001/04/xmlenc#aes128-cbc")))).toBe(
      "document_encrypted",
    );
    expect((await parse("book.epub", epub(CHAPTER, method("http://www.idpf.org/2008/embedding")))).text).toMatch(
      /grind/,
    );
  });

  it("zip-bomb: rejects a book that unpacks to too much, or claims a false size", async () => {
    const claimed = { "first.xhtml": { content: "x", claims: 300 * MIB } };
    expect(await codeOf("book.epub", epub("", claimed))).toBe("document_too_large");
    const lies = { "first.xhtml": { content: Buffer.alloc(8 * MIB, "x"), claims: 1000 } };
    expect(["document_broken", "document_too_large"]).toContain(await codeOf("book.epub", epub("", lies)));
    const long = { "first.xhtml": { content: Buffer.alloc(26 * MIB, "abcdefghijklmnopqrstuvwxyz abcd ") } };
    expect(await codeOf("book.epub", epub("", long))).toBe("document_too_large");
    expect((await parse("book.epub", epub(CHAPTER))).text).toMatch(/grind/);
  });

  it("XXE, path-traversal: reads no file or entity that a book names", async () => {
    const doctype = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>';
    expect(await codeOf("book.epub", epub(CHAPTER, {}, doctype))).toBe("document_broken");
    const { text } = await parse("book.epub", epub(`${doctype}<html><body><p>before &e; after</p></body></html>`));
    expect(text).not.toMatch(/root:/);
    const opf = (href: string): string =>
      `<package><manifest><item id="a" href="${href}" media-type="text/html"/></manifest><spine><itemref idref="a"/></spine></package>`;
    for (const href of ["../../../../etc/passwd", "file:///etc/passwd", "http://127.0.0.1/", "%E0%A4%A"]) {
      expect(await codeOf("book.epub", epub(CHAPTER, { "OEBPS/book.opf": opf(href) }))).toBe("document_empty");
    }
  });
});

describe("documents: Office", () => {
  it("reads DOCX with its headings", async () => {
    const { text, headings, pages } = await parse(
      "a.docx",
      docx(paragraph("Mills", "Heading1") + paragraph("They grind.")),
    );
    expect([text, pages]).toEqual(["Mills\nThey grind.", null]);
    expect(headings).toEqual([{ level: 1, char_start: 0, char_end: 5 }]);
  });

  it("reads XLSX: sheet names, shared texts, dates and gaps", async () => {
    const rows =
      '<row><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>Height</t></is></c></row>' +
      '<row><c r="A2" t="s"><v>1</v></c><c r="B2" s="1"><v>46022</v></c><c r="C2"><v>2.5</v></c><c r="D2" t="b"><v>1</v></c></row>';
    const { text, headings } = await parse("a.xlsx", xlsx(rows));
    expect(text).toBe("Water levels\nPlace\t\tHeight\nWeir\t2025-12-31\t2.5\tTRUE\n");
    expect(headings).toEqual([{ level: 1, char_start: 0, char_end: 12 }]);
  });

  it("reads PPTX: slides as pages in order, with notes", async () => {
    const { text, pages, headings, title } = await parse("a.pptx", pptx());
    expect(title).toBe("The talk");
    expect(pages?.map(({ char_start, char_end }) => text.slice(char_start, char_end))).toEqual([
      "First\nSaid at once.\nA note.",
      "Second\nSaid later.",
    ]);
    expect(headings.map(({ char_start, char_end }) => text.slice(char_start, char_end))).toEqual(["First", "Second"]);
  });

  it("reports a file of another format, content-confusion included", async () => {
    for (const name of ["a.docx", "a.xlsx", "a.pptx"]) {
      expect(await codeOf(name, Buffer.from("<html>not at all</html>"))).toBe("document_broken");
      expect(await codeOf(name, buildZip({ "other.txt": "x" }))).toBe("document_broken");
      expect(await codeOf(name, docx(paragraph("x")).subarray(0, 300))).toBe("document_broken");
      expect(await codeOf(name, Buffer.from("d0cf11e0a1b11ae1".repeat(64), "hex"))).toBe("document_encrypted");
    }
    expect(await codeOf("a.xlsx", docx(paragraph("x")))).toBe("document_broken");
  });

  it("zip-bomb: rejects a document that unpacks to too much, or claims a false size", async () => {
    const blanks = Buffer.alloc(64 * MIB, " ");
    for (const [format, name] of [
      ["a.docx", "word/document.xml"],
      ["a.xlsx", "xl/workbook.xml"],
      ["a.pptx", "ppt/presentation.xml"],
    ] as const) {
      expect(await codeOf(format, buildZip({ [name]: { content: "x", claims: 300 * MIB } }))).toBe(
        "document_too_large",
      );
    }
    // Unpacking stops when a file exceeds its claimed length.
    const lies = await codeOf("a.xlsx", buildZip({ "xl/workbook.xml": { content: blanks, claims: 1000 } }));
    expect(["document_broken", "document_too_large"]).toContain(lies);
    const many = Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`f${index}`, ""]));
    expect(await codeOf("a.docx", buildZip(many))).toBe("document_too_large");
    // The limit applies before text is extracted, because empty paragraphs produce no text.
    expect(await codeOf("a.docx", docx("<w:p/>".repeat(11_500_000)))).toBe("document_too_large");
    expect(await codeOf("a.docx", docx(paragraph("x".repeat(26 * MIB))))).toBe("document_too_large");
    expect((await parse("a.docx", docx(paragraph("The parser lives.")))).text).toBe("The parser lives.");
  });

  it("noisy-neighbour: stops as soon as a small file unpacks to too much text or too many files", async () => {
    const shared = { "xl/sharedStrings.xml": `<sst><si><t>${"mill ".repeat(6000)}</t></si></sst>` };
    const cells = xlsx(`<row>${'<c t="s"><v>0</v></c>'.repeat(300_000)}</row>`, shared);
    expect(cells.length).toBeLessThan(64 * 1024);
    await expect(parse("a.xlsx", cells)).rejects.toThrow("text is longer than 25 MiB");
    const sheets = buildZip({
      "xl/workbook.xml": `<workbook xmlns:r="${OFFICE}"><sheets>${'<sheet name="s" r:id="r1"/>'.repeat(10_000)}</sheets></workbook>`,
      "xl/_rels/workbook.xml.rels": relations(["r1", "worksheet", "worksheets/sheet1.xml"]),
      "xl/worksheets/sheet1.xml": `<worksheet>${" ".repeat(8 * MIB)}</worksheet>`,
    });
    expect(sheets.length).toBeLessThan(64 * 1024);
    await expect(parse("a.xlsx", sheets)).rejects.toThrow("more than 256 MiB of content");
  });

  it("XXE: reads no file or entity that a document names", async () => {
    const doctype = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd"><!ENTITY l "lol">]>';
    const read = await parse("a.docx", docx(paragraph("before &e; &l; after"), {}, doctype)).catch(
      (error: unknown) => error,
    );
    if (read instanceof DocumentError) expect(read.code).toBe("document_broken");
    else expect((read as ParsedDocument).text).not.toMatch(/root:|lol/);
    const sheet = `<?xml version="1.0"?>${doctype}<worksheet><sheetData><row><c t="str"><v>&e;</v></c></row></sheetData></worksheet>`;
    expect(await codeOf("a.xlsx", xlsx("", { "xl/worksheets/sheet1.xml": sheet }))).toBe("document_broken");
  });

  it("style-map ReDoS: ignores the style map in a document", async () => {
    const map = `p[style-name='${"a".repeat(50_000)}${"\\".repeat(50_000)} => ${"h1.".repeat(100_000)}`;
    const started = performance.now();
    const { text } = await parse("a.docx", docx(paragraph("Quick."), { "mammoth/style-map": map }));
    expect(text).toBe("Quick.");
    expect(performance.now() - started).toBeLessThan(30_000);
  });
});
