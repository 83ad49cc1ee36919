import { migrate } from "../../src/stores/migrate.ts";
import { administer } from "./database.ts";
import { MIGRATIONS } from "./own-postgres.ts";
import { putDataKey } from "./payloads.ts";
import type { SharedParts } from "./shared-parts.ts";

const TEMPLATE = "millrace_template";

/** Creates the migrated database with the tests' data key, from which the databases of tests are cloned. */
export async function makeTemplate(adminUrl: string): Promise<Pick<SharedParts, "adminUrl" | "template">> {
  await administer(adminUrl, `create database ${TEMPLATE}`);
  const template = new URL(adminUrl);
  template.pathname = `/${TEMPLATE}`;
  await migrate(template.href, MIGRATIONS);
  await putDataKey(template.href);
  return { adminUrl, template: TEMPLATE };
}
