import { describe, expect, it } from "vitest";
import { DOCX } from "../../src/platform/parsing/mime.ts";
import { readDocument } from "../../src/platform/parsing/read-document.ts";
import { docx, paragraph, run } from "../fixtures/documents/office.ts";

async function textOf(body: string, parts: Parameters<typeof docx>[1] = []): Promise<string> {
  const bytes = new Uint8Array(docx(body, parts));
  return (await readDocument({ mime: DOCX, charset: null, scans: false }, bytes)).text;
}

const field = (instruction: string, result: string): string =>
  `<w:fldSimple w:instr="${instruction}">${run(result)}</w:fldSimple>`;
const character = (type: string, data = ""): string =>
  `<w:r><w:fldChar w:fldCharType="${type}">${data}</w:fldChar></w:r>`;
const ruby = (base: string, reading: string): string =>
  `<w:r><w:ruby><w:rubyPr><w:rubyAlign w:val="center"/></w:rubyPr><w:rt>${run(reading)}</w:rt><w:rubyBase>${run(base)}</w:rubyBase></w:ruby></w:r>`;
const box = (state: string, shown: string): string =>
  `<w:sdt><w:sdtPr><w14:checkbox>${state}<w14:checkedState w14:val="2612"/></w14:checkbox></w:sdtPr><w:sdtContent>${run(shown)}</w:sdtContent></w:sdt>`;
const oldBox = (inside: string): string =>
  character("begin", `<w:ffData><w:checkBox>${inside}</w:checkBox></w:ffData>`) +
  "<w:r><w:instrText> FORMCHECKBOX </w:instrText></w:r>" +
  character("end");
const m = (name: string, ...inside: string[]): string => `<m:${name}>${inside.join("")}</m:${name}>`;
const t = (text: string): string => m("r", m("t", text));
const arg = (name: string, ...inside: string[]): string => m(name, ...inside);

const cell = (text: string, properties = ""): string => `<w:tc><w:tcPr>${properties}</w:tcPr>${paragraph(text)}</w:tc>`;
const row = (cells: string, properties = ""): string => `<w:tr><w:trPr>${properties}</w:trPr>${cells}</w:tr>`;

describe("the text of a Word document", () => {
  it.each<readonly [string, string, string]>([
    ["simple fields", run("Table ") + field(" SEQ Table ", "7") + run(": Rain"), "Table 7: Rain"],
    ["merge fields", run("Dear ") + field(" MERGEFIELD name ", "Ada"), "Dear Ada"],
    [
      "results of complex fields without their instructions, one in another",
      `${character("begin")}<w:r><w:instrText>IF </w:instrText></w:r>${character("begin")}<w:r><w:instrText>PAGE</w:instrText></w:r>${character("separate")}${run("99")}${character("end")}${character("separate")}${run("shown")}${character("end")}`,
      "shown",
    ],
    [
      "ruby, and readings side by side as one",
      run("市の") + ruby("図", "と") + ruby("書", "しょ") + ruby("館", "かん") + run("へ"),
      "市の図書館(としょかん)へ",
    ],
    ["checked boxes", box('<w14:checked w14:val="1"/>', "\u2612") + run(" Paid"), "[x] Paid"],
    ["empty boxes", box('<w14:checked w14:val="0"/>', "\u2610") + run(" Paid"), "[ ] Paid"],
    ["boxes that were never touched", box("", "\u2610") + run(" Paid"), "[ ] Paid"],
    ["checked boxes of older forms", oldBox('<w:default w:val="0"/><w:checked/>') + run(" Paid"), "[x] Paid"],
    ["preset boxes of older forms", oldBox('<w:default w:val="1"/>') + run(" Paid"), "[x] Paid"],
    ["cleared boxes of older forms", oldBox('<w:default w:val="1"/><w:checked w:val="0"/>') + run(" Paid"), "[ ] Paid"],
    [
      "drop-down lists of older forms",
      `${character("begin", '<w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="No"/><w:listEntry w:val="Yes"/></w:ddList></w:ffData>')}<w:r><w:instrText>FORMDROPDOWN</w:instrText></w:r>${character("end")}`,
      "Yes",
    ],
    ["symbols", '<w:r><w:sym w:font="Wingdings" w:char="F0FC"/></w:r>' + run(" done"), "\u2713 done"],
    [
      "descriptions of pictures",
      run("See ") +
        '<w:r><w:drawing><wp:inline><wp:docPr id="1" name="Picture 1" descr="A mill by a river"/></wp:inline></w:drawing></w:r>' +
        run("here"),
      "See A mill by a river here",
    ],
    [
      "what is shown of a choice, once",
      '<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:t>one</w:t></mc:Choice><mc:Fallback><w:t>one</w:t></mc:Fallback></mc:AlternateContent></w:r>',
      "one",
    ],
    [
      "insertions and no deletions",
      `<w:ins>${run("kept ")}</w:ins><w:del><w:r><w:delText>gone </w:delText></w:r></w:del><w:moveFrom>${run("left ")}</w:moveFrom><w:moveTo>${run("moved")}</w:moveTo>`,
      "kept moved",
    ],
    [
      "no hidden text",
      run("seen ") + run("unseen", "<w:vanish/>") + run("shown", '<w:vanish w:val="0"/>'),
      "seen shown",
    ],
    ["fractions", m("oMath", t("y="), m("f", arg("num", t("a+b")), arg("den", t("2")))), "y=(a+b)/2"],
    [
      "powers, indices and roots",
      m(
        "oMath",
        m("sSup", arg("e", t("x")), arg("sup", t("2"))),
        t("+"),
        m("sSub", arg("e", t("a")), arg("sub", t("n+1"))),
        m("rad", arg("deg"), arg("e", t("z"))),
      ),
      "x^2+a_(n+1)√(z)",
    ],
    [
      "sums",
      m(
        "oMath",
        m("nary", m("naryPr", '<m:chr m:val="∑"/>'), arg("sub", t("i=1")), arg("sup", t("n")), arg("e", t("i"))),
      ),
      "∑_(i=1)^n i",
    ],
    [
      "brackets and matrices",
      m(
        "oMath",
        m(
          "d",
          m("dPr", '<m:begChr m:val="["/><m:endChr m:val="]"/>'),
          arg("e", m("m", m("mr", arg("e", t("1")), arg("e", t("2"))))),
        ),
      ),
      "[[1, 2]]",
    ],
  ])("includes %s", async (_, content, expected) => {
    expect(await textOf(paragraph(content))).toBe(expected);
  });

  it("omits text that is hidden by a style or by the style's base", async () => {
    const styles =
      '<w:styles><w:style w:type="character" w:styleId="base"><w:rPr><w:vanish/></w:rPr></w:style><w:style w:type="character" w:styleId="derived"><w:basedOn w:val="base"/></w:style><w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style><w:style w:styleId="own"><w:basedOn w:val="berschrift2"/></w:style><w:style w:styleId="loop"><w:basedOn w:val="loop"/></w:style></w:styles>';
    const body =
      paragraph(run("seen") + run("unseen", '<w:rStyle w:val="derived"/>')) +
      paragraph("Title", '<w:pStyle w:val="own"/>') +
      paragraph("Text", '<w:pStyle w:val="loop"/>') +
      paragraph("Level", '<w:outlineLvl w:val="0"/>');
    const bytes = new Uint8Array(docx(body, [["styles", "styles.xml", styles]]));
    const { text, headings } = await readDocument({ mime: DOCX, charset: null, scans: false }, bytes);
    expect(text).toBe("seen\nTitle\nText\nLevel");
    expect(headings.map(({ level, char_start, char_end }) => [level, text.slice(char_start, char_end)])).toEqual([
      [2, "Title"],
      [1, "Level"],
    ]);
  });

  it("includes headers and footers once, and notes and comments after their paragraph", async () => {
    const note = (name: string, id: string, text: string, more = ""): string =>
      `<w:${name} w:id="${id}" ${more}>${paragraph(text)}</w:${name}>`;
    const refer = (name: string, id: string): string => `<w:r><w:${name}Reference w:id="${id}"/></w:r>`;
    const body =
      paragraph(
        run("Rent is due") + refer("footnote", "2") + run(" monthly.") + refer("endnote", "2") + refer("comment", "0"),
      ) +
      `<w:tbl>${row(cell("Weir") + `<w:tc>${paragraph(run("2 m") + refer("footnote", "3") + refer("footnote", "2"))}</w:tc>`)}</w:tbl>` +
      paragraph("End.");
    const parts = [
      ["header", "header1.xml", `<w:hdr>${paragraph("Contract 17")}</w:hdr>`],
      ["header", "header2.xml", `<w:hdr>${paragraph("Contract 17")}${paragraph(field("PAGE", "1"))}</w:hdr>`],
      ["footer", "footer1.xml", `<w:ftr>${paragraph("Confidential")}</w:ftr>`],
      [
        "footnotes",
        "footnotes.xml",
        `<w:footnotes>${note("footnote", "0", "separator")}${note("footnote", "2", "On the first.")}${note("footnote", "3", "Measured in May.")}</w:footnotes>`,
      ],
      ["endnotes", "endnotes.xml", `<w:endnotes>${note("endnote", "2", "See the annex.")}</w:endnotes>`],
      [
        "comments",
        "comments.xml",
        `<w:comments>${note("comment", "0", "Why monthly?", 'w:author="Ada"')}</w:comments>`,
      ],
    ] as const;
    expect((await textOf(body, parts)).split("\n")).toEqual([
      "Contract 17",
      "Rent is due[1] monthly.[2]",
      "[1] On the first.",
      "[2] See the annex.",
      "Comment (Ada): Why monthly?",
      "Weir\t2 m[3]",
      "[3] Measured in May.",
      "End.",
      "Confidential",
    ]);
  });

  it("includes text boxes, charts and diagrams after their paragraph", async () => {
    const textBox = `<w:r><w:pict><v:shape alt="A frame"><v:textbox><w:txbxContent>${paragraph("In a box.")}</w:txbxContent></v:textbox></v:shape></w:pict></w:r>`;
    const chart = '<w:r><w:drawing><c:chart r:id="rId1"/></w:drawing></w:r>';
    const diagram = '<w:r><w:drawing><dgm:relIds r:dm="rId2"/></w:drawing></w:r>';
    const cache = (...values: string[]): string => values.map((value) => `<c:pt><c:v>${value}</c:v></c:pt>`).join("");
    const parts = [
      [
        "chart",
        "charts/chart1.xml",
        `<c:chartSpace xmlns:a="a"><c:title><a:p><a:r><a:t>Rain by month</a:t></a:r></a:p></c:title><c:ser><c:tx>${cache("Upper weir")}</c:tx><c:cat>${cache("May", "June")}</c:cat><c:val>${cache("12", "30")}</c:val></c:ser></c:chartSpace>`,
      ],
      [
        "diagramData",
        "diagrams/data1.xml",
        '<dgm:dataModel xmlns:a="a"><dgm:pt><dgm:t><a:p><a:r><a:t>Step one</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:dataModel>',
      ],
    ] as const;
    expect(await textOf(paragraph(run("Look: ") + textBox + chart + diagram) + paragraph("After."), parts)).toBe(
      "Look: A frame\nIn a box.\nRain by month\nUpper weir: May 12, June 30\nStep one\nAfter.",
    );
  });

  it("repeats a merged value in each of its rows, and omits hidden and deleted rows", async () => {
    const table = `<w:tbl>${row(cell("Weir", '<w:vMerge w:val="restart"/>') + cell("May"))}${row(cell("", "<w:vMerge/>") + cell("June"))}${row(cell("Gone") + cell("x"), "<w:del/>")}${row(cell("Hidden") + cell("x"), "<w:hidden/>")}${row(cell("both", '<w:gridSpan w:val="2"/>') + cell("July"))}</w:tbl>`;
    expect(await textOf(table)).toBe("Weir\tMay\nWeir\tJune\nboth\tJuly");
  });

  it("joins paragraphs if the mark between them was deleted", async () => {
    expect(await textOf(paragraph(run("One "), "<w:rPr><w:del/></w:rPr>") + paragraph("two."))).toBe("One two.");
    expect(await textOf(paragraph(run("Last"), "<w:rPr><w:del/></w:rPr>"))).toBe("Last");
  });

  it("deep-json, noisy-neighbour: survives deep nesting, and repeats nothing thousands of times", async () => {
    const deep = 5000;
    const nested = `<w:tbl><w:tr><w:tc>`.repeat(deep) + paragraph("deep") + "</w:tc></w:tr></w:tbl>".repeat(deep);
    expect(await textOf(nested)).toContain("deep");
    const formula = paragraph(
      `<m:oMath>${"<m:sSup><m:e>".repeat(deep)}${t("x")}${"</m:e></m:sSup>".repeat(deep)}</m:oMath>`,
    );
    expect((await textOf(formula)).replace(/[()]/g, "")).toBe("x");
    const note = `<w:footnotes><w:footnote w:id="1">${paragraph("long ".repeat(10_000))}</w:footnote></w:footnotes>`;
    const refers = paragraph(`${run("Text")}${'<w:r><w:footnoteReference w:id="1"/></w:r>'.repeat(10_000)}`);
    expect((await textOf(refers, [["footnotes", "footnotes.xml", note]])).length).toBeLessThan(100_000);
  });
});
