import type { ConfigFault } from "./spec.ts";

/** A fault for every entry whose ID an earlier entry already has. */
export function repeated(entries: ReadonlyArray<{ readonly id: string }>, member: string): ConfigFault[] {
  const seen = new Set<string>();
  return entries.flatMap(({ id }, index) => {
    if (!seen.has(id)) {
      seen.add(id);
      return [];
    }
    return [{ path: [member, index, "id"], severity: "error" as const, message: `Duplicate id "${id}"` }];
  });
}
