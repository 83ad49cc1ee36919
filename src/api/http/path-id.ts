import { z } from "zod";
import { noSuchVersion, notFound } from "../../domain/errors.ts";
import type { Problem } from "../../domain/errors.ts";
import { VERSION_PATTERN } from "../../domain/skills/reference.ts";

/** The answer for an impossible version: the same as for one that does not exist. */
const absences = z.registry<{ absent: () => Problem }>();

/** A UUID in a path, in either case; anything else is a 422 at `path`. */
export function pathId(what: string): z.ZodUUID {
  // Workflow ids and the run feed use lower case.
  return z.uuid().toLowerCase().describe(`Id of the ${what}.`);
}

/** A version number in a path; anything else is the 404 of an unknown version. */
export function pathVersion(): z.ZodInt {
  return z
    .int()
    .min(-1)
    .max(2_147_483_647)
    .meta({ description: "Number of the version; -1 is the published one." })
    .register(absences, { absent: noSuchVersion });
}

/** A version of a skill in a path: a number or a name; anything else is the 404 of an unknown version. */
export function pathSkillVersion(): z.ZodString {
  return z
    .string()
    .regex(VERSION_PATTERN)
    .meta({ description: "Number of the version, `latest` or `default`." })
    .register(absences, { absent: () => notFound("skill version") });
}

/** The 404 to answer when the parameter's schema refuses its text, or undefined where that is a 422. */
export function absenceOf(schema: z.ZodType): Problem | undefined {
  return absences.get(schema)?.absent();
}
