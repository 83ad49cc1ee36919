import { readFileSync } from "node:fs";
import { join } from "node:path";
import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { masterKeys } from "../../src/platform/secrets/master-key.ts";
import { createSecretBox, generateMasterKey, SealBroken, type SecretBox } from "../../src/platform/secrets/seal.ts";
import { openHeaders, openSecret, sealHeaders, sealSecret } from "../../src/services/webhooks/subscription-secrets.ts";
import { buildTenant, putSubscription } from "../stores/rows.ts";
import { testDatabase } from "../support/database.ts";
import { scratchDirectory } from "../support/scratch.ts";
import { millrace, type Outcome } from "./millrace.ts";

const SECRET = "whsec_of the subscription";
const HEADERS = { authorization: "Bearer of the receiver" };
const [oldKey, newKey] = [generateMasterKey(), generateMasterKey()];
const boxOf = (...keys: string[]): SecretBox => createSecretBox(keys.map((key) => Buffer.from(key, "base64")));

describe("millrace secrets reseal", () => {
  let test: Awaited<ReturnType<typeof testDatabase>>;
  beforeAll(async () => {
    test = await testDatabase();
  });
  afterAll(() => test.close());

  /** Creates a webhook whose secret and headers are encrypted by `box`; deletes all other webhooks except `others`. */
  async function subscribe(box: SecretBox, ...others: string[]): Promise<string> {
    const { org_id } = await buildTenant(test.database);
    const id = uuidv7();
    const sealed = { secret: sealSecret(box, id, SECRET), headers: sealHeaders(box, id, HEADERS) };
    await test.database.system(async (db) => {
      await db.query("delete from webhook_subscriptions where subscription_id <> all ($1::uuid[])", [others]);
      await putSubscription(db, org_id, id, sealed);
    });
    return id;
  }

  async function stored(id: string): Promise<{ secret: Buffer; headers: Buffer }> {
    const rows = await test.database.system((db) =>
      db.query<{ secret: Buffer; headers: Buffer }>(
        "select secret, headers from webhook_subscriptions where subscription_id = $1::uuid",
        [id],
      ),
    );
    if (!rows[0]) throw new Error(`no subscription ${id}`);
    return rows[0];
  }

  /** Runs the command, and checks that its output contains no secret and no key. */
  async function reseal(environment: Readonly<Record<string, string>>, ...args: string[]): Promise<Outcome> {
    const outcome = await millrace(["secrets", "reseal", "--database-url", test.url, ...args], environment);
    for (const secret of [SECRET, HEADERS.authorization, oldKey, newKey])
      expect(outcome.stdout + outcome.stderr).not.toContain(secret);
    return outcome;
  }

  it("re-encrypts values under an older key, says that the key can be removed, and has nothing to do the second time", async () => {
    const id = await subscribe(boxOf(oldKey));
    const keys = { MILLRACE_MASTER_KEY: `${newKey},${oldKey}` };
    const removable = "no secret is left under an older key: you can remove older keys from the configuration\n";
    expect(await reseal(keys)).toEqual({
      code: 0,
      stdout: `2 re-encrypted, 2 now under the current key\n${removable}`,
      stderr: "",
    });
    const { secret, headers } = await stored(id);
    expect(openSecret(boxOf(newKey), id, secret)).toBe(SECRET);
    expect(openHeaders(boxOf(newKey), id, headers)).toEqual(HEADERS);
    expect(() => openSecret(boxOf(oldKey), id, secret)).toThrow(SealBroken);
    expect(() => openHeaders(boxOf(oldKey), id, headers)).toThrow(SealBroken);

    expect((await reseal(keys)).stdout).toBe(`0 re-encrypted, 2 now under the current key\n${removable}`);
    expect(await stored(id)).toEqual({ secret, headers });
    // If the earlier key is no longer configured, there is no advice to remove it.
    const alone = await reseal({ MILLRACE_MASTER_KEY: newKey });
    expect(alone).toEqual({ code: 0, stdout: "0 re-encrypted, 2 now under the current key\n", stderr: "" });
  });

  it("names values that it cannot decrypt, re-encrypts the others, and exits with 1", async () => {
    const lost = await subscribe(boxOf(generateMasterKey()));
    const good = await subscribe(boxOf(oldKey), lost);
    const keys = { MILLRACE_MASTER_KEY: `${newKey},${oldKey}` };
    const outcome = await reseal(keys);
    expect(outcome.code).toBe(1);
    expect(outcome.stdout).toContain("2 re-encrypted, 2 now under the current key");
    expect(outcome.stdout).toContain(`webhook_subscriptions ${lost}, secret: `);
    expect(outcome.stdout).toContain(`webhook_subscriptions ${lost}, headers: `);
    expect(outcome.stdout).not.toContain("remove older keys");
    expect(outcome.stderr).toContain("MILLRACE_MASTER_KEY");
    expect(openSecret(boxOf(newKey), good, (await stored(good)).secret)).toBe(SECRET);

    const again = await reseal(keys, "--json");
    expect(again.code).toBe(1);
    const reason = "The secret was encrypted with a master key that is not configured.";
    expect(JSON.parse(again.stdout)).toEqual({
      resealed: 0,
      current: 2,
      unreadable: [
        { table: "webhook_subscriptions", id: lost, column: "secret", reason },
        { table: "webhook_subscriptions", id: lost, column: "headers", reason },
      ],
    });
  });

  it("uses the key in the blob directory", async () => {
    const directory = scratchDirectory();
    const id = await subscribe(createSecretBox(await masterKeys(undefined, directory)));
    const inFile = readFileSync(join(directory, "master.key"), "utf8").trim();
    const same = await reseal({ MILLRACE_BLOB_URL: directory });
    expect(same).toMatchObject({ code: 0, stdout: "0 re-encrypted, 2 now under the current key\n" });
    const replaced = await reseal({ MILLRACE_BLOB_URL: directory, MILLRACE_MASTER_KEY: `${newKey},${inFile}` });
    expect(replaced).toMatchObject({ code: 0, stdout: expect.stringContaining("2 re-encrypted") });
    expect(openSecret(boxOf(newKey), id, (await stored(id)).secret)).toBe(SECRET);
  });

  it("creates no key if none exists, and exits with 2", async () => {
    const directory = join(scratchDirectory(), "blobs");
    const outcome = await reseal({ MILLRACE_BLOB_URL: directory });
    expect(outcome).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("MILLRACE_MASTER_KEY") });
    expect(() => readFileSync(join(directory, "master.key"))).toThrow("ENOENT");
  });

  it("never prints a malformed key", async () => {
    const outcome = await reseal({ MILLRACE_MASTER_KEY: `${newKey},${oldKey.slice(1)}` });
    expect(outcome).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("base64 of 32 bytes") });
    expect(outcome.stderr).not.toContain(oldKey.slice(1));
  });
});
