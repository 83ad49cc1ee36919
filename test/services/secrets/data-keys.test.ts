import { randomBytes } from "node:crypto";
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, inject, it, onTestFinished } from "vitest";
import { createPayloadCipher } from "../../../src/platform/secrets/payload-cipher.ts";
import { createSecretBox, generateMasterKey, SealBroken } from "../../../src/platform/secrets/seal.ts";
import { createDataKeys } from "../../../src/services/secrets/data-keys.ts";
import { createPayloads } from "../../../src/services/secrets/payloads.ts";
import { resealSecrets } from "../../../src/services/secrets/reseal.ts";
import { createPayloadCodec, labelsOf } from "../../../src/temporal/payloads.ts";
import { ownDatabase } from "../../stores/rows.ts";
import { testDatabase } from "../../support/database.ts";
import { LONG } from "../../support/long.ts";
import { scratchDirectory } from "../../support/scratch.ts";

const own = ownDatabase();
const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
const payload = (text: string) => ({
  metadata: { encoding: Buffer.from("json/plain") },
  data: Buffer.from(JSON.stringify(text)),
});
const context = { type: "workflow", namespace: "default", workflowId: "run-1" } as const;

it("concurrent processes create one data key, and a new master key does not change it", async () => {
  const old = () => createDataKeys(own.database, createSecretBox([oldKey]), "payloads");
  const made = await Promise.all(Array.from({ length: 8 }, () => old().current()));
  expect(new Set(made.map(({ key }) => key.toString("hex"))).size).toBe(1);
  const sealed = await createPayloadCodec(createPayloadCipher(old())).encode([payload("before")], context);

  expect((await resealSecrets(own.database, createSecretBox([newKey, oldKey]))).resealed).toBe(1);
  const keys = createDataKeys(own.database, createSecretBox([newKey]), "payloads");
  expect((await keys.current()).key_id).toBe(made[0]?.key_id);
  const [clear] = await createPayloadCodec(createPayloadCipher(keys)).decode(sealed);
  expect(Buffer.from(clear?.data ?? []).toString()).toBe('"before"');
  await expect(old().current()).rejects.toThrow(SealBroken);
  expect(await keys.find(randomBytes(16).toString("hex"))).toBeUndefined();
});

it("payloads are encrypted whole, long ones compressed; other payloads pass unchanged", async () => {
  const keys = createDataKeys(own.database, createSecretBox([newKey]), "payloads");
  await own.database.system((db) => db.query("delete from data_keys"));
  const codec = createPayloadCodec(createPayloadCipher(keys));
  // The third is short as long as it is compressed, the fourth is never short.
  const long = ["long ".repeat(1000), "x".repeat(4_000_000), randomBytes(50_000).toString("hex")];
  const plain = [payload("short"), ...long.map(payload)];
  const sealed = await codec.encode(plain, context);
  expect(sealed.map(labelsOf)).toMatchObject([
    { compressed: "none", workflow_id: "run-1" },
    ...long.map(() => ({ compressed: "deflate", workflow_id: "run-1" })),
  ]);
  expect(sealed[1]?.data?.length).toBeLessThan(400);
  expect(JSON.stringify(sealed.map(({ metadata }) => Object.keys(metadata ?? {})))).not.toContain("json");
  const opened = await codec.decode([...sealed, ...plain]);
  expect(opened.map(({ data }) => Buffer.from(data ?? []).toString())).toEqual(
    [...plain, ...plain].map(({ data }) => data.toString()),
  );
  // The plaintext metadata is authenticated.
  for (const [label, value] of [
    ["workflow-id", "run-2"],
    ["compressed", "none"],
    ["key-id", "01890000-0000-7000-8000-000000000009"],
  ] as const) {
    const [, second] = sealed;
    const claimed = { ...second, metadata: { ...second?.metadata, [label]: Buffer.from(value) } };
    await expect(codec.decode([claimed])).rejects.toThrow("The payload");
  }
});

it("with `read`, nothing is encrypted and encrypted payloads are still read", async () => {
  const box = createSecretBox([newKey]);
  const [on, read] = (["on", "read"] as const).map(
    (MILLRACE_PAYLOAD_ENCRYPTION) =>
      createPayloads({ MILLRACE_PAYLOAD_ENCRYPTION }, own.database, box).dataConverter.payloadCodecs[0],
  );
  const plain = [payload("x")];
  expect(await read?.encode(plain, context)).toEqual(plain);
  const sealed = (await on?.encode(plain, context)) ?? [];
  expect(labelsOf(sealed[0] ?? {})).not.toBeNull();
  expect(await read?.decode(sealed)).toEqual(await on?.decode(sealed));
});

// Both check it in the same way, each in processes that take seconds to start.
it.each(LONG ? ["api", "worker"] : ["api"])(
  "a process without the master key of the data key exits immediately, says what to do, and creates none: %s",
  async (name) => {
    const test = await testDatabase();
    onTestFinished(() => test.close());
    await createDataKeys(test.database, createSecretBox([oldKey]), "payloads").current();
    const program = fileURLToPath(new URL(`../../../dist/src/${name}-main.js`, import.meta.url));
    const blobs = scratchDirectory();
    const ended = (keys: Record<string, string>) => {
      const env = {
        PATH: process.env["PATH"],
        DATABASE_URL: test.url,
        TEMPORAL_ADDRESS: inject("millrace").temporalAddress,
        MILLRACE_BLOB_URL: blobs,
        PORT: "0",
        ...keys,
      };
      return new Promise<[number | null, string]>((resolve) => {
        const child = execFile(process.execPath, [program], { env }, (_, __, stderr) =>
          resolve([child.exitCode, stderr]),
        );
      });
    };
    expect(await ended({ MILLRACE_MASTER_KEY: generateMasterKey() })).toEqual([
      1,
      expect.stringMatching(/^The key for data in Temporal .* MILLRACE_MASTER_KEY\.\n$/),
    ]);
    expect(await ended({})).toEqual([
      1,
      expect.stringMatching(
        /^Master key: .* has no master key, but the database has secrets encrypted with [0-9a-f]{8}\. Put that key/,
      ),
    ]);
    expect(readdirSync(blobs)).not.toContain("master.key");
  },
);
