import { fromBufferPromise } from "yauzl";
import type { Entry } from "yauzl";
import { SaxesParser } from "saxes";
import { wholeOf } from "../whole.ts";
import { DocumentError } from "./errors.ts";
import { DOCUMENT_LIMITS, mib } from "./limits.ts";

/** Characters given to the XML parser at once. */
const SLICE = 64 * 1024;

/** The files of a document that is an archive (Office, EPUB). */
export interface Archive {
  readonly names: readonly string[];
  /** Bytes of a file unpacked, as the archive has it; 0 where there is none of that name. */
  size(name: string): number;
  /** A file's text, or null where there is none of that name. Throws DocumentError for one longer than it claims to be. */
  read(name: string): Promise<string | null>;
}

/** Opens such a document. Throws DocumentError for what is none, is protected, or would be too large unpacked. */
export async function openArchive(bytes: Uint8Array): Promise<Archive> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.readUInt32BE(0) === 0xd0cf11e0) {
    const message = "The file is protected by a password, or in the format of Office 2003 and before.";
    throw new DocumentError("document_encrypted", message);
  }
  const entries = new Map<string, Entry>();
  const zip = await fromBufferPromise(buffer).catch((error: unknown) => {
    throw broken(error);
  });
  let unpacked = 0;
  try {
    for await (const entry of zip.eachEntry()) {
      unpacked += entry.uncompressedSize;
      if (entries.size === DOCUMENT_LIMITS.archiveFiles || unpacked > DOCUMENT_LIMITS.archiveBytes) {
        const { archiveFiles, archiveBytes } = DOCUMENT_LIMITS;
        const message = `The file unpacks to more than ${mib(archiveBytes)} or ${archiveFiles} files.`;
        throw new DocumentError("document_too_large", message);
      }
      if (entry.isEncrypted()) throw new DocumentError("document_encrypted", "The file is protected by a password.");
      entries.set(entry.fileName, entry);
    }
  } catch (error) {
    throw error instanceof DocumentError ? error : broken(error);
  }
  let read = 0;
  return {
    names: [...entries.keys()],
    size: (name) => entries.get(name)?.uncompressedSize ?? 0,
    async read(name) {
      const entry = entries.get(name);
      if (entry === undefined) return null;
      // A document may name one file a thousand times: each time it is unpacked, and read, anew.
      read += entry.uncompressedSize;
      if (read > DOCUMENT_LIMITS.archiveBytes) {
        const message = `The file has more than ${mib(DOCUMENT_LIMITS.archiveBytes)} to be read.`;
        throw new DocumentError("document_too_large", message);
      }
      try {
        // What yields more than its entry claims is an error of yauzl.
        return (await wholeOf(await zip.openReadStreamPromise(entry))).toString("utf8");
      } catch (error) {
        throw broken(error);
      }
    },
  };
}

/** Events of an XML file; names without their prefix. */
export interface XmlHandlers {
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  close?(name: string): void;
  text?(text: string): void;
}

/** Reads XML as a stream. Declarations of a document type, and with them all entities, are refused: no program writes them. */
export function readXml(xml: string, handlers: XmlHandlers): void {
  const parser = new SaxesParser();
  const plain = (name: string): string => name.slice(name.indexOf(":") + 1);
  parser.on("error", (error) => {
    throw broken(error);
  });
  parser.on("doctype", () => {
    throw new DocumentError(
      "document_broken",
      "The file declares a document type, which files of its kind do not have.",
    );
  });
  parser.on("opentag", ({ name, attributes }) => handlers.open?.(plain(name), attributes as Record<string, string>));
  parser.on("closetag", ({ name }) => handlers.close?.(plain(name)));
  parser.on("text", (text) => handlers.text?.(text));
  for (let at = 0; at < xml.length; at += SLICE) parser.write(xml.slice(at, at + SLICE));
  parser.close();
}

/** The targets of a part's relations by their id, as paths in the archive, with the last word of their type. */
export async function readRelations(
  archive: Archive,
  part: string,
): Promise<Map<string, { readonly path: string; readonly type: string }>> {
  const folder = part.slice(0, part.lastIndexOf("/") + 1);
  const xml = await archive.read(`${folder}_rels/${part.slice(folder.length)}.rels`);
  const relations = new Map<string, { path: string; type: string }>();
  readXml(xml ?? "<none/>", {
    open(name, { Id, Target, Type }) {
      if (name !== "Relationship" || Id === undefined || Target === undefined) return;
      // As an address: "../" and a leading "/" stay inside the archive.
      const path = URL.canParse(Target, `file:///${folder}`) ? new URL(Target, `file:///${folder}`).pathname : "/";
      relations.set(Id, { path: path.slice(1), type: Type?.split("/").at(-1) ?? "" });
    },
  });
  return relations;
}

function broken(cause: unknown): DocumentError {
  return new DocumentError("document_broken", "The file is broken, or not what its name says.", { cause });
}
