import { distance } from "fastest-levenshtein";

/** Longest name and most candidates to compare, so that the work stays small whatever a caller sends. */
const MAX_CHARS = 64;
const MAX_CANDIDATES = 250;

/** The candidate that a mistyped name most likely means; undefined if none is close. */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  if (name.length > MAX_CHARS) return undefined;
  let nearest: string | undefined;
  let least = Infinity;
  for (const candidate of candidates.slice(0, MAX_CANDIDATES)) {
    if (candidate.length > MAX_CHARS) continue;
    const far = distance(name.toLowerCase(), candidate.toLowerCase());
    // A third of the longer name may differ, and at least one character.
    const most = Math.max(1, Math.floor(Math.max(name.length, candidate.length) / 3));
    if (far <= most && far < least) [nearest, least] = [candidate, far];
  }
  return nearest;
}
