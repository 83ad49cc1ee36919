import { pathKey, type FormErrors } from "./schema.ts";

/** Messages of an error response by the place in a form that has the shape of the request's body. */
export function problemErrors(
  problem: {
    readonly issues: ReadonlyArray<{ readonly loc: ReadonlyArray<string | number>; readonly msg: string }>;
  } | null,
): FormErrors {
  const errors = new Map<string, string[]>();
  for (const { loc, msg } of problem?.issues ?? []) {
    const key = pathKey(loc.slice(1));
    errors.set(key, [...(errors.get(key) ?? []), msg]);
  }
  return errors;
}
