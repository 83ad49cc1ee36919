import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { migrationsIn } from "../../src/stores/migrate.ts";
import { administer } from "./database.ts";
import { MIGRATIONS } from "./own-postgres.ts";

/** What pg_dump wrote of an empty database with the migrations up to 0080, the first 79 of the 102 that the baseline replaced. */
const DUMP = join(import.meta.dirname, "../fixtures/before-baseline.sql.gz");
const ROLES = ["millrace_app", "millrace_search"].map(
  (role) =>
    `do $$ begin create role ${role} nologin; grant ${role} to current_user; exception when duplicate_object then null; end $$;`,
);

/** Makes an empty database one from before the baseline. */
export async function fillBeforeBaseline(url: string): Promise<void> {
  await administer(url, `${ROLES.join("\n")}\n${gunzipSync(readFileSync(DUMP)).toString("utf8")}`);
}

/** Makes an empty database one with all the migrations that the baseline replaced. */
export async function fillAtBaseline(url: string): Promise<void> {
  await fillBeforeBaseline(url);
  const folder = join(MIGRATIONS, "before-baseline");
  for (const name of await migrationsIn(folder)) {
    const sql = readFileSync(join(folder, name), "utf8").replaceAll(" concurrently ", " ");
    await administer(url, `${sql};\ninsert into migrations (name) values ('${name}')`);
  }
}
