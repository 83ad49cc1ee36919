import { detect } from "jschardet";

/** Most bytes that are examined. */
const SAMPLE = 16 * 1024;
const NEWLINE = 0x0a;

/** The detector's names that differ from those of the Encoding standard. */
const STANDARD: Readonly<Record<string, string>> = { cp932: "shift_jis", cp949: "euc-kr", cp874: "windows-874" };
/** Lowest confidence at which a guess counts, by the detector's names. Multi-byte characters seldom fit by chance. */
const LEAST: ReadonlyMap<string, number> = new Map([
  ...list(0.02, "cp932 euc-jp gb18030 big5 cp949"),
  ...list(0.1, "windows-1250 windows-1251 windows-1253 windows-1254 windows-1255 windows-1256 windows-1257"),
  ...list(0.1, "cp874 koi8-r koi8-u ibm866"),
]);
const NAMES = [
  ..."cp932 euc_jis_2004 gb18030 big5hkscs cp949 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257".split(" "),
  ..."cp874 koi8-r koi8-u cp866".split(" "),
];

/**
 * The encoding of a text that declares none and is not Unicode, judged by how frequent its characters and pairs are in each language;
 * windows-1252 if nothing else is likely. Null if that is impossible, too.
 */
export function guessEncoding(bytes: Uint8Array): string | null {
  const sample = tellingLines(bytes);
  const { encoding, confidence } = detect(sample, { detectEncodings: NAMES });
  const named = encoding?.toLowerCase() ?? "";
  if (confidence >= (LEAST.get(named) ?? Infinity)) return STANDARD[named] ?? named;
  return isWestern(sample) ? "windows-1252" : null;
}

/** The lines that contain non-ASCII characters, because one word in a long text is enough to decide. */
function tellingLines(bytes: Uint8Array): Uint8Array {
  const lines: Uint8Array[] = [];
  let length = 0;
  for (let from = 0; from < bytes.length && length < SAMPLE;) {
    const end = bytes.indexOf(NEWLINE, from);
    const line = bytes.subarray(from, end === -1 ? bytes.length : end + 1);
    from += line.length;
    const first = line.findIndex((byte) => byte >= 0x80);
    if (first === -1) continue;
    const start = Math.max(0, first - SAMPLE / 4);
    const part = line.subarray(start, start + SAMPLE - length);
    lines.push(part);
    length += part.length;
  }
  return Buffer.concat(lines);
}

/** In windows-1252 text, accented letters are rare among the others, and five bytes are undefined. */
function isWestern(sample: Uint8Array): boolean {
  let plain = 0;
  let accented = 0;
  for (const byte of sample) {
    if (byte === 0x81 || byte === 0x8d || byte === 0x8f || byte === 0x90 || byte === 0x9d) return false;
    if (byte >= 0xc0) accented += 1;
    else if ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a) plain += 1;
  }
  return accented <= 12 || accented <= plain / 2;
}

function list(least: number, encodings: string): Array<[string, number]> {
  return encodings.split(" ").map((encoding) => [encoding, least]);
}
