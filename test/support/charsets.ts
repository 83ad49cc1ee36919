const bytes = (hex: string) => Buffer.from(hex.replaceAll(" ", ""), "hex");
const utf16 = (text: string) => Buffer.from(text, "utf16le");

/** Texts in several charsets: charset, bytes, declared charset, expected text. */
export const CHARSET_ROWS: ReadonlyArray<readonly [string, Buffer, string | null, string]> = [
  ["windows-1252", bytes("80 20 93 6e 61 ef 76 65 94 20 96 20 9e"), "windows-1252", "€ “naïve” – ž"],
  ["windows-1252 called Latin-1", bytes("80 20 93 6e 61 ef 76 65 94"), "ISO-8859-1", "€ “naïve”"],
  ["undeclared windows-1252", bytes("80 20 93 6e 61 ef 76 65 94"), null, "€ “naïve”"],
  ["ISO-8859-15", bytes("a4 20 a6 20 e9"), "ISO-8859-15", "€ Š é"],
  ["shift_jis", bytes("83 65 83 58 83 67 87 40 81 60 b1"), "Shift_JIS", "テスト①～ｱ"],
  [
    "undeclared shift_jis",
    bytes("90 7d 8f 91 8a d9 82 cd 8c e3 82 c5 81 42 83 65 83 58 83 67 0a b1 b2"),
    null,
    "図書館は後で。テスト\nｱｲ",
  ],
  [
    "an undeclared table in shift_jis",
    bytes("96 bc 91 4f 2c 8f 5a 8f 8a 0a 93 63 92 86 2c 93 8c 8b 9e"),
    null,
    "名前,住所\n田中,東京",
  ],
  ["undeclared EUC-JP", bytes("bf de bd f1 b4 db a4 cf a5 c6 a5 b9 a5 c8"), null, "図書館はテスト"],
  [
    "curled quotation marks in windows-1252",
    bytes("49 74 92 73 20 93 73 6f 94 2c 20 64 6f 6e 92 74"),
    null,
    "It’s “so”, don’t",
  ],
  [
    "accented letters side by side in windows-1252",
    bytes("49 f1 e9 73 20 63 72 e9 e9 20 dc df 61 20 c4 e4 e4"),
    null,
    "Iñés créé Üßa Äää",
  ],
  ["gb18030", bytes("d6 d0 ce c4 81 39 ee 39 94 39 fc 36"), "gb18030", "中文㐀😀"],
  ["gb2312, which could be UTF-8", bytes("c4 a3"), "gb2312", "模"],
  ["ISO-2022-JP", bytes("1b 24 42 25 46 1b 28 42 78"), "iso-2022-jp", "テx"],
  ["UTF-16 little endian with a mark", utf16("\ufeffnaïve ☃"), null, "naïve ☃"],
  ["UTF-16 big endian with a mark", utf16("\ufeffnaïve ☃").swap16(), "utf-8", "naïve ☃"],
  ["UTF-16 little endian without a mark", utf16("naïve text ☃"), null, "naïve text ☃"],
  ["UTF-16 big endian without a mark", utf16("naïve text ☃").swap16(), null, "naïve text ☃"],
  ["declared UTF-16 without a mark", utf16("中文"), "utf-16le", "中文"],
  ["declared UTF-16 big endian without a mark", utf16("中文").swap16(), "utf-16be", "中文"],
  ["UTF-8 with a mark", Buffer.from("\ufeffnaïve ☃"), "windows-1252", "naïve ☃"],
  ["UTF-8 that is declared as Latin-1", Buffer.from("naïve ☃"), "iso-8859-1", "naïve ☃"],
  ["an unknown charset", Buffer.from("naïve ☃"), "nonsense", "naïve ☃"],
];

/** A page in windows-1252 that declares it in a `<meta>` element, and its text. */
export const META_PAGE = {
  bytes: Buffer.from(
    "<html><head><meta charset='windows-1252'></head><body><p>\x80 \x93na\xefve\x94</p></body></html>",
    "latin1",
  ),
  text: "€ “naïve”",
};
