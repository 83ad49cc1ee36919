import { ApiProblem } from "../api/problem.ts";
import { pathKey, type FormErrors } from "../parts/schema-form/schema.ts";

export const NO_ERRORS: FormErrors = new Map();

/** The messages of a 422 about what was sent in a member of the body, by their path below it. */
export function errorsBelow(error: unknown, member: string): FormErrors {
  const errors = new Map<string, string[]>();
  for (const { loc, msg } of error instanceof ApiProblem ? error.issues : []) {
    const key = pathKey(loc[1] === member ? loc.slice(2) : []);
    errors.set(key, [...(errors.get(key) ?? []), msg]);
  }
  return errors;
}
