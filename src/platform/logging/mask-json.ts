import type { Json } from "../../domain/json.ts";
import { jsonText } from "../json/json-text.ts";
import type { MaskValues } from "./mask-values.ts";

/** A JSON value with known values masked everywhere, including in field names. Returns the value itself if there is nothing to mask. */
export function maskJson(value: Json, mask: MaskValues): Json {
  const text = jsonText(value);
  return mask(text) === text ? value : masked(value, mask);
}

function masked(value: Json, mask: MaskValues): Json {
  if (typeof value === "string") return mask(value);
  if (typeof value === "number") return mask(String(value)) === String(value) ? value : mask(String(value));
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each: Json) => masked(each, mask));
  // Unlike assignment, `fromEntries` keeps a key "__proto__" as an ordinary key.
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [mask(name), masked(each, mask)]));
}
