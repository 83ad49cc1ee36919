/** One place at which two values are different. */
export interface Difference {
  /** Members and positions that lead there: `body.items[2]`. */
  readonly at: string;
  /** Undefined where there is nothing. */
  readonly before: unknown;
  readonly after: unknown;
}

const DEEPEST = 60;

/** Where two JSON values are different, `most` places at most. */
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

/** A line of two texts: in both, or in one of them. */
export interface DiffLine {
  readonly kind: "same" | "before" | "after";
  readonly text: string;
}

/** Pairs of lines that are compared at most; beyond, all that lies between the first and the last difference counts as changed. */
const MOST_PAIRS = 250_000;

/** Two texts line by line: as few lines changed as can be. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [one, other] = [before.split("\n"), after.split("\n")];
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
  // The longest common rest of both, from each pair of places.
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

/** Two texts around the place where they begin to be different. */
export function around(before: string, after: string, length: number): readonly [string, string] {
  let at = 0;
  while (at < before.length && at < after.length && before[at] === after[at]) at += 1;
  const from = Math.max(0, at - length);
  const cut = (text: string): string =>
    `${from > 0 ? "…" : ""}${text.slice(from, at + length)}${text.length > at + length ? "…" : ""}`;
  return [cut(before), cut(after)];
}
