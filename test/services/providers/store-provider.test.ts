import { expect, it, onTestFinished } from "vitest";
import { storeProvider } from "../../../src/services/providers/store-provider.ts";
import { findImportedProvider } from "../../../src/stores/providers/imports.ts";
import { buildTenant } from "../../stores/rows.ts";
import { testDatabase } from "../../support/database.ts";

it("stores no provider that the audit log does not have", async () => {
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
});
