import { objectSchema } from "../../json-schema.ts";
import type { JsonObject } from "../../json.ts";
import type { ConfigFault } from "./spec.ts";

type Entries = ReadonlyArray<{ readonly id: string }>;

/** The value of a node that chooses one of these entries, or none of them. */
export const matchedSchema = (entries: Entries): JsonObject =>
  objectSchema({ matched: { enum: [...entries.map(({ id }) => id), "else"] } });

/** The handles of a node that chooses one of these entries. */
export const caseHandles = (entries: Entries): string[] => [...entries.map(({ id }) => `case:${id}`), "else"];

/** A fault for every entry whose ID an earlier entry already has. */
export function repeated(entries: Entries, member: string): ConfigFault[] {
  const seen = new Set<string>();
  return entries.flatMap(({ id }, index): ConfigFault[] => {
    const isFirst = !seen.has(id);
    seen.add(id);
    return isFirst ? [] : [{ path: [member, index, "id"], severity: "error", message: `Duplicate id "${id}"` }];
  });
}
