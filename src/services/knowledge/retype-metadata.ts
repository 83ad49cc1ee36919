import { ValidationProblem } from "../../domain/errors.ts";
import type { ValidationIssue } from "../../domain/errors.ts";
import { convertMetadataValue } from "../../domain/knowledge/metadata.ts";
import type { MetadataSchema, MetadataValue } from "../../domain/knowledge/metadata.ts";
import type { Db } from "../../stores/db.ts";
import { pageWithFields, setMetadata } from "../../stores/knowledge/resource-metadata.ts";

const PAGE = 500;

/**
 * Converts the stored values of fields whose type changes, because filters ignore values of another type. Deletes the
 * values of removed fields, because no other request can. Converts new fields too, since earlier releases kept the
 * values of removed fields. Throws 422 for a field with a value that cannot be converted; the caller's transaction then
 * changes nothing.
 */
export async function retypeMetadata(
  db: Db,
  knowledgeBaseId: string,
  before: MetadataSchema,
  after: MetadataSchema,
): Promise<void> {
  const typeBefore = new Map(Object.entries(before.properties).map(([name, { type }]) => [name, type]));
  const types = new Map(
    Object.entries(after.properties).flatMap(([name, { type }]) =>
      typeBefore.get(name) === type ? [] : [[name, type] as const],
    ),
  );
  const removed = [...typeBefore.keys()].filter((name) => !Object.hasOwn(after.properties, name));
  const fields = [...types.keys(), ...removed];
  if (fields.length === 0) return;
  const issues = new Map<string, ValidationIssue>();
  let page;
  let last: string | null = null;
  do {
    page = await pageWithFields(db, knowledgeBaseId, fields, last, PAGE);
    last = page.at(-1)?.resource_id ?? null;
    const changed = page.map(({ resource_id, resource_path, user_metadata }) => {
      const kept = Object.entries(user_metadata).filter(([name]) => !removed.includes(name));
      const metadata: Record<string, MetadataValue> = Object.fromEntries(kept);
      for (const [name, type] of types) {
        const value = Object.hasOwn(metadata, name) ? metadata[name] : undefined;
        if (value === undefined) continue;
        const converted = convertMetadataValue(type, value);
        if (converted !== null) metadata[name] = converted;
        else if (!issues.has(name)) {
          const shown = JSON.stringify(value).slice(0, 100);
          const msg = `${shown} of ${resource_path} cannot be converted to ${type}: change or delete such values first`;
          const loc = ["body", "user_metadata_schema", "properties", name, "type"];
          issues.set(name, { loc, msg, type: "wrong_type" });
        }
      }
      return { resource_id, user_metadata: metadata };
    });
    if (issues.size === 0) await setMetadata(db, changed);
  } while (page.length === PAGE);
  if (issues.size > 0) throw new ValidationProblem([...issues.values()]);
}
