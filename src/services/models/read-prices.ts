import { readFileSync } from "node:fs";
import { z } from "zod";
import { MODEL_PRICES, type PriceTable } from "../../domain/models/prices.ts";

const price = z.number().min(0);
const pricesFile = z.record(
  z.string().min(1),
  z.strictObject({ input: price, output: price, cached_input: price.exactOptional() }),
);

/**
 * The prices of models: those of the operator's file take precedence over the built-in ones. Throws an Error that names
 * the file and its problems.
 */
export function readPrices(file: string | undefined): PriceTable {
  if (file === undefined) return { own: {}, listed: MODEL_PRICES };
  const fail = (reason: string): never => {
    throw new Error(`MILLRACE_MODEL_PRICES_FILE ${file} is not valid: ${reason}`);
  };
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    return fail((error as Error).message);
  }
  const read = pricesFile.safeParse(content);
  return read.success ? { own: read.data, listed: MODEL_PRICES } : fail(z.prettifyError(read.error));
}
