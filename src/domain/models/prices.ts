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

/** List prices of well-known models, as their makers published them; an operator's own table takes precedence. */
export const MODEL_PRICES: PriceTable = {
  "claude-haiku-4-5": { input: 1, output: 5, cached_input: 0.1 },
  "claude-sonnet-4-5": { input: 3, output: 15, cached_input: 0.3 },
  "claude-opus-4-5": { input: 5, output: 25, cached_input: 0.5 },
  "gpt-4o": { input: 2.5, output: 10, cached_input: 1.25 },
  "gpt-4o-mini": { input: 0.15, output: 0.6, cached_input: 0.075 },
  "gpt-4.1": { input: 2, output: 8, cached_input: 0.5 },
  "gpt-4.1-mini": { input: 0.4, output: 1.6, cached_input: 0.1 },
};

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
