/** Prices of a model in US dollars per million tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** Price of input tokens read from the endpoint's cache; by default that of `input`. */
  readonly cached_input?: number;
}

export type Prices = Readonly<Record<string, ModelPrice>>;

/** The operator's prices, then published ones. An operator's price also applies to model names that begin with its name. */
export interface PriceTable {
  readonly own: Prices;
  readonly listed: Prices;
}

export interface TokenTotals {
  readonly input: number;
  readonly output: number;
  /** The part of `input` that was read from a cache. */
  readonly cached: number;
}

/** What to do if a model has no price. */
export const PRICE_WAY_OUT =
  "Add its price to the file in MILLRACE_MODEL_PRICES_FILE, use another model, or omit max_cost_usd";

const MILLION = 1_000_000;

/** List prices of well-known models, as published by their makers. They apply to these names and to dated versions of them. */
export const MODEL_PRICES: Prices = {
  "claude-haiku-4-5": { input: 1, output: 5, cached_input: 0.1 },
  "claude-sonnet-4-5": { input: 3, output: 15, cached_input: 0.3 },
  "claude-opus-4-5": { input: 5, output: 25, cached_input: 0.5 },
  "gpt-4o": { input: 2.5, output: 10, cached_input: 1.25 },
  "gpt-4o-mini": { input: 0.15, output: 0.6, cached_input: 0.075 },
  "gpt-4.1": { input: 2, output: 8, cached_input: 0.5 },
  "gpt-4.1-mini": { input: 0.4, output: 1.6, cached_input: 0.1 },
};

/** Cost of a call in US dollars; null if the model has no price. */
export function costOf(prices: PriceTable, model: string, { input, output, cached }: TokenTotals): number | null {
  const price = priceOf(prices, model);
  if (price === null) return null;
  const fresh = (input - cached) * price.input + cached * (price.cached_input ?? price.input);
  return (fresh + output * price.output) / MILLION;
}

/** An exact name takes precedence over a prefix: `gpt-4.1-nano` is not `gpt-4.1`. Null if the model has no price. */
export function priceOf({ own, listed }: PriceTable, model: string): ModelPrice | null {
  const exact = of(own, model) ?? of(listed, model);
  if (exact !== null) return exact;
  const [longest] = Object.keys(own)
    .filter((name) => model.startsWith(name))
    .toSorted((one, other) => other.length - one.length);
  return longest === undefined ? of(listed, model.replace(DATED, "")) : of(own, longest);
}

/** Suffixes that makers add to a model's name for a version. */
const DATED = /[-@](?:latest|\d{4}-\d{2}-\d{2}|\d{8})$/;

const of = (prices: Prices, name: string): ModelPrice | null =>
  Object.hasOwn(prices, name) ? (prices[name] ?? null) : null;
