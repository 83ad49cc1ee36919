import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { administer } from "./database.ts";

/** What pg_dump wrote of an empty database with the 102 migrations up to 0190 that the baseline replaced. */
const DUMP = join(import.meta.dirname, "../fixtures/before-baseline.sql.gz");
const ROLES = ["millrace_app", "millrace_search"].map(
  (role) =>
    `do $$ begin create role ${role} nologin; grant ${role} to current_user; exception when duplicate_object then null; end $$;`,
);

/** Makes an empty database one from before the baseline. */
export async function fillBeforeBaseline(url: string): Promise<void> {
  await administer(url, `${ROLES.join("\n")}\n${gunzipSync(readFileSync(DUMP)).toString("utf8")}`);
}
