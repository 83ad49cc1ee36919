import { withoutControls } from "./decode-text.ts";

/** A document's metadata, keyed by lower-case name: `title`, `author`, `created` and so on, and any others it has. */
export type DocumentProperties = Readonly<Record<string, string>>;

const MAX_PROPERTIES = 100;
const MAX_NAME = 100;
const MAX_VALUE = 1000;

/** Maps the property names of other formats to the ones every document may have. */
const NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    title: ["og:title", "dc.title", "dcterms.title", "twitter:title"],
    author: ["creator", "article:author", "dc.creator", "dcterms.creator", "citation_author"],
    description: ["og:description", "dc.description", "dcterms.description", "twitter:description"],
    language: ["lang", "content-language", "dc.language", "dcterms.language"],
    created: [
      "creationdate",
      "date",
      "pubdate",
      "datepublished",
      "article:published_time",
      "dc.date",
      "dcterms.created",
      "citation_publication_date",
    ],
    modified: [
      "moddate",
      "last-modified",
      "datemodified",
      "article:modified_time",
      "og:updated_time",
      "dcterms.modified",
      "dcterms:modified",
    ],
  }).flatMap(([name, others]) => others.map((other) => [other, name])),
);

/** Collects properties. The first non-empty value of a name stays; the total is limited. */
export class PropertyCollector {
  readonly #values = new Map<string, string>();

  add(name: string, value: unknown): void {
    if (typeof value !== "string" || name.length > MAX_NAME) return;
    const given = name.trim().toLowerCase();
    const known = NAMES.get(given) ?? given;
    const text = withoutControls(value.slice(0, MAX_VALUE).toWellFormed()).replace(/\s+/g, " ").trim();
    if (known === "" || known === "__proto__" || text === "" || this.#values.has(known)) return;
    if (this.#values.size < MAX_PROPERTIES) this.#values.set(known, text);
  }

  collected(): DocumentProperties {
    return Object.fromEntries(this.#values);
  }
}
