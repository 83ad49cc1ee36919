import { fromBufferPromise, type Entry } from "yauzl";
import { SaxesParser } from "saxes";
import { wholeOf } from "../whole.ts";
import { DocumentError, tooLarge } from "./errors.ts";
import { DOCUMENT_LIMITS, mib } from "./limits.ts";

/** Characters passed to the XML parser in one call. */
const SLICE = 64 * 1024;

/** The files of a document that is an archive (Office, EPUB). */
export interface Archive {
  readonly names: readonly string[];
  /** Size of a file when unpacked, as the archive declares it (bytes); 0 if the archive has no such file. */
  size(name: string): number;
  /** The text of a file, or null if the archive has no such file. Throws DocumentError for a file that is longer than declared. */
  read(name: string): Promise<string | null>;
}

/** Opens such a document. Throws DocumentError if it is not an archive, is protected, or would be too large unpacked. */
export async function openArchive(bytes: Uint8Array): Promise<Archive> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.readUInt32BE(0) === 0xd0cf11e0) {
    const message = "The file is protected by a password, or in a format of Office 2003 or earlier.";
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
        throw tooLarge(`The file unpacks to more than ${mib(archiveBytes)} or ${archiveFiles} files.`);
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
      // A document may name one file a thousand times, and each time it would be unpacked and read again.
      read += entry.uncompressedSize;
      if (read > DOCUMENT_LIMITS.archiveBytes) {
        throw tooLarge(`The file has more than ${mib(DOCUMENT_LIMITS.archiveBytes)} of content to read.`);
      }
      try {
        // yauzl reports an entry that yields more bytes than it declares.
        return (await wholeOf(await zip.openReadStreamPromise(entry))).toString("utf8");
      } catch (error) {
        throw broken(error);
      }
    },
  };
}

/** Events of an XML file; names have no prefix. */
export interface XmlHandlers {
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  close?(name: string): void;
  text?(text: string): void;
}

/**
 * Parses XML as a stream; null is a file that an archive lacks. Document type declarations, and with them all
 * entities, are refused, because no program writes them.
 */
export function readXml(xml: string | null, handlers: XmlHandlers): void {
  if (xml === null) return;
  const parser = new SaxesParser();
  const plain = (name: string): string => name.slice(name.indexOf(":") + 1);
  parser.on("error", (error) => {
    throw broken(error);
  });
  parser.on("doctype", () => {
    throw new DocumentError(
      "document_broken",
      "The file declares a document type, which is not allowed in files of this kind.",
    );
  });
  parser.on("opentag", ({ name, attributes }) => handlers.open?.(plain(name), attributes as Record<string, string>));
  parser.on("closetag", ({ name }) => handlers.close?.(plain(name)));
  parser.on("text", (text) => handlers.text?.(text));
  for (let at = 0; at < xml.length; at += SLICE) parser.write(xml.slice(at, at + SLICE));
  parser.close();
}

/** The targets of a part's relationships by their ID, as paths in the archive, with the last word of their type. */
export async function readRelations(
  archive: Archive,
  part: string,
): Promise<Map<string, { readonly path: string; readonly type: string }>> {
  const folder = part.slice(0, part.lastIndexOf("/") + 1);
  const xml = await archive.read(`${folder}_rels/${part.slice(folder.length)}.rels`);
  const relations = new Map<string, { path: string; type: string }>();
  readXml(xml, {
    open(name, { Id, Target, Type }) {
      if (name !== "Relationship" || Id === undefined || Target === undefined) return;
      // Resolved like a URL, so that "../" and a leading "/" stay inside the archive.
      const path = URL.canParse(Target, `file:///${folder}`) ? new URL(Target, `file:///${folder}`).pathname : "/";
      relations.set(Id, { path: path.slice(1), type: Type?.split("/").at(-1) ?? "" });
    },
  });
  return relations;
}

function broken(cause: unknown): DocumentError {
  return new DocumentError("document_broken", "The file is damaged, or does not match its file name extension.", {
    cause,
  });
}
