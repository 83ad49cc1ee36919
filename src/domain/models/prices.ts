/** Prices of a model in US dollars for a million tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** Of input tokens read from the endpoint's cache; as `input` where it is left out. */
  readonly cached_input?: number;
}

/** Prices by a model's name, or by the longest beginning of it that has one. */
export type PriceTable = Readonly<Record<string, ModelPrice>>;

export interface TokenTotals {
  readonly input: number;
  readonly output: number;
  /** Of `input`. */
  readonly cached: number;
}

const MILLION = 1_000_000;

/** Cost of a call in US dollars; null where the model has no price. */
export function costOf(prices: PriceTable, model: string, { input, output, cached }: TokenTotals): number | null {
  const price = priceOf(prices, model);
  if (price === null) return null;
  const fresh = (input - cached) * price.input + cached * (price.cached_input ?? price.input);
  return (fresh + output * price.output) / MILLION;
}

function priceOf(prices: PriceTable, model: string): ModelPrice | null {
  const names = Object.keys(prices).filter((name) => model.startsWith(name));
  const best = names.toSorted((one, other) => other.length - one.length)[0];
  return best === undefined ? null : (prices[best] ?? null);
}
