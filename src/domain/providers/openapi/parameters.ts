import type { Json, JsonObject } from "../../json.ts";
import { ActionRefused, asText } from "../action.ts";

/** A parameter of an operation, and the member of the inputs that it takes. */
export interface OperationParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header" | "cookie";
  readonly input: string;
  readonly explode: boolean;
  /** `form`, `simple`, `label`, `matrix`, `deepObject`, `spaceDelimited`, `pipeDelimited`. */
  readonly style: string;
  /** The value is sent as JSON. */
  readonly json?: true;
}

/** What separates the items of a list in a query, by style; a form's is a comma. */
const DELIMITERS: Readonly<Record<string, string>> = { spaceDelimited: "%20", pipeDelimited: "%7C" };

/** What a style makes of a value: its items, or its members, in their order. */
type Parts = { readonly items: readonly string[] } | { readonly members: ReadonlyArray<readonly [string, string]> };

/** No style says how values within values are written. */
function partsOf(name: string, value: Json | undefined): Parts {
  const textIn = (each: Json): string => {
    if (typeof each !== "object" || each === null) return asText(each);
    throw new ActionRefused("inputs", `${name}: lists and objects within it cannot be written as a parameter`);
  };
  if (Array.isArray(value)) return { items: value.map(textIn) };
  if (typeof value !== "object" || value === null) return { items: [asText(value)] };
  return { members: Object.entries(value as JsonObject).map(([key, each]) => [key, textIn(each)]) };
}

/** The parts as RFC 6570 joins them, each encoded: members as k=v where they are exploded, as k,v otherwise. */
function joined(parts: Parts, explode: boolean, delimiter: string, encode: (text: string) => string): string {
  if ("items" in parts) return parts.items.map(encode).join(delimiter);
  return parts.members.map(([key, value]) => encode(key) + (explode ? "=" : delimiter) + encode(value)).join(delimiter);
}

/** A part of a path. Throws ActionRefused for one that is empty, or leads out of its place. */
export function pathPart({ name, style, explode, json }: OperationParameter, value: Json | undefined): string {
  const parts = json ? { items: [JSON.stringify(value)] } : partsOf(name, value);
  const encode = encodeURIComponent;
  const text = joined(parts, explode, style === "label" && explode ? "." : ",", encode);
  if (text === "" || /^\.{1,2}$/.test(text))
    throw new ActionRefused("inputs", `${name}: "${text}" cannot be part of a path`);
  if (style === "label") return `.${text}`;
  if (style !== "matrix") return text;
  if (!explode) return `;${encode(name)}=${text}`;
  const pairs = "items" in parts ? parts.items.map((each): [string, string] => [name, each]) : parts.members;
  return pairs.map(([key, each]) => `;${encode(key)}=${encode(each)}`).join("");
}

/** A list or object that is one parameter of the query, encoded; null where it is none, or several. */
export function queryList({ name, style, explode, json }: OperationParameter, value: Json): string | null {
  if (json || explode || style === "deepObject" || typeof value !== "object" || value === null) return null;
  const text = joined(partsOf(name, value), false, DELIMITERS[style] ?? ",", encodeURIComponent);
  return `${encodeURIComponent(name)}=${text}`;
}

/** The same as parameters of the query by name. */
export function queryPairs({ name, style, json }: OperationParameter, value: Json): Array<readonly [string, string]> {
  if (json) return [[name, JSON.stringify(value)]];
  const parts = partsOf(name, value);
  // Services write lists as name[], name[0] or name: the document does not say which.
  if (style === "deepObject" && "items" in parts)
    throw new ActionRefused("inputs", `${name}: the style deepObject writes objects only`);
  if ("items" in parts) return parts.items.map((each): readonly [string, string] => [name, each]);
  return parts.members.map(([key, each]) => [style === "deepObject" ? `${name}[${key}]` : key, each]);
}

/** A header is written as it is: an item with a comma in it would be two. */
export function headerText({ name, explode, json }: OperationParameter, value: Json): string {
  if (json) return JSON.stringify(value);
  const parts = partsOf(name, value);
  const texts = "items" in parts ? (Array.isArray(value) ? parts.items : []) : parts.members.flat();
  if (texts.some((text) => /[,=]/.test(text)))
    throw new ActionRefused("inputs", `${name}: items of a header have no comma and no equals sign`);
  return joined(parts, explode, ",", (text) => text);
}

/** A cookie. An exploded list would be several cookies of one name; services read only one. */
export function cookieText({ name, explode, json }: OperationParameter, value: Json): string {
  if (json) return `${name}=${encodeURIComponent(JSON.stringify(value))}`;
  const parts = partsOf(name, value);
  const isOne = "items" in parts && parts.items.length === 1;
  if (explode && !isOne)
    throw new ActionRefused("inputs", `${name}: lists and objects that are exploded cannot be cookies`);
  return `${name}=${joined(parts, false, ",", encodeURIComponent)}`;
}
