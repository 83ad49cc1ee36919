import { Drop, toValue } from "liquidjs/dist/liquid.browser.mjs";

/**
 * How a value reads where text is wanted: text as it is, nothing for null and for what does not exist, an object with a
 * text member `text` (an answer of a model, a page that was loaded) as that, anything else as JSON.
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
