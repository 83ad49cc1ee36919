import { openArchive, readXml, type Archive } from "./archive.ts";
import { DocumentError, tooLarge } from "./errors.ts";
import { scanHtml } from "./html-scan.ts";
import { DOCUMENT_LIMITS } from "./limits.ts";
import { PropertyCollector } from "./properties.ts";
import type { ReadDocument } from "./protocol.ts";
import { createTextParts } from "./text-parts.ts";

const MAX_TITLE = 500;

/** Algorithms that obfuscate fonts only and leave the text readable. */
const FONT_OBFUSCATIONS = ["http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"];

/** The text of a book in EPUB, chapters in their order, with their headings. Throws DocumentError. */
export async function readEpub(bytes: Uint8Array): Promise<Omit<ReadDocument, "pages">> {
  const archive = await openArchive(bytes);
  await requireReadable(archive);
  const { title, properties, chapters } = await readPackage(archive);
  const parts = createTextParts();
  const warnings: string[] = [];
  for (const path of chapters) {
    const page = await archive.read(path);
    if (page === null) {
      warnings.push("A chapter is missing.");
      continue;
    }
    const { text, headings: found } = scanHtml(page);
    if (text.trim() === "") continue;
    if (parts.length > 0) parts.add("\n\n");
    const start = parts.length;
    parts.add(text);
    for (const { level, char_start, char_end } of found)
      parts.headings.push({ level, char_start: start + char_start, char_end: start + char_end });
  }
  return { title, properties, text: parts.toString(), headings: parts.headings, warnings };
}

/** Throws for a book whose chapters are encrypted (DRM). */
async function requireReadable(archive: Archive): Promise<void> {
  let isProtected = false;
  readXml(await archive.read("META-INF/encryption.xml"), {
    open(name, { Algorithm = "" }) {
      // A key contains another `EncryptionMethod`, for the encryption of the key itself.
      if (name === "EncryptionMethod") isProtected ||= !FONT_OBFUSCATIONS.includes(Algorithm);
    },
  });
  if (isProtected) throw new DocumentError("document_encrypted", "The book is protected against copying (DRM).");
}

/** The book's metadata, and the paths of its chapters in reading order, without repetitions. */
async function readPackage(
  archive: Archive,
): Promise<Pick<ReadDocument, "title" | "properties"> & { readonly chapters: ReadonlySet<string> }> {
  let packagePath: string | undefined;
  readXml(await archive.read("META-INF/container.xml"), {
    open(name, attributes) {
      if (name === "rootfile") packagePath ??= attributes["full-path"];
    },
  });
  const xml = packagePath === undefined ? null : await archive.read(packagePath);
  if (xml === null)
    throw new DocumentError("document_broken", "The file is not an EPUB book, although its name says so.");
  const base = `file:///${packagePath}`;
  const files = new Map<string, string>();
  const chapters = new Set<string>();
  const collected = new PropertyCollector();
  let isMetadata = false;
  let property = "";
  let value = "";
  readXml(xml, {
    open(name, { id = "", href = "", idref = "", "media-type": type = "", property: named = "" }) {
      if (name === "metadata") isMetadata = true;
      property = name === "meta" ? named : name;
      value = "";
      if (name === "item" && /^(application\/xhtml\+xml|text\/html)$/.test(type) && URL.canParse(href, base)) {
        files.set(id, pathOf(new URL(href, base)));
      }
      const chapter = name === "itemref" ? files.get(idref) : undefined;
      if (chapter !== undefined) chapters.add(chapter);
    },
    text(part) {
      if (isMetadata && value.length < MAX_TITLE) value += part;
    },
    close(name) {
      if (name === "metadata") isMetadata = false;
      if (isMetadata) collected.add(property, value);
      property = "";
    },
  });
  if (chapters.size > DOCUMENT_LIMITS.pages)
    throw tooLarge(`The book has ${chapters.size} chapters; at most ${DOCUMENT_LIMITS.pages} can be read.`);
  const { title, ...properties } = collected.collected();
  return { title: title?.slice(0, MAX_TITLE) ?? null, properties, chapters };
}

/** Resolves a path in the archive: "../" and a leading "/" stay inside it. */
function pathOf(address: URL): string {
  try {
    return decodeURIComponent(address.pathname).slice(1);
  } catch {
    return address.pathname.slice(1);
  }
}
