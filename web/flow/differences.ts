/** One location at which two values differ. */
export interface Difference {
  /** Path to the location: `body.items[2]`. */
  readonly at: string;
  /** Undefined if the value has no such location. */
  readonly before: unknown;
  readonly after: unknown;
}

const DEEPEST = 60;

/** Locations at which two JSON values differ; at most `most` are returned. */
export function differences(before: unknown, after: unknown, most: number): Difference[] {
  const found: Difference[] = [];
  const walk = (one: unknown, other: unknown, at: string, depth: number): void => {
    if (found.length >= most || Object.is(one, other)) return;
    const isNested = isObject(one) && isObject(other) && Array.isArray(one) === Array.isArray(other);
    if (!isNested || depth > DEEPEST) {
      if (!isNested || JSON.stringify(one) !== JSON.stringify(other)) found.push({ at, before: one, after: other });
      return;
    }
    for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
      const place = Array.isArray(one) ? `${at}[${key}]` : at === "" ? key : `${at}.${key}`;
      walk(own(one, key), own(other, key), place, depth + 1);
    }
  };
  walk(before, after, "", 0);
  return found;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
const own = (value: Record<string, unknown>, key: string): unknown =>
  Object.hasOwn(value, key) ? value[key] : undefined;

/** A line that is in both texts, or in one of them. */
export interface DiffLine {
  readonly kind: "same" | "before" | "after";
  readonly text: string;
}

/** Largest number of pairs to compare; beyond it, everything between the first and the last difference counts as changed. */
const MOST_PAIRS = 250_000;

/** Compares two texts line by line, with as few changed lines as possible. */
export function diffLines(before: string, after: string): DiffLine[] {
  return diffParts(before.split("\n"), after.split("\n"));
}

/** Words, spaces between them, and single signs. */
const WORD = /[\p{L}\p{N}\p{M}_]+|\s+|[^\p{L}\p{N}\p{M}_\s]/gu;

/** Compares two texts word by word; neighbours of the same kind are one part. */
export function diffWords(before: string, after: string): DiffLine[] {
  const parts: DiffLine[] = [];
  for (const part of diffParts(before.match(WORD) ?? [], after.match(WORD) ?? [])) {
    const last = parts.at(-1);
    if (last?.kind === part.kind) parts[parts.length - 1] = { kind: part.kind, text: last.text + part.text };
    else parts.push(part);
  }
  return parts;
}

function diffParts(one: readonly string[], other: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < one.length - start && end < other.length - start && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  const same = (text: string): DiffLine => ({ kind: "same", text });
  return [
    ...one.slice(0, start).map(same),
    ...between(one.slice(start, one.length - end), other.slice(start, other.length - end)),
    ...one.slice(one.length - end).map(same),
  ];
}

function between(one: readonly string[], other: readonly string[]): DiffLine[] {
  const [gone, come] = [
    (text: string): DiffLine => ({ kind: "before", text }),
    (text: string): DiffLine => ({ kind: "after", text }),
  ];
  if (one.length * other.length > MOST_PAIRS || one.length === 0 || other.length === 0)
    return [...one.map(gone), ...other.map(come)];
  // Length of the longest common subsequence of the remaining lines, for each pair of positions.
  const width = other.length + 1;
  const rests = new Uint32Array((one.length + 1) * width);
  const rest = (i: number, j: number): number => rests[i * width + j] ?? 0;
  for (let i = one.length - 1; i >= 0; i -= 1)
    for (let j = other.length - 1; j >= 0; j -= 1)
      rests[i * width + j] = one[i] === other[j] ? rest(i + 1, j + 1) + 1 : Math.max(rest(i + 1, j), rest(i, j + 1));
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < one.length || j < other.length) {
    const [left, right] = [one[i], other[j]];
    if (left !== undefined && left === right) {
      lines.push({ kind: "same", text: left });
      i += 1;
      j += 1;
    } else if (left !== undefined && (right === undefined || rest(i + 1, j) >= rest(i, j + 1))) {
      lines.push(gone(left));
      i += 1;
    } else if (right !== undefined) {
      lines.push(come(right));
      j += 1;
    }
  }
  return lines;
}

/** Excerpts of two texts around their first difference. */
export function around(before: string, after: string, length: number): readonly [string, string] {
  let at = 0;
  while (at < before.length && at < after.length && before[at] === after[at]) at += 1;
  const from = Math.max(0, at - length);
  const cut = (text: string): string =>
    `${from > 0 ? "…" : ""}${text.slice(from, at + length)}${text.length > at + length ? "…" : ""}`;
  return [cut(before), cut(after)];
}
