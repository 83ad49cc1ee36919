import { crc32 } from "node:zlib";
import { fromBufferPromise, getFileNameLowLevel, type Entry, type ZipFile } from "yauzl";
import { wholeOf } from "./whole.ts";

/** Thrown when bytes are not a readable ZIP archive; the message says why. */
export class ZipError extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : "it is not readable", { cause });
    this.name = "ZipError";
  }
}

/** An entry as the archive declares it; none of it is verified. */
export interface ZipEntry {
  /** The path exactly as in the archive. */
  readonly path: string;
  readonly kind: "file" | "folder" | "symlink" | "other" | "encrypted";
  /** Declared size when unpacked (bytes). */
  readonly size: number;
  /** Unpacks the entry. Throws ZipError, also as soon as it yields more than `size`. */
  read(): Promise<Buffer>;
}

/** The entries of an archive, one by one. Throws ZipError. */
export async function* zipEntries(archive: Buffer): AsyncGenerator<ZipEntry, void> {
  try {
    // The caller checks the names, because its errors can name the file.
    const zip = await fromBufferPromise(archive, { decodeStrings: false });
    for await (const entry of zip.eachEntry()) {
      const path = getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, true);
      yield { path, kind: kindOf(entry, path), size: entry.uncompressedSize, read: () => unpack(zip, entry) };
    }
  } catch (error) {
    throw new ZipError(error);
  }
}

const TYPE_MASK = 0xf000;
const TYPES: Readonly<Record<number, ZipEntry["kind"]>> = { 0x4000: "folder", 0x8000: "file", 0xa000: "symlink" };

function kindOf(entry: Entry, path: string): ZipEntry["kind"] {
  if (entry.isEncrypted()) return "encrypted";
  // The upper half is a Unix mode, or 0 if the program that made the archive set none.
  const type = (entry.externalFileAttributes >>> 16) & TYPE_MASK;
  const kind = type === 0 ? "file" : (TYPES[type] ?? "other");
  return kind === "file" && path.endsWith("/") ? "folder" : kind;
}

async function unpack(zip: ZipFile, entry: Entry): Promise<Buffer> {
  try {
    const content = await wholeOf(await zip.openReadStreamPromise(entry));
    if (crc32(content) !== entry.crc32) throw new Error("its checksum is wrong");
    return content;
  } catch (error) {
    throw new ZipError(error);
  }
}

/** Signatures of the parts of an archive. */
const LOCAL = Buffer.from("PK\u0003\u0004");
const CENTRAL = Buffer.from("PK\u0001\u0002");
const END = Buffer.from("PK\u0005\u0006");
/** Version 2.0, made on Unix, so that the attributes contain a mode. */
const VERSION = Buffer.of(20, 3);
const NAMES_ARE_UTF8 = 0x800;
/** 1980-01-01, the format's first day, so that the same files always give the same archive. */
const DATE = 0x21;
const REGULAR_FILE = 0o100_644;

/**
 * An uncompressed archive of these files, in parts to be written one after the other, and where the content of each file begins. For less
 * than 4 GiB and 65 535 files.
 */
export function zipOf(files: ReadonlyArray<{ readonly path: string; readonly content: Uint8Array }>): {
  readonly parts: readonly Uint8Array[];
  readonly offsets: readonly number[];
} {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  const offsets: number[] = [];
  let at = 0;
  for (const { path, content } of files) {
    const name = Buffer.from(path);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(NAMES_ARE_UTF8, 2);
    common.writeUInt16LE(DATE, 8);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(content.byteLength, 14);
    common.writeUInt32LE(content.byteLength, 18);
    common.writeUInt16LE(name.length, 22);
    const attributes = Buffer.alloc(14);
    attributes.writeUInt32LE(REGULAR_FILE * 0x10000, 6);
    attributes.writeUInt32LE(at, 10);
    directory.push(CENTRAL, VERSION, common, attributes, name);
    const head = Buffer.concat([LOCAL, common, name]);
    offsets.push(at + head.length);
    parts.push(head, content);
    at += head.length + content.byteLength;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(list.length, 8);
  end.writeUInt32LE(at, 12);
  return { parts: [...parts, list, END, end], offsets };
}
