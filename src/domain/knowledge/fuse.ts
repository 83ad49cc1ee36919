/** Reciprocal rank fusion's constant: how little the first places count more than the later ones. */
const RANK_CONSTANT = 60;
/** Places of each ranking that are fused. */
export const FUSED_DEPTH = 100;

/** Fuses rankings by reciprocal rank: the sum of 1 / (60 + place), places from 1. Equal sums keep the order of first appearance. */
export function fuseRankings<Key>(rankings: readonly (readonly Key[])[]): Map<Key, number> {
  const scores = new Map<Key, number>();
  for (const ranking of rankings) {
    ranking.slice(0, FUSED_DEPTH).forEach((key, index) => {
      scores.set(key, (scores.get(key) ?? 0) + 1 / (RANK_CONSTANT + index + 1));
    });
  }
  return new Map([...scores].toSorted(([, a], [, b]) => b - a));
}
