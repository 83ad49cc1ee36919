import { ownMember } from "../json.ts";
import {
  isOption,
  readMetadataValue,
  type Metadata,
  type MetadataSchema,
  type MetadataType,
  type MetadataValue,
} from "./metadata.ts";

const MAX_STRING = 1000;
const MAX_LIST = 100;

/** Metadata fields that are read from documents in every knowledge base. */
const DOCUMENT_FIELDS: MetadataSchema["properties"] = {
  title: { type: "string", description: "The document's or page's title", order: 0 },
  author: { type: "string", description: "Who wrote it", order: 1 },
  description: { type: "string", description: "The document's description or summary", order: 2 },
  keywords: { type: "string_list", description: "The document's keywords", order: 3 },
  language: { type: "string", description: "The language that the document declares", order: 4 },
  created: { type: "date", description: "When it was created or published", order: 5 },
  modified: {
    type: "date",
    description: "When it was last changed, according to the document or its server",
    order: 6,
  },
};

/** The fields that are read from documents: the standard ones, with the ones that the knowledge base declares added or in their place. */
export function dataloaderFields(declared: MetadataSchema): MetadataSchema {
  return { properties: { ...DOCUMENT_FIELDS, ...declared.properties } };
}

/**
 * A document's own metadata, by the fields of its knowledge base. Property names are in lower case. Values that do not fit their field are
 * omitted, because the user cannot correct another author's document.
 */
export function readDocumentMetadata(declared: MetadataSchema, properties: Readonly<Record<string, string>>): Metadata {
  const metadata: Record<string, MetadataValue> = {};
  for (const [name, { type, options }] of Object.entries(dataloaderFields(declared).properties)) {
    const text = ownMember(properties, name.toLowerCase());
    if (text === undefined) continue;
    const read = readMetadataValue(type, valueOf(type, text));
    if ("value" in read && isOption(read.value, options)) metadata[name] = read.value;
  }
  return metadata;
}

function valueOf(type: MetadataType, text: string): unknown {
  switch (type) {
    case "string":
      return text.slice(0, MAX_STRING).toWellFormed();
    case "number":
      return /^[-+]?\d{1,30}(?:\.\d{1,30})?$/.test(text) ? Number(text) : null;
    case "boolean":
      return /^(?:true|yes|1)$/i.test(text) ? true : /^(?:false|no|0)$/i.test(text) ? false : null;
    case "date":
      return dateOf(text);
    case "string_list":
      return text
        .split(/[,;]/)
        .map((each) => each.trim().slice(0, MAX_STRING).toWellFormed())
        .filter((each) => each !== "")
        .slice(0, MAX_LIST);
  }
}

/** Converts dates as documents and servers write them: a year or month becomes its first day, and a time without a zone is in UTC. */
function dateOf(text: string): string {
  if (/^\d{4}(?:-\d{2})?$/.test(text)) return `${text}-01-01`.slice(0, 10);
  if (/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?$/.test(text)) return `${text}Z`;
  // HTTP's format: Sun, 06 Nov 1994 08:49:37 GMT.
  if (!/^[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} /.test(text)) return text;
  const time = Date.parse(text);
  return Number.isNaN(time) ? text : new Date(time).toISOString();
}
