import { Drop, toValue } from "liquidjs/dist/liquid.browser.mjs";

/**
 * A value as text: text as it is, null and missing values as "", an object with a string field `text` (a model's answer, a loaded page) as
 * that, anything else as JSON.
 */
export function textOf(value: unknown): string {
  const plain: unknown = value instanceof Drop ? toValue(value) : value;
  switch (typeof plain) {
    case "string":
      return plain;
    case "number":
    case "boolean":
      return String(plain);
    case "object": {
      if (plain === null) return "";
      const text = Object.hasOwn(plain, "text") ? (plain as { text: unknown }).text : undefined;
      return typeof text === "string" ? text : JSON.stringify(plain);
    }
    default:
      return "";
  }
}
