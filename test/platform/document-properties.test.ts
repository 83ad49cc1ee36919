import { describe, expect, it } from "vitest";
import { readDocument } from "../../src/platform/parsing/read-document.ts";
import type { ReadDocument } from "../../src/platform/parsing/protocol.ts";
import type { SupportedMimeType } from "../../src/platform/parsing/mime.ts";
import { buildPdf } from "../fixtures/documents/pdf.ts";
import { buildZip } from "../fixtures/documents/zip.ts";

const read = (mime: SupportedMimeType, bytes: Uint8Array | string): Promise<ReadDocument> =>
  readDocument(
    { mime, charset: null, scans: false },
    typeof bytes === "string" ? new Uint8Array(Buffer.from(bytes)) : new Uint8Array(bytes),
  );

const OFFICE = "application/vnd.openxmlformats-officedocument";
const W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
const TYPE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const relation = (type: string, target: string): string =>
  `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="${TYPE}/${type}" Target="${target}"/></Relationships>`;

const CORE = `<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t"><dc:title>On  mills</dc:title><dc:creator>Ada Weir</dc:creator>
  <cp:keywords>mills; rivers</cp:keywords><dcterms:created>2024-03-01T08:00:00Z</dcterms:created><dcterms:modified>2025-01-02T03:04:05Z</dcterms:modified></cp:coreProperties>`;
const CUSTOM = `<Properties xmlns:vt="v"><property fmtid="x" pid="2" name="Department"><vt:lpwstr>Millers</vt:lpwstr></property></Properties>`;
const PROPERTIES = {
  title: "On mills",
  author: "Ada Weir",
  keywords: "mills; rivers",
  created: "2024-03-01T08:00:00Z",
  modified: "2025-01-02T03:04:05Z",
  department: "Millers",
};

function docx(body: string): Buffer {
  return buildZip({
    "_rels/.rels": relation("officeDocument", "word/document.xml"),
    "word/document.xml": `<w:document xmlns:w="${W}"><w:body>${body}</w:body></w:document>`,
    "docProps/core.xml": CORE,
    "docProps/custom.xml": CUSTOM,
  });
}

const wordParagraph = (text: string): string => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;
const wordRow = (...cells: readonly string[]): string =>
  `<w:tr>${cells.map((cell) => `<w:tc>${cell.split("|").map(wordParagraph).join("")}</w:tc>`).join("")}</w:tr>`;

describe("the properties of a document", () => {
  it("are read from a PDF, including its dates", async () => {
    const information =
      "<< /Title (On mills) /Author (Ada Weir) /Subject (How they grind) /Keywords (mills, rivers) /CreationDate (D:20240301080000Z) /ModDate (D:20250102040405+01'00') /Department (Millers) >>";
    const pdf = buildPdf(["Text"], { information });
    expect((await read("application/pdf", pdf)).properties).toEqual({
      title: "On mills",
      author: "Ada Weir",
      description: "How they grind",
      keywords: "mills, rivers",
      created: "2024-03-01T08:00:00Z",
      modified: "2025-01-02T04:04:05+01:00",
      department: "Millers",
    });
  });

  it("are read from office documents", async () => {
    const { properties, title } = await read(`${OFFICE}.wordprocessingml.document`, docx(wordParagraph("Text")));
    expect([title, properties]).toEqual(["On mills", PROPERTIES]);
    const sheet = buildZip({
      "xl/workbook.xml": `<workbook xmlns:r="${TYPE}"><sheets><sheet name="S" r:id="r1"/></sheets></workbook>`,
      "xl/_rels/workbook.xml.rels": relation("worksheet", "worksheets/sheet1.xml"),
      "xl/worksheets/sheet1.xml": "<worksheet><sheetData><row><c><v>1</v></c></row></sheetData></worksheet>",
      "docProps/core.xml": CORE,
      "docProps/custom.xml": CUSTOM,
    });
    expect((await read(`${OFFICE}.spreadsheetml.sheet`, sheet)).properties).toEqual(PROPERTIES);
  });

  it("are read from an EPUB book", async () => {
    const book = buildZip({
      "META-INF/container.xml": '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>',
      "book.opf": `<package xmlns:dc="d"><metadata><dc:title>On mills</dc:title><dc:creator>Ada Weir</dc:creator><dc:creator>Bo Race</dc:creator>
        <dc:language>en</dc:language><dc:date>2024</dc:date><meta property="dcterms:modified">2025-01-02T03:04:05Z</meta></metadata>
        <manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>`,
      "a.xhtml": "<p>Text</p>",
    });
    const { title, properties } = await read("application/epub+zip", book);
    expect([title, properties]).toEqual([
      "On mills",
      { title: "On mills", author: "Ada Weir", language: "en", created: "2024", modified: "2025-01-02T03:04:05Z" },
    ]);
  });

  it("are read from an HTML page, with limits on number and length", async () => {
    const page = `<html lang=en><head><title>On mills</title><meta name="author" content="Ada &amp; Bo"><META NAME='Description' CONTENT='How they grind'>
      <meta property="article:published_time" content="2024-03-01"><meta content="2025-01-02" property="article:modified_time"><meta name="og:title" content="Another">
      <meta name="department" content="Millers"><meta name="__proto__" content="x"><meta name="long" content="${"x".repeat(3000)}">
      ${Array.from({ length: 500 }, (_, i) => `<meta name="m${i}" content="${i}">`).join("")}</head><body><p>Text</p></body></html>`;
    const { properties } = await read("text/html", page);
    expect(properties).toMatchObject({
      title: "On mills",
      author: "Ada & Bo",
      description: "How they grind",
      created: "2024-03-01",
      modified: "2025-01-02",
      department: "Millers",
      language: "en",
      long: "x".repeat(1000),
    });
    expect(Object.keys(properties).length).toBeLessThanOrEqual(101);
    expect(Object.hasOwn(properties, "__proto__")).toBe(false);
  });
});

describe("tables in documents", () => {
  it("of DOCX become rows of lines, whatever their cells contain", async () => {
    const table = `<w:tbl>${wordRow("Place", "Level", "Note")}${wordRow("Weir", "", "two|paragraphs")}${wordRow("", "3", "")}</w:tbl>`;
    const { text } = await read(
      `${OFFICE}.wordprocessingml.document`,
      docx(`${wordParagraph("Before.")}${table}${wordParagraph("After.")}`),
    );
    expect(text).toBe("Before.\nPlace\tLevel\tNote\nWeir\t\ttwo paragraphs\n\t3\nAfter.");
  });

  it("of PPTX become rows of lines", async () => {
    const cell = (text: string): string => `<a:tc><a:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></a:txBody></a:tc>`;
    const slide = `<p:sld xmlns:p="p" xmlns:a="a"><p:sp><p:nvPr><p:ph type="title"/></p:nvPr><a:p><a:r><a:t>Levels</a:t></a:r></a:p></p:sp>
      <p:graphicFrame><a:tbl><a:tr>${cell("Place")}${cell("Level")}</a:tr><a:tr>${cell("Weir")}${cell("2 m")}</a:tr></a:tbl></p:graphicFrame></p:sld>`;
    const deck = buildZip({
      "ppt/presentation.xml": `<p:presentation xmlns:p="p" xmlns:r="${TYPE}"><p:sldIdLst><p:sldId r:id="r1"/></p:sldIdLst></p:presentation>`,
      "ppt/_rels/presentation.xml.rels": relation("slide", "slides/slide1.xml"),
      "ppt/slides/slide1.xml": slide,
    });
    const { text, headings } = await read(`${OFFICE}.presentationml.presentation`, deck);
    expect(text).toBe("Levels\nPlace\tLevel\nWeir\t2 m");
    expect(headings).toHaveLength(1);
  });
});

describe("form values, added texts and comments of a PDF", () => {
  const RECT = "/Type /Annot /Rect [0 0 99 20] /F 4";
  const NOTES = [
    `<< ${RECT} /Subtype /Widget /FT /Tx /T (applicant.name) /V (Ada Weir) >>`,
    `<< ${RECT} /Subtype /Widget /FT /Tx /T (city) /TU (City of birth) /V <FEFF67714EAC> >>`,
    `<< ${RECT} /Subtype /Widget /FT /Tx /T (empty) >>`,
    `<< ${RECT} /Subtype /Widget /FT /Tx /Ff 8192 /T (pin) /V (4711) >>`,
    `<< ${RECT} /Subtype /Widget /FT /Btn /T (paid) /V /Yes /AS /Yes /AP << /N << /Yes null /Off null >> >> >>`,
    `<< ${RECT} /Subtype /Widget /FT /Btn /T (late) /V /Off /AS /Off /AP << /N << /Yes null /Off null >> >> >>`,
    `<< ${RECT} /Subtype /Widget /FT /Ch /Ff 131072 /T (country) /Opt [[(de) (Germany)] [(jp) (Japan)]] /V (jp) >>`,
    `<< ${RECT} /Subtype /FreeText /DA (/F1 12 Tf) /Contents (Approved in May.) >>`,
    `<< ${RECT} /Subtype /Text /Contents (Why so late?) >>`,
    `<< /Type /Annot /Rect [0 0 99 20] /F 2 /Subtype /FreeText /DA (/F1 12 Tf) /Contents (Unseen.) >>`,
  ];
  const LINES = [
    "Approved in May.",
    "Comment: Why so late?",
    "name: Ada Weir",
    "City of birth: 東京",
    "[x] paid",
    "[ ] late",
    "country: Japan",
  ];
  const form = (stream: string): Buffer => {
    const ids = NOTES.map((_, index) => `${7 + index} 0 R`).join(" ");
    const page = { stream: Buffer.from(stream), entries: `/Annots [${ids}]` };
    return buildPdf([page], { objects: NOTES, catalog: `/AcroForm << /Fields [${ids}] >>` });
  };

  it("follow the text of their page", async () => {
    const { text } = await read("application/pdf", form("BT /F1 12 Tf 72 700 Td (Application) Tj ET"));
    expect(text.split("\n")).toEqual(["Application", ...LINES]);
  });

  it("do not keep a page without other text from character recognition", async () => {
    const { text, scans } = await read("application/pdf", form("0 0 10 10 re f"));
    expect([text.split("\n"), scans]).toEqual([LINES, [1]]);
  });
});

describe("words at line ends of a PDF", () => {
  const lines = (...texts: readonly string[]): Buffer =>
    Buffer.from(`BT /F1 12 Tf 72 700 Td ${texts.map((text) => `(${text}) Tj 0 -14 Td`).join(" ")} ET`, "latin1");
  const textOf = async (...pages: readonly (readonly string[])[]): Promise<string> =>
    (await read("application/pdf", buildPdf(pages.map((page) => ({ stream: lines(...page) }))))).text;

  it("are joined if they are divided, and compounds keep their hyphen", async () => {
    expect(await textOf(["The govern-", "ment of the well-", "known"], ["It is well-known."])).toBe(
      "The government of the well-known\n\nIt is well-known.",
    );
  });

  it("are not joined if no word is divided", async () => {
    const kept = ["See pages 10-", "20 of A-", "list, Jean-", "Paul -", "and so on"];
    expect(await textOf(kept)).toBe(kept.join("\n"));
  });
});
