import { NodeFailure } from "../../domain/runs/failure.ts";
import type { Json } from "../../domain/json.ts";

/**
 * The JSON text of a value. Throws NodeFailure `value_too_deep` if it is nested too deep to be written (some 4000
 * levels).
 */
export function jsonText(value: Json): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new NodeFailure("value_too_deep", "The value is nested too deeply.", { cause: error });
  }
}
