import type { Json } from "../json.ts";

/** Replaces a masked value. */
export const REDACTED = "[redacted]";

/** One step of a path: a key or index, or any of them; with `deep`, at any depth below. */
interface Step {
  readonly key: string | number;
  readonly any: boolean;
  readonly deep: boolean;
}

export type RedactPath = readonly Step[];

export type ParsedRedactPaths =
  | { readonly ok: true; readonly paths: readonly RedactPath[] }
  | { readonly ok: false; readonly problems: ReadonlyArray<{ readonly index: number; readonly message: string }> };

/** Longest path (characters) and most steps of one, because matching takes steps times values. */
const MAX_CHARS = 500;
const MAX_STEPS = 32;

// Every alternative begins differently, so matching is linear. The regular expression is sticky, so no match can skip text.
const STEP = /(\.\.|\.)?(?:([A-Za-z0-9_-]+)|(\*)|\[(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(\*)|([0-9]{1,9}))\])/y;

/**
 * Parses the JSON paths of `settings.redact`: `$.inputs.in-0`, `$.nodes["http-0"].output.body.token`, `$..password`,
 * `$.nodes.*.output.items[0]`. Filters and slices are not supported. Two names of one value are masked together: an input is also its
 * node's output, and an output of the run is its node's output.
 */
export function parseRedactPaths(sources: readonly string[]): ParsedRedactPaths {
  const paths: RedactPath[] = [];
  const problems: Array<{ index: number; message: string }> = [];
  for (const [index, source] of sources.entries()) {
    const parsed = parsePath(source);
    if (typeof parsed === "string") problems.push({ index, message: parsed });
    else paths.push(parsed, ...aliases(parsed));
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, paths };
}

function parsePath(source: string): RedactPath | string {
  if (source.length > MAX_CHARS) return `A path can have at most ${MAX_CHARS} characters`;
  if (!source.startsWith("$")) return 'A path must start with "$"';
  const steps: Step[] = [];
  for (let at = 1; at < source.length;) {
    STEP.lastIndex = at;
    const match = STEP.exec(source);
    const bracket = match?.[0].endsWith("]") ?? false;
    // `.` must be followed by a name, a bracket stands alone, and `..` may precede both.
    if (!match || (bracket ? match[1] === "." : match[1] === undefined))
      return `Not a valid path from character ${at + 1}`;
    const quoted = match[4] ?? match[5];
    const any = match[3] !== undefined || match[6] !== undefined;
    const name = match[2] ?? (quoted === undefined ? undefined : quoted.replaceAll(/\\(.)/g, "$1"));
    const key = any ? "*" : (name ?? Number(match[7]));
    steps.push({ key, any, deep: match[1] === ".." });
    at = STEP.lastIndex;
  }
  if (steps.length === 0) return "A path must name something below $";
  return steps.length > MAX_STEPS ? `A path can have at most ${MAX_STEPS} steps` : steps;
}

/** Adds the other names of a path: `$.inputs.X` is `$.nodes.X.output`, and `$.nodes.X.output` is `$.outputs.X`, in both directions. */
function aliases([first, second, third, ...rest]: RedactPath): RedactPath[] {
  const step = (key: string): Step => ({ key, any: false, deep: false });
  if (!first || !second || first.any || first.deep || second.deep) return [];
  const tail = third ? [third, ...rest] : rest;
  if (first.key === "inputs" || first.key === "outputs") return [[step("nodes"), second, step("output"), ...tail]];
  if (first.key === "nodes" && third?.key === "output" && !third.any && !third.deep) {
    return [
      [step("inputs"), second, ...rest],
      [step("outputs"), second, ...rest],
    ];
  }
  return [];
}

/** How deep a value is searched. Deeper values are masked whole if a path could match in them. */
const MAX_DEPTH = 500;

/** For each path that has matched so far, its position in `paths` and the number of matched steps. */
type Reached = ReadonlyArray<readonly [path: number, steps: number]>;

/**
 * A copy of `value` in which everything that the paths name is masked; `value` itself if no path matches. `root` is the location of `value`
 * below `$`: `["nodes", "http-0", "output"]`, `["inputs"]`, `["outputs", "out-0"]`.
 */
export function redact(value: Json, paths: readonly RedactPath[], root: ReadonlyArray<string | number>): Json {
  return mask(value, paths, reachedAt(paths, root), 0);
}

/** What the paths have matched at a location, or at the first value around it that they mask whole. */
function reachedAt(paths: readonly RedactPath[], root: ReadonlyArray<string | number>): Reached {
  const start: Reached = paths.map((_, index) => [index, 0]);
  return root.reduce((reached, key) => (isWhole(paths, reached) ? reached : advance(paths, reached, key)), start);
}

function mask(value: Json, paths: readonly RedactPath[], reached: Reached, depth: number): Json {
  if (reached.length === 0) return value;
  if (isWhole(paths, reached)) return REDACTED;
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return REDACTED;
  if (Array.isArray(value)) {
    const copy = (value as readonly Json[]).map((item, index) =>
      mask(item, paths, advance(paths, reached, index), depth + 1),
    );
    return copy.some((item, index) => item !== value[index]) ? copy : value;
  }
  const entries = Object.entries(value as Readonly<Record<string, Json>>).map(
    ([key, item]) => [key, mask(item, paths, advance(paths, reached, key), depth + 1), item] as const,
  );
  // fromEntries defines properties, so that the key "__proto__" stays a key.
  return entries.some(([, now, before]) => now !== before)
    ? Object.fromEntries(entries.map(([key, now]) => [key, now]))
    : value;
}

function isWhole(paths: readonly RedactPath[], reached: Reached): boolean {
  return reached.some(([path, steps]) => steps === paths[path]?.length);
}

function advance(paths: readonly RedactPath[], reached: Reached, key: string | number): Reached {
  const next: Array<readonly [number, number]> = [];
  // `reached` stays in ascending order, so duplicates are adjacent.
  const add = (path: number, steps: number) => {
    const last = next.at(-1);
    if (last?.[0] !== path || last[1] !== steps) next.push([path, steps]);
  };
  for (const [path, steps] of reached) {
    const step = paths[path]?.[steps];
    if (!step) continue;
    if (step.deep) add(path, steps);
    if (step.any || step.key === key) add(path, steps + 1);
  }
  return next;
}

/** Whether the paths mask a text, or may mask a part of a value, at `root`. */
export function mayMask(
  paths: readonly RedactPath[],
  root: ReadonlyArray<string | number>,
  what: "text" | "value",
): boolean {
  if (what === "text") return redact("x", paths, root) === REDACTED;
  return reachedAt(paths, root).length > 0;
}
