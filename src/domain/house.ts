/** How often a purge runs. */
export const ROUNDS = ["minute", "five-minutes", "day"] as const;
export type Round = (typeof ROUNDS)[number];

/** The input of a round of purges. */
export interface HouseInput {
  /** The names of the purges, in their order. */
  readonly purges: readonly string[];
  readonly activity_queue: string;
}
