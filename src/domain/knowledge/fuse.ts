/** The constant of reciprocal rank fusion: the larger it is, the less the first ranks stand out. */
const RANK_CONSTANT = 60;
/** How many ranks of each ranking are fused. */
export const FUSED_DEPTH = 100;

/**
 * Fuses rankings by reciprocal rank: the score is the weighted mean of 61 / (60 + rank), ranks from 1, so that a key which is first in all
 * rankings scores 1. Keys with equal scores keep the order of first appearance.
 */
export function fuseRankings<Key>(
  rankings: ReadonlyArray<{ readonly keys: readonly Key[]; readonly weight: number }>,
): Map<Key, number> {
  const scores = new Map<Key, number>();
  const all = rankings.reduce((sum, { weight }) => sum + weight, 0);
  for (const { keys, weight } of rankings) {
    keys.slice(0, FUSED_DEPTH).forEach((key, index) => {
      const share = (weight * (RANK_CONSTANT + 1)) / (RANK_CONSTANT + index + 1) / all;
      scores.set(key, (scores.get(key) ?? 0) + share);
    });
  }
  return inOrder(scores);
}

/** The default weight of the keyword score in a hybrid search; the cosine has the remaining weight. */
export const KEYWORD_WEIGHT = 0.4;

/** Cosines with a smaller spread than this are not stretched further, because such differences are mostly chance. */
const MIN_SPREAD = 0.2;

/** The scores of chunks by keywords or by meaning. */
export type Scored<Key> = readonly (readonly [key: Key, score: number])[];

/**
 * Fuses keyword scores (shares, 0 to 1) and cosines. The cosines of one query lie close together, so both are first compared with the best
 * of the query: keywords as a part of the best share, cosines as the distance from the worst cosine to the best one. The result is scaled
 * to `weight * share + (1 - weight) * cosine` and equals it for a chunk that is best in both, for a chunk without keywords and with the
 * worst cosine, and if only one of the two scores has weight. A key that lacks a score has 0 for it. `bench/knowledge.md` compares this
 * with other methods.
 */
export function fuseScores<Key>(byWords: Scored<Key>, byMeaning: Scored<Key>, weight: number): Map<Key, number> {
  const shares = new Map(byWords);
  const cosines = new Map(byMeaning.map(([key, cosine]) => [key, Math.max(cosine, 0)]));
  const bestShare = Math.max(...shares.values(), 0);
  const best = Math.max(...cosines.values(), 0);
  // The worst cosine of the ranking itself, without chunks that were added only for their keywords.
  const worst = Math.min(...byMeaning.slice(0, FUSED_DEPTH).map(([, cosine]) => Math.max(cosine, 0)), best);
  const floor = Math.min(worst, best - MIN_SPREAD);
  const scores = new Map<Key, number>();
  for (const key of new Set([...shares.keys(), ...cosines.keys()])) {
    const words = bestShare === 0 ? 0 : (shares.get(key) ?? 0) / bestShare;
    const meaning = Math.max((cosines.get(key) ?? 0) - floor, 0) / (best - floor);
    const lowest = (1 - weight) * Math.max(floor, 0);
    const highest = weight * bestShare + (1 - weight) * best;
    scores.set(key, rounded(lowest + (highest - lowest) * (weight * words + (1 - weight) * meaning)));
  }
  return inOrder(scores);
}

/** Further digits would depend on which of several equally distant chunks the index happened to visit. */
const rounded = (score: number): number => Math.round(score * 1e9) / 1e9;

function inOrder<Key>(scores: Map<Key, number>): Map<Key, number> {
  return new Map([...scores].toSorted(([, a], [, b]) => b - a));
}
