/** What an organisation, or one of its keys, may use. The list is closed: a new quota is a line here and in a check of its table. */
export const QUOTAS = [
  "concurrent_runs",
  "concurrent_nodes",
  "runs_per_minute",
  "storage_bytes",
  "model_usd_month",
] as const;
export type Quota = (typeof QUOTAS)[number];

/** Quotas that a key can have. What is stored is the organisation's, whoever brought it. */
export const KEY_QUOTAS = [
  "concurrent_runs",
  "concurrent_nodes",
  "runs_per_minute",
  "model_usd_month",
] as const satisfies readonly Quota[];

/** The most of each quota; left out: as much as one likes. */
export type QuotaLimits = Partial<Readonly<Record<Quota, number>>>;

const MINUTE_MS = 60_000;

/** The beginning of the time that a use at `now` counts for, and when the next one begins; null: what is used is given back. */
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

/** Costs are kept with nine digits; sums of them are as near. */
const ROUNDING_USD = 1e-9;

/** What is spent of a sum that must not be exceeded, and what calls that are under way may still cost. */
export interface Spending {
  readonly most: number;
  readonly spent: number;
  readonly reserved: number;
}

/**
 * Whether a call may begin that may cost so much: "spent" where nothing is left; "wait" where calls under way may need what is
 * left. Alone, a call may begin as long as anything is left: what it costs is known at its end, and most cost less than they might.
 */
export function admitCost({ most, spent, reserved }: Spending, amount: number): "begin" | "wait" | "spent" {
  if (spent >= most - ROUNDING_USD) return "spent";
  return reserved === 0 || spent + reserved + amount <= most + ROUNDING_USD ? "begin" : "wait";
}
