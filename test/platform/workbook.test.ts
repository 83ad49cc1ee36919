import { describe, expect, it } from "vitest";
import { PPTX, XLSX } from "../../src/platform/parsing/mime.ts";
import { readDocument } from "../../src/platform/parsing/read-document.ts";
import { pptx, relations, xlsx } from "../fixtures/documents/office.ts";

async function textOf(mime: typeof XLSX | typeof PPTX, bytes: Buffer): Promise<string> {
  return (await readDocument({ mime, charset: null, scans: false }, new Uint8Array(bytes))).text;
}

const cell = (place: string, value: string | number, more = ""): string =>
  typeof value === "number"
    ? `<c r="${place}" ${more}><v>${value}</v></c>`
    : `<c r="${place}" t="inlineStr" ${more}><is><t>${value}</t></is></c>`;
const row = (number: number, cells: string, more = ""): string => `<row r="${number}" ${more}>${cells}</row>`;
const data = (...rows: string[]): string => `<sheetData>${rows.join("")}</sheetData>`;

describe("the text of a workbook", () => {
  it.each<readonly [string | number, number | string, string]>([
    ["[h]:mm", 1.5, "36:00"],
    ["[mm]:ss", 0.0625, "90:00"],
    [46, 1.25, "30:00:00"],
    ["0.0%", 0.1234, "12.3%"],
    [9, 0.07, "7%"],
    ["00000", 1067, "01067"],
    ["#,##0.00", 1234567.891, "1,234,567.89"],
    ["$#,##0.00;[Red]-$#,##0.00", -5, "-$5.00"],
    ['#,##0 "€"', 1500, "1,500 €"],
    ['_(* #,##0_);_(* (#,##0);_(* "-"??_);_(@_)', -1234, "(1,234)"],
    ['[>=1000000]0.0,,"M";[>=1000]0.0,"k";0', 1234567, "1.2M"],
    ['"Order "0', 17, "Order 17"],
    ["# ??/??", 3.25, "3 1/4"],
    [11, 12345, "1.23E+04"],
    ["d mmm yyyy", 46022, "31 Dec 2025"],
    ["yyyy-mm-dd hh:mm", 46022.75, "2025-12-31 18:00"],
    ['yyyy"年"m"月"d"日"', 46022, "2025年12月31日"],
    [14, 46022, "2025-12-31"],
    [22, 46022.75, "2025-12-31 18:00"],
    ["[$-F800]dddd, mmmm dd, yyyy", 46022, "2025-12-31"],
    [20, 0.75, "18:00"],
    ["General", 0.30000000000000004, "0.3"],
    ["General", "9007199254740993", "9007199254740993"],
    ["@", 42, "42"],
    ['"Name: "@', "Ada", "Name: Ada"],
    ["0.0", "text", "text"],
    ['"unclosed', 5, "5"],
    [14, -3, "-3"],
  ])("shows %s of %s as Excel does", async (format, value, shown) => {
    const given =
      typeof value === "string" && /^\d+$/.test(value)
        ? `<c r="A1" s="0"><v>${value}</v></c>`
        : cell("A1", value, 's="0"');
    expect(await textOf(XLSX, xlsx([["S", "", data(row(1, given))]], [format]))).toBe(`S\n${shown}\n`);
  });

  it("counts dates from 1904 if the workbook does, without changing durations", async () => {
    const sheet = data(row(1, cell("A1", 44560, 's="0"') + cell("B1", 1.5, 's="1"')));
    const book = xlsx([["S", "", sheet]], ["yyyy-mm-dd", "[h]:mm"]);
    const old = xlsx([["S", "", sheet]], ["yyyy-mm-dd", "[h]:mm"], {
      "xl/workbook.xml":
        '<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><workbookPr date1904="1"/><sheets><sheet name="S" r:id="r0"/></sheets></workbook>',
    });
    expect(await textOf(XLSX, book)).toBe("S\n2021-12-30\t36:00\n");
    expect(await textOf(XLSX, old)).toBe("S\n2025-12-31\t36:00\n");
  });

  it("repeats a merged value in each of its rows", async () => {
    const rows = data(
      row(1, cell("A1", "Weir") + cell("B1", "May") + cell("D1", "last")),
      row(2, cell("B2", "June")),
      row(3, '<c r="A3"/>' + cell("B3", "July") + '<c r="D3"/>'),
      row(4, '<c r="A4"/>'),
      row(5, cell("B5", "August")),
    );
    const merges =
      '<mergeCells count="3"><mergeCell ref="A1:A4"/><mergeCell ref="D1:D3"/><mergeCell ref="B1:C1"/></mergeCells>';
    expect(await textOf(XLSX, xlsx([["S", "", rows + merges]]))).toBe(
      "S\nWeir\tMay\t\tlast\nWeir\tJune\t\tlast\nWeir\tJuly\t\tlast\n\tAugust\n",
    );
  });

  it("omits hidden sheets, rows and columns, and sheets without content", async () => {
    const sheet = (text: string): string => data(row(1, cell("A1", text)));
    const shown = `<cols><col min="2" max="3" hidden="1"/></cols>${data(
      row(1, cell("A1", "Seen") + cell("B1", "unseen") + cell("D1", "too")),
      row(2, cell("A2", "unseen"), 'hidden="1"'),
    )}`;
    const book = xlsx([
      ["Empty", "", data()],
      ["Shown", "", shown],
      ["Hidden", 'state="hidden"', sheet("unseen")],
      ["Very", 'state="veryHidden"', sheet("unseen")],
    ]);
    expect(await textOf(XLSX, book)).toBe("Shown\nSeen\t\t\ttoo\n");
    for (const sheets of [[["Sheet1", "", data()]], [["Hidden", 'state="hidden"', sheet("unseen")]]] as const)
      await expect(textOf(XLSX, xlsx(sheets))).rejects.toMatchObject({ code: "document_empty" });
  });

  it("includes comments, text boxes, descriptions and charts, but no phonetic guides", async () => {
    const guided = '<c r="A1" t="inlineStr"><is><t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh></is></c>';
    const book = xlsx([["S", "", data(row(1, guided))]], [], {
      "xl/worksheets/_rels/sheet0.xml.rels": relations(
        ["c", "comments", "../comments1.xml"],
        ["d", "drawing", "../drawings/drawing1.xml"],
      ),
      "xl/comments1.xml":
        '<comments><commentList><comment ref="A1"><text><r><t>Checked by Ada</t></r></text></comment></commentList></comments>',
      "xl/drawings/drawing1.xml":
        '<xdr:wsDr xmlns:xdr="x" xmlns:a="a" xmlns:c="c" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><xdr:pic><xdr:cNvPr descr="A map"/></xdr:pic><xdr:sp><a:p><a:r><a:t>In a box</a:t></a:r></a:p></xdr:sp><c:chart r:id="k"/></xdr:wsDr>',
      "xl/drawings/_rels/drawing1.xml.rels": relations(["k", "chart", "../charts/chart1.xml"]),
      "xl/charts/chart1.xml":
        '<c:chartSpace xmlns:c="c" xmlns:a="a"><a:p><a:r><a:t>Rain</a:t></a:r></a:p></c:chartSpace>',
    });
    expect(await textOf(XLSX, book)).toBe("S\n東京\nComment (A1): Checked by Ada\nA map\nIn a box\nRain\n");
  });
});

describe("the text of a presentation", () => {
  const shape = (text: string, properties = ""): string =>
    `<p:sp><p:nvSpPr><p:cNvPr id="1" name="n" ${properties}/></p:nvSpPr><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sp>`;

  it("includes descriptions, charts, diagrams, formulas, notes and comments, each once", async () => {
    const math =
      "<a:p><mc:AlternateContent><mc:Choice><a14:m><m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f></m:oMath></a14:m></mc:Choice><mc:Fallback><a:r><a:t>picture</a:t></a:r></mc:Fallback></mc:AlternateContent></a:p>";
    const shapes = `${shape("Rain")}<p:pic><p:nvPicPr><p:cNvPr descr="A mill by a river"/></p:nvPicPr></p:pic><p:graphicFrame><c:chart r:id="c1"/><dgm:relIds r:dm="d1"/></p:graphicFrame><p:sp>${math}</p:sp>`;
    const related = relations(
      ["c1", "chart", "../charts/chart1.xml"],
      ["d1", "diagramData", "../diagrams/data1.xml"],
      ["n1", "notesSlide", "../notesSlides/notes1.xml"],
      ["m1", "comments", "../comments/comment1.xml"],
    );
    const deck = pptx([["", shapes, related]], {
      "ppt/charts/chart1.xml":
        '<c:chartSpace xmlns:c="c"><c:ser><c:tx><c:v>Weir</c:v></c:tx><c:cat><c:pt><c:v>May</c:v></c:pt></c:cat><c:val><c:pt><c:v>12</c:v></c:pt></c:val></c:ser></c:chartSpace>',
      "ppt/diagrams/data1.xml": '<d xmlns:a="a"><a:p><a:r><a:t>Step one</a:t></a:r></a:p></d>',
      "ppt/notesSlides/notes1.xml": `<p:notes xmlns:p="p" xmlns:a="a">${shape("A note.")}</p:notes>`,
      "ppt/comments/comment1.xml": '<p:cmLst xmlns:p="p"><p:cm><p:text>Check this.</p:text></p:cm></p:cmLst>',
    });
    expect((await textOf(PPTX, deck)).split("\n")).toEqual([
      "Rain",
      "A mill by a river",
      "Weir: May 12",
      "Step one",
      "a/b",
      "A note.",
      "Comment: Check this.",
    ]);
  });

  it("omits hidden slides and shapes; the other slides keep their numbers", async () => {
    const group = `<p:grpSp><p:nvGrpSpPr><p:cNvPr hidden="1"/></p:nvGrpSpPr>${shape("unseen")}</p:grpSp>`;
    const deck = pptx([
      ["", shape("One") + shape("unseen", 'hidden="1"') + group, ""],
      ['show="0"', shape("unseen"), ""],
      ["", shape("Three"), ""],
    ]);
    const request = { mime: PPTX, charset: null, scans: false } as const;
    const { text, pages } = await readDocument(request, new Uint8Array(deck));
    expect(text).toBe("One\n\nThree");
    expect(pages?.map(({ page, char_start, char_end }) => [page, text.slice(char_start, char_end)])).toEqual([
      [1, "One"],
      [3, "Three"],
    ]);
    const all = pptx([['show="0"', shape("unseen"), ""]]);
    await expect(textOf(PPTX, all)).rejects.toMatchObject({ code: "document_empty" });
  });

  it("repeats a merged value in each of its rows", async () => {
    const cellOf = (text: string, more = ""): string => `<a:tc ${more}><a:p><a:r><a:t>${text}</a:t></a:r></a:p></a:tc>`;
    const table = `<p:graphicFrame><a:tbl><a:tr>${cellOf("Weir", 'rowSpan="2"')}${cellOf("May")}</a:tr><a:tr>${cellOf("", 'vMerge="1"')}${cellOf("June")}</a:tr></a:tbl></p:graphicFrame>`;
    expect(await textOf(PPTX, pptx([["", table, ""]]))).toBe("Weir\tMay\nWeir\tJune");
  });
});
