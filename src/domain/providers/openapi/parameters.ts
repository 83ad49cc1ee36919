import type { Json, JsonObject } from "../../json.ts";
import { ActionRefused, asText } from "../action.ts";

export const PLACES = ["path", "query", "header", "cookie"] as const;

/** A parameter of an operation, and the input that provides its value. */
export interface OperationParameter {
  readonly name: string;
  readonly in: (typeof PLACES)[number];
  readonly input: string;
  readonly explode: boolean;
  /** `form`, `simple`, `label`, `matrix`, `deepObject`, `spaceDelimited`, `pipeDelimited`. */
  readonly style: string;
  /** Whether the value is sent as JSON. */
  readonly json?: true;
}

/** The separator of list items in a query, by style; for `form` it is a comma. */
const DELIMITERS: Readonly<Record<string, string>> = { spaceDelimited: "%20", pipeDelimited: "%7C" };

/** A value divided for serialisation: its items or its fields, in order. */
type Parts = { readonly items: readonly string[] } | { readonly members: ReadonlyArray<readonly [string, string]> };

/** Throws ActionRefused for nested lists and objects, because no style defines how to write them. */
function partsOf(name: string, value: Json | undefined): Parts {
  const textIn = (each: Json): string => {
    if (typeof each !== "object" || each === null) return asText(each);
    throw new ActionRefused("inputs", `${name}: lists and objects inside this value cannot be written as a parameter`);
  };
  if (Array.isArray(value)) return { items: value.map(textIn) };
  if (typeof value !== "object" || value === null) return { items: [asText(value)] };
  return { members: Object.entries(value as JsonObject).map(([key, each]) => [key, textIn(each)]) };
}

/** The encoded parts, joined as in RFC 6570; fields become k=v if exploded, otherwise k,v. */
function joined(parts: Parts, explode: boolean, delimiter: string, encode: (text: string) => string): string {
  if ("items" in parts) return parts.items.map(encode).join(delimiter);
  return parts.members.map(([key, value]) => encode(key) + (explode ? "=" : delimiter) + encode(value)).join(delimiter);
}

/** A parameter in a path. Throws ActionRefused for an empty one, and for "." or "..", which would change the path. */
export function pathPart({ name, style, explode, json }: OperationParameter, value: Json | undefined): string {
  const parts = json ? { items: [JSON.stringify(value)] } : partsOf(name, value);
  const encode = encodeURIComponent;
  const text = joined(parts, explode, style === "label" && explode ? "." : ",", encode);
  if (text === "" || /^\.{1,2}$/.test(text))
    throw new ActionRefused("inputs", `${name}: "${text}" is not allowed as part of a path`);
  if (style === "label") return `.${text}`;
  if (style !== "matrix") return text;
  if (!explode) return `;${encode(name)}=${text}`;
  const pairs = "items" in parts ? parts.items.map((each): [string, string] => [name, each]) : parts.members;
  return pairs.map(([key, each]) => `;${encode(key)}=${encode(each)}`).join("");
}

/** A list or object that becomes a single query parameter, encoded; null for any other value, or if it becomes several parameters. */
export function queryList({ name, style, explode, json }: OperationParameter, value: Json): string | null {
  if (json || explode || style === "deepObject" || typeof value !== "object" || value === null) return null;
  const text = joined(partsOf(name, value), false, DELIMITERS[style] ?? ",", encodeURIComponent);
  return `${encodeURIComponent(name)}=${text}`;
}

export function queryPairs({ name, style, json }: OperationParameter, value: Json): Array<readonly [string, string]> {
  if (json) return [[name, JSON.stringify(value)]];
  const parts = partsOf(name, value);
  // The document does not say how the service writes lists: name[], name[0] or name.
  if (style === "deepObject" && "items" in parts)
    throw new ActionRefused("inputs", `${name}: the style deepObject needs an object`);
  if ("items" in parts) return parts.items.map((each): readonly [string, string] => [name, each]);
  return parts.members.map(([key, each]) => [style === "deepObject" ? `${name}[${key}]` : key, each]);
}

/** A header's text. It is not encoded, so an item with a comma would become two items. */
export function headerText({ name, explode, json }: OperationParameter, value: Json): string {
  if (json) return JSON.stringify(value);
  const parts = partsOf(name, value);
  const texts = "items" in parts ? (Array.isArray(value) ? parts.items : []) : parts.members.flat();
  if (texts.some((text) => /[,=]/.test(text)))
    throw new ActionRefused("inputs", `${name}: items of a header cannot contain a comma or an equals sign`);
  return joined(parts, explode, ",", (text) => text);
}

/** A cookie. An exploded list would need several cookies of the same name, and services read only one of them. */
export function cookieText({ name, explode, json }: OperationParameter, value: Json): string {
  if (json) return `${name}=${encodeURIComponent(JSON.stringify(value))}`;
  const parts = partsOf(name, value);
  const isOne = "items" in parts && parts.items.length === 1;
  if (explode && !isOne)
    throw new ActionRefused("inputs", `${name}: exploded lists and objects cannot be sent as cookies`);
  return `${name}=${joined(parts, false, ",", encodeURIComponent)}`;
}
