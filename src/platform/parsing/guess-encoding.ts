import { detect } from "jschardet";

/** Most bytes that are examined. */
const SAMPLE = 16 * 1024;
const NEWLINE = 0x0a;

interface Candidate {
  /** Its name in the Encoding standard. */
  readonly encoding: string;
  /** Lowest confidence at which a guess counts. Multi-byte characters seldom fit by chance. */
  readonly least: number;
}

/** Keyed by the detector's names. */
const CANDIDATES: Readonly<Record<string, Candidate>> = {
  cp932: { encoding: "shift_jis", least: 0.02 },
  "euc-jp": { encoding: "euc-jp", least: 0.02 },
  gb18030: { encoding: "gb18030", least: 0.02 },
  big5: { encoding: "big5", least: 0.02 },
  cp949: { encoding: "euc-kr", least: 0.02 },
  "windows-1250": { encoding: "windows-1250", least: 0.1 },
  "windows-1251": { encoding: "windows-1251", least: 0.1 },
  "windows-1253": { encoding: "windows-1253", least: 0.1 },
  "windows-1254": { encoding: "windows-1254", least: 0.1 },
  "windows-1255": { encoding: "windows-1255", least: 0.1 },
  "windows-1256": { encoding: "windows-1256", least: 0.1 },
  "windows-1257": { encoding: "windows-1257", least: 0.1 },
  cp874: { encoding: "windows-874", least: 0.1 },
  "koi8-r": { encoding: "koi8-r", least: 0.1 },
  "koi8-u": { encoding: "koi8-u", least: 0.1 },
  ibm866: { encoding: "ibm866", least: 0.1 },
};
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
  const candidate = CANDIDATES[encoding?.toLowerCase() ?? ""];
  if (candidate !== undefined && confidence >= candidate.least) return candidate.encoding;
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
