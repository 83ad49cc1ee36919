import { expect } from "vitest";
import type { ApiTenant } from "../tenant.ts";

/** The columns, as `table.column`, of all rows that contain one of the texts, except rows of another organisation. */
export async function placesOf(tenant: ApiTenant, texts: readonly string[], otherOrg = ""): Promise<string[]> {
  return tenant.withDatabase((database) =>
    database.system(async (db) => {
      const tables = await db.query<{ name: string }>(
        "select relname as name from pg_class where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace",
      );
      expect(tables.length).toBeGreaterThan(60);
      const found: string[] = [];
      for (const { name } of tables) {
        const rows = await db.query<{ column: string }>(
          `select distinct c.key as column from "${name}" t cross join jsonb_each_text(to_jsonb(t)) c
           where exists (select from unnest($1::text[]) as x where strpos(c.value, x) > 0
             or strpos(case when c.value ~ '^\\\\x([0-9a-f]{2})*$' then encode(decode(substr(c.value, 3), 'hex'), 'escape') else '' end, x) > 0)
           and coalesce(to_jsonb(t) ->> 'org_id', '') <> $2`,
          [texts, otherOrg],
        );
        found.push(...rows.map(({ column }) => `${name}.${column}`));
      }
      return found.toSorted();
    }),
  );
}
