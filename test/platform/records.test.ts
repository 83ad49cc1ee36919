import { Readable } from "node:stream";
import iconv from "iconv-lite";
import { describe, expect, it } from "vitest";
import { RecordsUnreadable, csvHeader, csvLine, readRecords, type FileRecord } from "../../src/platform/records.ts";

/** The records of a text that arrives in chunks of this size. */
async function read(
  type: "csv" | "jsonl" | "json",
  bytes: Buffer,
  size = bytes.length,
  own: readonly string[] = [],
): Promise<FileRecord[]> {
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, (i + 1) * size),
  );
  const records: FileRecord[] = [];
  for await (const record of readRecords(type, Readable.from(pieces), own)) records.push(record);
  return records;
}
const valuesOf = (records: readonly FileRecord[]) =>
  records.map((each) => ("value" in each ? each.value : each.problem));

describe("the records of a table", () => {
  it.each([
    ["commas", "a,b\n1,2\n", { a: "1", b: "2" }],
    ["semicolons", "a;b\n1,5;2\n", { a: "1,5", b: "2" }],
    ["tabs", "a\tb\n1\t2;3\n", { a: "1", b: "2;3" }],
    ["a header in quotes", '"a;x";"b,y,z"\n1;2\n', { "a;x": "1", "b,y,z": "2" }],
    ["line ends of Windows", "a;b\r\n1;2\r\n", { a: "1", b: "2" }],
    ["one column", "a\n1;2\n", { a: "1;2" }],
  ])("are separated by %s", async (_, text, value) => {
    for (const size of [1, 3, 1000]) expect(valuesOf(await read("csv", Buffer.from(text), size))).toEqual([value]);
  });

  it.each([
    ["Windows, then Unix", "a\r\n1\n2\r\n3\n"],
    ["Unix, then Windows", "a\n1\r\n2\n3\r\n"],
    ["old Macs", "a\r1\r2\r3"],
    ["a file converted twice", "a\r\r\n1\r\r\n2\r\r\n3\r\r\n"],
  ])("are separated by line ends of %s", async (_, text) => {
    for (const size of [1, 2, 1000])
      expect(valuesOf(await read("csv", Buffer.from(text), size))).toEqual([{ a: "1" }, { a: "2" }, { a: "3" }]);
  });

  it.each(["\n", "\r\n"])("have the number of their first line, with line ends %j", async (end) => {
    const lines = ["a,b", '"x', "", 'y",1', "", "broken", '"p', 'q",2', "last,3"];
    for (const size of [1, 1000]) {
      const records = await read("csv", Buffer.from(lines.join(end)), size);
      expect(records.map(({ line }) => line)).toEqual([2, 6, 7, 9]);
    }
  });

  it.each([
    ["one", "a,b,\n1,2,\n"],
    ["three", "a;b;;;\n1;2;;;\n"],
    ["two that the record does not have", "a,b,,\n1,2\n"],
  ])("have no empty trailing columns of a spreadsheet: %s", async (_, text) => {
    expect(valuesOf(await read("csv", Buffer.from(text)))).toEqual([{ a: "1", b: "2" }]);
  });

  it("report a value without a column name, and more or fewer fields than the header", async () => {
    expect(valuesOf(await read("csv", Buffer.from("a,b,,\n1,2,,x\n1,2,\n1\n1,2,,,\n")))).toEqual([
      "The record has a value in column 4, which has no name in the header",
      "The record has 3 fields, but the header has 4",
      "The record has 1 fields, but the header has 4",
      "The record has 5 fields, but the header has 4",
    ]);
    await expect(read("csv", Buffer.from(",,\n1,2,3\n"))).rejects.toThrow("The header has no column names.");
    await expect(read("csv", Buffer.from("a,,,b\n1,2,3,4\n"))).rejects.toThrow('The header has the column "" twice.');
  });

  it.each(["=1", "-1", "'=1", "''-1", "'", "'a", "@x", "a=1", "\ta", 'say "hi",\n'])(
    "csv-formula: keep the cell %j on a round trip, and never write it as a formula",
    async (cell) => {
      const line = csvLine(["x", cell]);
      expect(line).not.toMatch(/^x,"?[=+\-@\t\r]/);
      const bytes = Buffer.from(csvHeader(["a", "b"]) + line);
      const [value] = valuesOf(await read("csv", bytes, bytes.length, ["a"])) as Array<{ b: string }>;
      expect(value?.b).toBe(cell);
    },
  );

  it("distinguish a missing value, an empty text, null and the text null only in exported tables", async () => {
    const cells = [undefined, "", null, "null"];
    const bytes = Buffer.from(csvHeader(["a", "b", "c", "d"]) + csvLine(cells));
    expect(bytes.toString()).toBe('\uFEFFa,b,c,d\r\n,"",null,"null"\r\n');
    const [ours] = valuesOf(await read("csv", bytes, 7, ["a", "b"]));
    expect(Object.values(ours as object)).toEqual(cells);
    expect(valuesOf(await read("csv", bytes))).toEqual([{ a: "", b: "", c: "null", d: "null" }]);
  });

  it.each([
    ["sep=;\r\n", "a;b\r\n1,5;2\r\n"],
    ["\uFEFFsep=;\n", "a;b\n1,5;2\n"],
    ['"sep=|"\r\n', "a|b\r\n1,5|2\r\n"],
    ["SEP=\t\r", "a\tb\r1,5\t2\r"],
  ])("use the separator in the first line of a spreadsheet: %j", async (line, rest) => {
    const records = await read("csv", Buffer.from(line + rest), 3);
    expect(records).toEqual([{ line: 3, value: { a: "1,5", b: "2" } }]);
    // If the line has more columns, it is the name of a column and not a separator declaration.
    expect(valuesOf(await read("csv", Buffer.from("sep=;,b\n1,2\n")))).toEqual([{ "sep=;": "1", b: "2" }]);
  });

  it("are rejected with a quote within a field, and the error shows little of it", async () => {
    const text = `a,b\n${"x".repeat(10_000)}" wide,1\n`;
    const refusal = read("csv", Buffer.from(text));
    await expect(refusal).rejects.toThrow(RecordsUnreadable);
    await expect(refusal).rejects.toThrow(/^The file is not valid CSV: Invalid Opening Quote.{1,300}$/s);
  });

  it.each([
    ["UTF-8", "utf8", "ä€ 😀"],
    ["UTF-8 with a mark", "utf8", "\ufeffä€ 😀"],
    ["UTF-16 with a mark", "utf16le", "\ufeffä€ 😀"],
  ] as const)("can be read in %s", async (_, encoding, text) => {
    const [mark = "", rest = text] = text.startsWith("\ufeff") ? ["\ufeff", text.slice(1)] : [];
    const bytes = Buffer.from(`${mark}q;a\n1;${rest}\n`, encoding);
    for (const size of [1, 5, 1000]) expect(valuesOf(await read("csv", bytes, size))).toEqual([{ q: "1", a: "ä€ 😀" }]);
  });

  it("can be read in Windows-1252, which includes Latin-1", async () => {
    const bytes = Buffer.from([..."q;a\n1;"].map((c) => c.charCodeAt(0)).concat([0xe4, 0x80, 0xdf, 10]));
    expect(valuesOf(await read("csv", bytes, 2))).toEqual([{ q: "1", a: "ä€ß" }]);
    const json = Buffer.from('{"a":"\xfc"}', "latin1");
    expect(valuesOf(await read("jsonl", json))).toEqual([{ a: "ü" }]);
    expect(valuesOf(await read("json", Buffer.from('[{"a":"\xfc"}]', "latin1")))).toEqual([{ a: "ü" }]);
  });

  it("can be read in Shift_JIS", async () => {
    const bytes = iconv.encode("名前;住所\n田中;東京都\n鈴木;大阪府\n", "shift_jis");
    for (const size of [1, 3, 1000])
      expect(valuesOf(await read("csv", bytes, size))).toEqual([
        { 名前: "田中", 住所: "東京都" },
        { 名前: "鈴木", 住所: "大阪府" },
      ]);
  });

  it("name the actual encoding if a file is not in the encoding that it starts with", async () => {
    const line = `${"x".repeat(999)},1\n`;
    const bytes = Buffer.from(`q,a\n${line.repeat(1100)}\xe9,2\n`, "latin1");
    await expect(read("csv", bytes, 65_536)).rejects.toThrow(/begins as UTF-8 .* Windows-1252/);
    await expect(read("jsonl", bytes, 65_536)).rejects.toThrow(/Windows-1252/);
  });
});
