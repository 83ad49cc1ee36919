import { beforeAll, expect, it } from "vitest";
import type { JsonObject } from "../../src/domain/json.ts";
import type { Db } from "../../src/stores/db.ts";
import {
  compareImportedActions,
  findImportedAction,
  putImportedProvider,
  replaceImportedActions,
  type ImportedProviderRow,
} from "../../src/stores/providers/imports.ts";
import { buildTenant, ownDatabase, type Tenant } from "./rows.ts";

const own = ownDatabase();
let tenant: Tenant;
const inOrg = <T>(work: (db: Db) => Promise<T>) => own.database.org(tenant.org_id, work);
beforeAll(async () => {
  tenant = await buildTenant(own.database);
  const provider = {} as ImportedProviderRow["provider"];
  await inOrg((db) => putImportedProvider(db, tenant.org_id, { provider_id: "p", provider }, null));
});

const action = (...names: string[]): JsonObject => ({
  action_id: "a",
  input_schema: { properties: Object.fromEntries(names.map((name) => [name, {}])) },
});
const put = (each: JsonObject) => inOrg((db) => replaceImportedActions(db, tenant.org_id, "p", JSON.stringify([each])));
const shown = async () => JSON.stringify(await inOrg((db) => findImportedAction(db, "p", "a")));

it("an action keeps its last import's field order; a new order alone is not reported as a change", async () => {
  for (const names of [
    ["surname", "name"],
    ["name", "surname"],
  ]) {
    await put(action(...names));
    expect(await shown()).toBe(JSON.stringify(action(...names)));
  }
  const again = JSON.stringify([action("surname", "name")]);
  expect(await inOrg((db) => compareImportedActions(db, "p", again))).toEqual([]);
});

it("an action replaced by an older process is shown as that process stored it, until the next import", async () => {
  await put(action("surname", "name"));
  await inOrg((db) =>
    db.query("update imported_actions set action = $1::jsonb", [JSON.stringify(action("street", "no"))]),
  );
  expect(await shown()).toBe(JSON.stringify(action("no", "street")));
  await put(action("surname", "name"));
  expect(await shown()).toBe(JSON.stringify(action("surname", "name")));
});

it("an action imported by an older release is shown as it was stored", async () => {
  await put(action("surname", "name"));
  await inOrg((db) => db.query("update imported_actions set written_action = null"));
  expect(await shown()).toBe(JSON.stringify(action("name", "surname")));
});
