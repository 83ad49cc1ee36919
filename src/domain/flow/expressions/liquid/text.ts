import { Drop, toValue, type Context } from "liquidjs/dist/liquid.browser.mjs";
import { NodeFailure } from "../../../runs/failure.ts";
import { MAX_VALUE_BYTES, type Json } from "../../../json.ts";
import { jsonSize } from "../json-size.ts";
import { Meter } from "../meter.ts";
import { hasOwn, isArray, toStringOf } from "../natives.ts";

/**
 * Units of one rendering: a unit is a character that is read or written, a 64th of an element that is walked over. It
 * leaves room for the longest value to go through one filter and into the output.
 */
const MAX_UNITS = 128 * 1024 * 1024;

/** A fresh budget for one rendering; it stands where the engine expects its own limiter. */
export const liquidMeter = (): Meter =>
  new Meter(
    MAX_UNITS,
    () => new NodeFailure("template_failed", "The template does too much work on these values: they are too long"),
  );

/** The budget of the rendering that a filter or tag is part of. */
export const meterOf = (context: Context): Meter => context.memoryLimit as unknown as Meter;

export const tooLarge = (): NodeFailure =>
  new NodeFailure("value_too_large", `The text is longer than ${MAX_VALUE_BYTES / 1024 / 1024} MiB`);

/** Takes from the budget what reading a value costs, with all that is in it. */
export const useWhole = (value: unknown, meter: Meter): void => {
  const plain: unknown = toValue(value);
  if (typeof plain === "string") meter.use(plain.length);
  else if (typeof plain === "object" && plain !== null) meter.use(jsonSize(plain as Json, meter.left, 0, meter));
};

/** JSON text of a value, `indent` spaces a level. Throws NodeFailure where it would be too long. */
export const jsonText = (value: unknown, meter: Meter, indent = 0): string => {
  const plain = (toValue(value) ?? null) as Json;
  const size = jsonSize(plain, MAX_VALUE_BYTES, indent, meter);
  if (size > MAX_VALUE_BYTES) throw tooLarge();
  meter.use(size);
  return JSON.stringify(plain, undefined, indent);
};

/**
 * How a value reads where text is wanted: text as it is, nothing for null and for what does not exist, an object with a
 * text member `text` (an answer of a model, a page that was loaded) as that, anything else as JSON.
 */
export const textOf = (value: unknown, meter: Meter): string => {
  switch (typeof value) {
    case "string":
      return value;
    case "number":
    case "boolean":
      return toStringOf(value);
    case "object": {
      if (value === null) return "";
      if (value instanceof Drop) return textOf(toValue(value), meter);
      const text = !isArray(value) && hasOwn(value, "text") ? (value as { text: unknown }).text : undefined;
      return typeof text === "string" ? text : jsonText(value, meter);
    }
    default:
      return "";
  }
};

/** Collects what a template writes, and stops it where it gets too long. */
export class TextEmitter {
  buffer = "";
  readonly #meter: Meter;

  constructor(context: Context) {
    this.#meter = meterOf(context);
  }

  write(value: unknown): void {
    const text = textOf(value, this.#meter);
    if (this.buffer.length + text.length > MAX_VALUE_BYTES) throw tooLarge();
    this.#meter.use(text.length);
    this.buffer += text;
  }
}
