import { z } from "zod";
import { noSuchVersion, notFound } from "../../domain/errors.ts";
import type { Problem } from "../../domain/errors.ts";
import { VERSION_PATTERN } from "../../domain/skills/reference.ts";

/** The response for an impossible version: the same as for a version that does not exist. */
const absences = z.registry<{ absent: () => Problem }>();

/** A UUID in a path, in either case; anything else is a 422 at `path`. */
export function pathId(what: string): z.ZodUUID {
  // Workflow ids and the run feed use lower case.
  return z.uuid().toLowerCase().describe(`ID of the ${what}.`);
}

/** A version number in a path; anything else is the 404 of an unknown version. */
export function pathVersion(): z.ZodInt {
  return z
    .int()
    .min(-2_147_483_647)
    .max(2_147_483_647)
    .meta({ description: "Version number; -1 is the published version." })
    .register(absences, { absent: noSuchVersion });
}

/** A version of a skill in a path: a number or a name; anything else is the 404 of an unknown version. */
export function pathSkillVersion(): z.ZodString {
  return z
    .string()
    .regex(VERSION_PATTERN)
    .meta({ description: "Version number, `latest` or `default`." })
    .register(absences, { absent: () => notFound("skill version") });
}

/** The 404 to return if the parameter's schema refuses its text, or undefined if that is a 422. */
export function absenceOf(schema: z.ZodType): Problem | undefined {
  return absences.get(schema)?.absent();
}
