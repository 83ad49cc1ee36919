/**
 * The migrations that the baseline replaced, all below 0191: this many, and the last of them. A database that has them
 * all has the same schema as one that the baseline created, which a test checks.
 */
const REPLACED = { count: 102, last: "0190_pages.sql", end: "0191" } as const;

/** The folder, within the migrations, of the replaced ones that databases from the build before lack. */
export const BEFORE_BASELINE = "before-baseline";

/** What to do first with a database that lacks replaced migrations which are not in that folder. */
export const UPDATE_FIRST =
  "Run `millrace migrate` of the last build that has migrations/0080_order_of_actions.sql first.";

/**
 * The names in `applied` with the baseline in place of the migrations that it replaced. `known` are the names of all
 * migrations. `outdated`: only some of the replaced ones were applied, so this program cannot migrate to the baseline.
 */
export function withBaseline(
  applied: readonly string[],
  known: readonly string[],
): { readonly names: string[]; readonly outdated: boolean } {
  const replaced = applied.filter((name) => name < REPLACED.end && !known.includes(name));
  if (replaced.length === 0) return { names: [...applied], outdated: false };
  const later = applied.filter((name) => name >= REPLACED.end);
  if (replaced.length < REPLACED.count || !replaced.includes(REPLACED.last)) return { names: later, outdated: true };
  return { names: [...known.filter((name) => name < REPLACED.end), ...later], outdated: false };
}
