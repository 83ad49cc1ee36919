import { uuidv7 } from "uuidv7";
import { expect, it, onTestFinished } from "vitest";
import { auditOf } from "../../../src/services/audit/audit.ts";
import { storeProvider } from "../../../src/services/providers/store-provider.ts";
import { findImportedProvider } from "../../../src/stores/providers/imports.ts";
import { buildTenant } from "../../stores/rows.ts";
import { testDatabase } from "../../support/database.ts";

it("a provider is not stored if its audit entry cannot be written", async () => {
  const { database, close } = await testDatabase();
  onTestFinished(close);
  const { org_id } = await buildTenant(database);
  const provider = {
    provider_version: "1",
    name: "Shop",
    description: "",
    provider_group: [],
    tags: [],
    icon: null,
    auth: { required: false, schemes: {} },
    source: "openapi" as const,
  };
  const wanted = {
    provider_id: "shop",
    named: true,
    dry_run: false,
    force: false,
    accept_changes: false,
    trust_annotations: null,
    name: null,
    made: { ok: true as const, provider, operations: 0, actions: "[]" },
    address: null,
    new_connection_id: null,
  };
  const find = () => database.org(org_id, (db) => findImportedProvider(db, "shop"));
  const fails = async (): Promise<void> => {
    throw new Error("no entry");
  };
  await expect(storeProvider(database, org_id, wanted, fails)).rejects.toThrow("no entry");
  expect(await find()).toBeNull();
  await storeProvider(database, org_id, wanted, async () => undefined);
  expect(await find()).toMatchObject({ provider: { name: "Shop" } });

  // An activity whose result was lost repeats the call.
  const actor = { org_id, actor_type: "system", actor_id: null, session_id: null } as const;
  const from = { address: null, user_agent: null, request_id: null };
  const audit = auditOf({ actor: { ...actor, ...from }, operation: "importProvider", entry_id: uuidv7() });
  await storeProvider(database, org_id, { ...wanted, name: "Store" }, audit);
  await storeProvider(database, org_id, { ...wanted, name: "Store" }, audit);
  const entries = await database.org(org_id, (db) => db.query("select operation from audit_log"));
  expect(entries).toEqual([{ operation: "importProvider" }]);
});
