import type { Json } from "../../src/domain/json.ts";

/** A value with its templates replaced by their rendered texts. */
export function renderInside(value: Json, rendered: ReadonlyMap<string, string>): Json {
  if (typeof value === "string") return rendered.get(value) ?? value;
  if (Array.isArray(value)) return value.map((each: Json) => renderInside(each, rendered));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, renderInside(member, rendered)]));
}
