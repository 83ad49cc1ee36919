import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createKey, createOrganisation, createUser } from "../../src/cli/accounts.ts";
import { hashSecret, verifyPassword } from "../../src/platform/crypto.ts";
import { findApiKeyByHash } from "../../src/stores/api-keys.ts";
import { findUserForSignIn } from "../../src/stores/users.ts";
import { testDatabase } from "../support/database.ts";

describe("accounts made by the command line", () => {
  let test: Awaited<ReturnType<typeof testDatabase>>;
  beforeAll(async () => {
    test = await testDatabase();
  });
  afterAll(() => test.close());

  it("creates a key whose value is found by its hash alone", async () => {
    const { org_id } = await createOrganisation(test.database, "acme");
    const key = await createKey(test.database, { org_id, name: "ci", kind: "secret" });
    expect(key.value).toMatch(/^mr_sec_/);
    const found = await test.database.system((db) => findApiKeyByHash(db, hashSecret(key.value)));
    expect(found).toMatchObject({ key_id: key.key_id, org_id, kind: "secret", expires_at: null });
  });

  it("makes up a password that signs the user in", async () => {
    const { org_id } = await createOrganisation(test.database, "acme");
    const user = await createUser(test.database, { org_id, email: "ada@example.test", role: "admin" });
    const found = await test.database.system((db) => findUserForSignIn(db, "ADA@example.test"));
    expect(await verifyPassword(user.password, found?.password_hash ?? null)).toBe(true);
  });

  it("refuses an address that is taken, in whatever organisation", async () => {
    const [first, second] = [
      await createOrganisation(test.database, "a"),
      await createOrganisation(test.database, "b"),
    ];
    await createUser(test.database, { org_id: first.org_id, email: "bob@example.test", role: "viewer" });
    const again = createUser(test.database, { org_id: second.org_id, email: "Bob@example.test", role: "viewer" });
    await expect(again).rejects.toThrow("already a user");
  });
});
