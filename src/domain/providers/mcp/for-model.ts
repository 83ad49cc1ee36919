import { parseExactJson } from "../../exact-json.ts";
import { canonicalJson } from "../../flow/definition/content-hash.ts";
import { isObject, type Json, type JsonObject } from "../../json.ts";

/**
 * What a model receives from the output of an MCP tool, which may contain the same content as text, as parts and as a structure: each
 * content once. Parts that are not text are only named, with type and size. Any other value is returned unchanged.
 */
export function forModel(output: Json): Json {
  if (!isObject(output) || typeof output["text"] !== "string" || !isParts(output["content"])) return output;
  const { text, content, structured_content: structured, ...others } = output;
  if (Object.keys(others).length > 0) return output;
  const media = content.flatMap((part) => (part["type"] === "text" ? [] : [named(part)]));
  const parts = media.length === 0 ? {} : { parts: media };
  if (structured === undefined) return media.length === 0 ? text : { text, ...parts };
  // Servers repeat the structure as text for clients that do not support structures.
  return isSame(text, structured)
    ? { structured_content: structured, ...parts }
    : { text, structured_content: structured, ...parts };
}

function named(part: JsonObject): JsonObject {
  const { type = "unknown", mimeType, uri, name, resource } = part;
  const inner = isObject(resource) ? resource : {};
  if (typeof inner["text"] === "string") return { type, uri: inner["uri"] ?? null, text: inner["text"] };
  const data = [part["data"], inner["blob"]].find((each) => typeof each === "string");
  return {
    type,
    ...(mimeType === undefined ? {} : { mime_type: mimeType }),
    ...(uri === undefined ? {} : { uri }),
    ...(name === undefined ? {} : { name }),
    ...(typeof data === "string" ? { bytes: Math.floor((data.length * 3) / 4), note: "Not shown." } : {}),
  };
}

function isSame(text: string, structured: Json): boolean {
  try {
    return canonicalJson(parseExactJson(text)) === canonicalJson(structured);
  } catch {
    return false;
  }
}

function isParts(value: Json | undefined): value is JsonObject[] {
  return Array.isArray(value) && value.every((part: Json) => isObject(part) && typeof part["type"] === "string");
}
