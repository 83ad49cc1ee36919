/**
 * What an organisation or one of its keys may use. The list is closed: a new quota needs an entry here and in the check constraint of its
 * table.
 */
export const QUOTAS = [
  "concurrent_runs",
  "concurrent_nodes",
  "runs_per_minute",
  "storage_bytes",
  "model_usd_month",
] as const;
export type Quota = (typeof QUOTAS)[number];

/** Quotas that a key can have. Storage is not among them, because data belongs to the organisation whichever key stored it. */
export const KEY_QUOTAS = [
  "concurrent_runs",
  "concurrent_nodes",
  "runs_per_minute",
  "model_usd_month",
] as const satisfies readonly Quota[];

/** The limit of each quota; an omitted quota is unlimited. */
export type QuotaLimits = Partial<Readonly<Record<Quota, number>>>;

const MINUTE_MS = 60_000;

/**
 * The period that a use at `now` counts towards, and when the next one begins; null for quotas whose use ends on its own, such as concurrent
 * runs.
 */
export function periodOf(quota: Quota, now: Date): { readonly begins: string; readonly resets_at: string | null } {
  switch (quota) {
    case "runs_per_minute": {
      const begins = Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS;
      return { begins: new Date(begins).toISOString(), resets_at: new Date(begins + MINUTE_MS).toISOString() };
    }
    case "model_usd_month": {
      const month = (ahead: number): string =>
        new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead)).toISOString();
      return { begins: month(0), resets_at: month(1) };
    }
    default:
      return { begins: now.toISOString(), resets_at: null };
  }
}

/** Costs are stored with nine digits, so their sums are no more exact than this. */
const ROUNDING_USD = 1e-9;

/** What has been spent of a budget, and what calls in flight have reserved. */
export interface Spending {
  readonly most: number;
  readonly spent: number;
  readonly reserved: number;
}

/**
 * Whether a call with this estimated cost may start: "spent" if nothing is left, "wait" if calls in flight may need what is left. With no
 * other call in flight, a call may start while any budget is left, because its real cost is usually below the estimate.
 */
export function admitCost({ most, spent, reserved }: Spending, amount: number): "begin" | "wait" | "spent" {
  if (spent >= most - ROUNDING_USD) return "spent";
  return reserved === 0 || spent + reserved + amount <= most + ROUNDING_USD ? "begin" : "wait";
}
